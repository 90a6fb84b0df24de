import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@testable import HTTPSignatures

@Suite(.limitedConcurrency)
struct SignatureKeysTests {
    private func query(_ keyID: String?) throws -> SignatureKeys.Query {
        let parameters = SignatureParameters(components: [])
        return SignatureKeys.Query(
            keyID: keyID,
            parameters: parameters,
            message: try SignatureFixture().message,
            agent: nil
        )
    }

    private func code(_ keys: SignatureKeys, _ keyID: String?) async throws -> HTTPSignatureError.Code? {
        let query = try query(keyID)
        do {
            _ = try await keys.key(for: query)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("selects among fixed keys by ID")
    func fixed() async throws {
        let first = try SigningKey.generate(.es256).identified(by: "a").verificationKey
        let second = try SigningKey.generate(.es256).identified(by: "b").verificationKey
        let both = SignatureKeys(first, second)
        #expect(try await both.key(for: query("b")).thumbprint == second.thumbprint)
        #expect(try await code(both, "c") == .unknownKey)
        #expect(try await code(both, nil) == .unknownKey)
        #expect(try await code(SignatureKeys(first), nil) == nil)
        #expect(try await code(SignatureKeys(first), "b") == .unknownKey)
        #expect(try await code(SignatureKeys(first, first), "a") == .unknownKey)
        let anonymous = try SigningKey.generate(.es256).verificationKey
        #expect(try await code(SignatureKeys(anonymous), "anything") == nil)
    }

    @Test("selects in a key set by kid, and uses only keys with one algorithm")
    func keySet() async throws {
        let pair = try SigningKey.generate(.es256).identified(by: "a")
        var rsa = try SigningKey.generate(.ps512).verificationKey.jwk
        rsa.keyID = "rsa"
        var members = rsa.members
        members["alg"] = nil
        let secret = try JWK([
            "kty": "oct", "kid": "s", "alg": "HS256", "k": .string(String(repeating: "A", count: 43)),
        ])
        let set = JWKSet(keys: [pair.verificationKey.jwk, try JWK(members), secret])
        #expect(try await code(SignatureKeys(set), "a") == nil)
        #expect(try await code(SignatureKeys(set), "b") == .unknownKey)
        #expect(try await code(SignatureKeys(set), nil) == .unknownKey)
        #expect(try await code(SignatureKeys(set), "s") == .unknownKey)
        #expect(try await code(SignatureKeys(set), "rsa") == .unknownKey)
        let selection = KeySelection(assumedAlgorithms: [.ps512])
        #expect(try await code(SignatureKeys(set, selection: selection), "rsa") == nil)
        var other = try SigningKey.generate(.es256).verificationKey.jwk
        other.keyID = "a"
        let ambiguous = JWKSet(keys: [pair.verificationKey.jwk, other])
        #expect(try await code(SignatureKeys(ambiguous), "a") == .unknownKey)
        let repeated = JWKSet(keys: [pair.verificationKey.jwk, pair.verificationKey.jwk])
        #expect(try await code(SignatureKeys(repeated), "a") == nil)
    }

    @Test("a closure can reject a key with its own code, and any other error is undecided")
    func closures() async throws {
        struct Outage: Error {}
        let forbidden = SignatureKeys { _ in throw HTTPSignatureError(.keyRefused, "revoked") }
        #expect(try await code(forbidden, "a") == .keyRefused)
        let failing = SignatureKeys { _ in throw Outage() }
        #expect(try await code(failing, "a") == .undecided)
        #expect(HTTPSignatureError(.keyRefused, "").status == 403)
        #expect(HTTPSignatureError(.undecided, "").status == 503)
    }

    @Test("fetches a published key set, and again for an unknown ID")
    func remote() async throws {
        let first = try SigningKey.generate(.es256).identified(by: "a")
        let second = try SigningKey.generate(.ed25519).identified(by: "b")
        let time = ManualTime()
        let sets = [[first], [first, second]].map { JWKSet(keys: $0.map(\.verificationKey.jwk)).serialized() }
        let transport = MockTransport(.json(sets[0]), .json(sets[1]), .status(500), time: time.timeSource)
        let client = NetworkClient(transport: transport, options: .init(timeSource: time.timeSource))
        let remote = RemoteKeySet(
            url: try #require(URL(string: "https://id.example/jwks")),
            client: client,
            options: .init(timeSource: time.timeSource)
        )
        let keys = SignatureKeys(remote)
        #expect(try await code(keys, "a") == nil)
        #expect(transport.requests.count == 1)
        time.advance(by: .seconds(31))
        #expect(try await code(keys, "b") == nil)
        #expect(transport.requests.count == 2)
        #expect(try await code(keys, "c") == .unknownKey)
        #expect(transport.requests.count == 2)
    }

    @Test("unreachable keys are undecided")
    func unreachable() async throws {
        let time = ManualTime()
        let client = NetworkClient(
            transport: MockTransport(.status(503), time: time.timeSource),
            options: .init(timeSource: time.timeSource)
        )
        let url = try #require(URL(string: "https://id.example/jwks"))
        let remote = RemoteKeySet(url: url, client: client, options: .init(timeSource: time.timeSource))
        #expect(try await code(SignatureKeys(remote), "a") == .undecided)
    }
}
