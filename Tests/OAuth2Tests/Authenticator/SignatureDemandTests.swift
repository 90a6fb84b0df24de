import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

/// A 401 that asks for a signature says nothing about the token
/// ([RFC 9421 §5](https://www.rfc-editor.org/rfc/rfc9421#section-5)).
@Suite("Responses with Accept-Signature", .limitedConcurrency)
struct SignatureDemandTests {
    private static let demand: HTTPHeaders = ["Accept-Signature": #"sig1=("@method");created"#]

    private func counters(after headers: HTTPHeaders) async throws -> (tokens: Int, requests: Int) {
        let authorization = try MockAuthorizationServer.start(clients: [.init(id: "app", secret: "s3cret")])
        defer { Task { await authorization.stop() } }
        return try await withLoopbackServer { server in
            server.on(.get, "/", .text("warm"), .status(401, headers: headers))
            let authenticator = OAuth2Authenticator(
                server: authorization.metadata,
                clientAuthentication: .clientSecretBasic(clientID: "app", secret: Secret("s3cret")),
                grant: ClientCredentialsGrant(),
                resources: [server.baseURL]
            )
            let client = NetworkClient(interceptors: [authenticator])
            let request = URLRequest(url: server.url(for: "/"))
            _ = try await client.makeRequest(request)
            await #expect(throws: ServerError.self) { _ = try await client.makeRequest(request) }
            return (authorization.tokenRequestCount, server.requestCount)
        }
    }

    @Test("doesn't refresh the token, and leaves the retry to the signer")
    func withoutChallenge() async throws {
        #expect(try await counters(after: Self.demand) == (1, 2))
    }

    @Test("a challenge for the token is still about the token")
    func withChallenge() async throws {
        var headers = Self.demand
        headers["WWW-Authenticate"] = #"Bearer error="invalid_token""#
        #expect(try await counters(after: headers) == (2, 3))
    }
}
