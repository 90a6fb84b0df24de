import Foundation
import Networking
import TokenGeneration

@testable import HTTPSignatures

/// A key, a clock and a message that the tests sign and verify.
struct SignatureFixture {
    /// 2023-11-14T22:13:20Z.
    static let date = Date(timeIntervalSince1970: 1_700_000_000)
    // LeakSanitizer can't see the storage of a static `Data` or key.
    static var body: Data { Data(#"{"hello": "world"}"#.utf8) }

    /// The key of RFC 8037 A.1.
    private static let jwk =
        #"{"kty":"OKP","crv":"Ed25519","kid":"k1","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","#
        + #""x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#
    /// The key of RFC 7515 A.3.
    private static let otherJWK =
        #"{"kty":"EC","crv":"P-256","kid":"other","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI","#
        + #""x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#
        + #""y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#

    let key: SigningKey
    let other: SigningKey
    var profile: SignatureProfile
    var keys: SignatureKeys

    init(_ profile: SignatureProfile = .standard) throws {
        key = try SigningKey(jwk: JWK(parsing: Self.jwk), algorithm: .ed25519)
        other = try SigningKey(jwk: JWK(parsing: Self.otherJWK), algorithm: .es256)
        self.profile = profile
        keys = SignatureKeys(key.verificationKey, other.verificationKey)
    }

    static let headers: HTTPHeaders = [
        "Host": "api.example", "Content-Type": "application/json", "Authorization": "Bearer abc", "DPoP": "proof",
        "X-Extra": "1",
    ]

    var message: HTTPMessage {
        HTTPMessage(method: .post, url: "https://api.example/orders?open=1", headers: Self.headers)
    }

    var get: HTTPMessage {
        HTTPMessage(method: .get, url: "https://api.example/orders", headers: ["Authorization": "Bearer abc"])
    }

    func signer(_ key: SigningKey? = nil, at date: Date = Self.date) throws -> MessageSigner {
        var signer = try MessageSigner(key: key ?? self.key, profile: profile)
        signer.currentDate = { date }
        return signer
    }

    func verifier(
        cache: (any ReplayCache)? = InMemoryReplayCache(),
        at date: Date = Self.date
    ) throws -> MessageVerifier {
        var verifier = try MessageVerifier(profile: profile, keys: keys, replayCache: cache)
        verifier.currentDate = { date }
        return verifier
    }

    func signed(
        _ message: HTTPMessage? = nil,
        body: Data = Self.body,
        by key: SigningKey? = nil,
        at date: Date = Self.date
    ) async throws -> HTTPMessage {
        let message = message ?? self.message
        return message.setting(try await signer(key, at: date).sign(message, body: body.isEmpty ? .none : .data(body)))
    }

    /// Returns the error of verifying a message, or `nil` if it verifies.
    func error(
        _ message: HTTPMessage,
        body: Data = Self.body,
        at date: Date = Self.date
    ) async throws -> HTTPSignatureError? {
        let verifier = try verifier(at: date)
        do {
            _ = try await verifier.verify(message, body: body)
            return nil
        } catch {
            return error
        }
    }
}

extension HTTPMessage {
    /// Returns the message with another value of a field, or without it.
    func with(_ name: String, _ value: String?) -> Self {
        var message = self
        message.headers[name] = value
        return message
    }

    /// Returns the message with a field changed by a closure.
    func changing(_ name: String, _ change: (String) -> String) -> Self {
        with(name, change(headers[name] ?? ""))
    }
}
