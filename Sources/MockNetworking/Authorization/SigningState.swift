import Synchronization
import TokenGeneration

/// The keys that a server signs with and publishes.
final class SigningState: Sendable {
    private struct State {
        var service: SigningKey
        var published: [JWK]
    }

    private let state: Mutex<State>
    private let algorithm: JWSAlgorithm

    init(_ algorithm: JWSAlgorithm) throws(TokenError) {
        self.algorithm = algorithm
        let service = try Self.newService(algorithm)
        state = Mutex(State(service: service, published: [service.publishedKey]))
    }

    /// The current signer; a single value, so that key and key ID always match.
    var service: SigningKey { state.withLock { $0.service } }

    /// The currently published keys.
    var keys: JWKSet { JWKSet(keys: state.withLock { $0.published }) }

    /// Replaces the signing key.
    func rotate(withdrawingOld: Bool) throws(TokenError) {
        let service = try Self.newService(algorithm)
        state.withLock { state in
            state.published = (withdrawingOld ? [] : state.published) + [service.publishedKey]
            state.service = service
        }
    }

    /// Signs a token with the current key.
    func token(_ claims: JSONObject, header: JSONObject = [:]) throws -> String {
        try JWTGenerator(header: header, payload: claims, signingService: service).token()
    }

    /// Generates a key with the caller's key ID, or with its thumbprint as the key ID.
    static func newService(
        _ algorithm: JWSAlgorithm,
        keyID: String? = nil
    ) throws(TokenError) -> SigningKey {
        let key = try SigningKey.generate(algorithm)
        return key.identified(by: keyID ?? key.verificationKey.thumbprint)
    }
}

extension SigningKey {
    /// The public key as a JWK with the service's key ID.
    fileprivate var publishedKey: JWK {
        var jwk = verificationKey.jwk
        jwk.members["use"] = "sig"
        return jwk
    }
}
