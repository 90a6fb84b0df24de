import Synchronization
public import TokenGeneration

/// Verifies tokens with the keys of a ``RemoteKeySet``: what a `JWTVerifier` does for keys that are at hand.
///
/// ```swift
/// let keys = RemoteKeySet(url: jwksURL)
/// let verifier = RemoteJWTVerifier(keys: keys, policy: .plain(issuer: "https://id.example", audience: "orders"))
/// let token = try await verifier.verify(text)
/// ```
///
/// Make one for each kind of token and share it. While its keys are good, a verification waits for nothing and nobody. A token
/// whose key is not among them makes the set fetch them anew, within its cooldown, and is then looked at once more: that is
/// one with an unknown `kid`, or one without `kid` whose algorithm or signature is of none of them.
public final class RemoteJWTVerifier: Sendable {
    /// The keys.
    public let keys: RemoteKeySet

    private let selection: KeySelection
    private let policy: ValidationPolicy
    /// The verifier for the latest version of the keys.
    private let prepared = Mutex<(version: Int, verifier: JWTVerifier)?>(nil)

    /// Makes a verifier.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - selection: Which of the keys a token can mean. Some issuers publish keys without `alg`, for which it has to say one:
    ///     `KeySelection(assumedAlgorithms: [.rs256])`.
    ///   - policy: What a token must say to be accepted.
    public init(
        keys: RemoteKeySet,
        selection: KeySelection = KeySelection(),
        policy: ValidationPolicy = ValidationPolicy()
    ) {
        self.keys = keys
        self.selection = selection
        self.policy = policy
    }

    /// Verifies a token.
    ///
    /// - Parameter token: A compact JWS.
    /// - Returns: What the token says.
    /// - Throws: `TokenError` as `JWTVerifier.verify(_:)` does; ``OAuth2Error`` as ``RemoteKeySet/keys()`` does if there are no
    ///   keys, or if those at hand lack the token's and new ones can't be had; `CancellationError` if the caller is cancelled
    ///   while it waits for keys.
    public func verify(_ token: String) async throws -> VerifiedToken {
        try await verify(token, against: policy)
    }

    /// Verifies a token and reads its claims into a type of yours.
    ///
    /// - Parameters:
    ///   - token: A compact JWS.
    ///   - type: The type to read. Its dates are read as seconds since 1970.
    /// - Returns: The claims.
    /// - Throws: As ``verify(_:)`` does, and `TokenError` with the code `malformedClaim` if the claims are not of the type.
    public func verify<Claims: Decodable>(_ token: String, as type: Claims.Type) async throws -> Claims {
        try await verify(token).decode(as: type)
    }

    func verify(_ token: String, against policy: ValidationPolicy) async throws -> VerifiedToken {
        let loaded: LoadedKeys
        if let current = keys.current() { loaded = current } else { loaded = try await keys.loaded() }
        do {
            return try verifier(for: loaded).verify(token, against: policy)
        } catch let error where Self.mayMeanAnotherKey(token, error) {
            let newer = try await keys.loaded(beyond: loaded)
            guard newer.version != loaded.version else { throw error }
            return try verifier(for: newer).verify(token, against: policy)
        }
    }

    private func verifier(for loaded: LoadedKeys) -> JWTVerifier {
        prepared.withLock { prepared in
            if let prepared, prepared.version == loaded.version { return prepared.verifier }
            // Making a verifier reads what the keys state. It prepares none of them.
            let verifier = JWTVerifier(keys: loaded.keys, selection: selection, policy: policy)
            if loaded.version > prepared?.version ?? 0 { prepared = (loaded.version, verifier) }
            return verifier
        }
    }

    /// Whether an error can come of a key that was published since.
    ///
    /// Of a key that has an ID it can't: the ID would be another.
    private static func mayMeanAnotherKey(_ token: String, _ error: TokenError) -> Bool {
        switch error.code {
        case .unknownKey: true
        case .algorithmMismatch, .signatureInvalid:
            (try? UnverifiedToken(token).unverifiedHeader["kid"] == nil) ?? false
        default: false
        }
    }
}
