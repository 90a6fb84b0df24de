import Foundation
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import TestIssuers
import TestSupport
import Testing

/// Tests of times in introspection responses, which any trusted issuer chooses.
@Suite("Times of introspected tokens", .limitedConcurrency)
struct IntrospectedTimeTests {
    private static let numbers = [
        "1e22", "-1e22", "1e300", "-1e300", "9223372036854775807", "-9223372036854775808", "18446744073709551616",
        "0.5", "-1", "253402300800", "1.7e12",
    ]

    private let time = ManualTime()

    /// Returns the code of the error for a token, or `nil` if it's accepted.
    private func code(_ member: String, _ number: String) async throws -> AccessRefusal.Code? {
        var server = AuthorizationServer(
            issuer: "https://as.example",
            tokenEndpoint: try #require(URL(string: "https://as.example/token"))
        )
        server.introspectionEndpoint = URL(string: "https://as.example/introspect")
        let transport = MockTransport(
            .json(#"{"active":true,"sub":"ada","aud":"\#(GuardedAPI.audience)","\#(member)":\#(number)}"#),
            time: time.timeSource
        )
        let client = OAuth2Client(
            server: server,
            clientAuthentication: .clientSecretBasic(clientID: "api", secret: Secret("s3cret")),
            client: NetworkClient(transport: transport, options: .init(timeSource: time.timeSource)),
            timing: .init(attempts: 1, timeSource: time.timeSource)
        )
        let introspection = CachedTokenIntrospection(client, timeSource: time.timeSource)
        let verifier = AccessTokenVerifier(introspection).at(time)
        let request = ProtectedRequest(method: .get, url: GuardedAPI.url, headers: ["Authorization": "Bearer good"])
        // The second answer is from the cache, whose entries end with the token.
        for _ in 1...2 {
            do { _ = try await verifier.verify(request) } catch { return error.code }
        }
        return nil
    }

    @Test("A token with any expiry is accepted before it and rejected after it", .shows("S17"), arguments: numbers)
    func expiry(number: String) async throws {
        let hasExpired = try #require(Double(number)) < 1_000_000_000
        #expect(try await code("exp", number) == (hasExpired ? .invalidToken : nil))
    }

    @Test("A token with any start is rejected before it and accepted after it", arguments: numbers)
    func start(number: String) async throws {
        let hasBegun = try #require(Double(number)) < 1_000_000_000
        #expect(try await code("nbf", number) == (hasBegun ? nil : .invalidToken))
    }

    @Test("A token with any time of issue is accepted", arguments: numbers)
    func issue(number: String) async throws {
        #expect(try await code("iat", number) == nil)
    }
}
