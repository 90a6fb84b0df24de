import Synchronization
public import TokenGeneration

/// A verifier of tokens with an issuer's keys, like a `JWTVerifier` that fetches its keys.
///
/// ```swift
/// let verifier = RemoteJWTVerifier(
///     keys: .url(jwksURL),
///     policy: .plain(issuer: "https://id.example", audience: "orders")
/// )
/// let claims = try await verifier.verify(text, as: OrderClaims.self)
/// ```
///
/// Create one verifier for each kind of token and share it. While its keys are valid, it verifies
/// without waiting. If a token's key isn't among fetched keys, the verifier fetches them again,
/// within their cooldown, and retries once. That applies to a token with an unknown `kid`, and to
/// one without `kid` whose algorithm or signature matches none of the keys.
public final class RemoteJWTVerifier: Sendable {
    private struct Prepared {
        let version: Int
        let algorithms: Set<JWSAlgorithm>?
        let verifier: JWTVerifier
    }

    package let keys: IssuerKeys

    private let policy: ValidationPolicy
    private let prepared = Mutex<Prepared?>(nil)

    /// Creates a verifier.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - policy: The policy that tokens must meet.
    public init(keys: IssuerKeys, policy: ValidationPolicy = ValidationPolicy()) {
        self.keys = keys
        self.policy = policy
    }

    /// Creates a verifier of the tokens that a well-known issuer makes for an audience.
    ///
    /// ```swift
    /// let verifier = RemoteJWTVerifier(
    ///     .gitHubActions(requiring: [
    ///         "repository_id": "456789", "environment": "production",
    ///     ]),
    ///     audience: "https://deploy.example"
    /// )
    /// let job = try await verifier.verify(text)
    /// ```
    ///
    /// - Parameters:
    ///   - issuer: The issuer.
    ///   - audience: The value that `aud` must be or contain.
    ///   - keys: The issuer's keys. The default is those that the issuer publishes.
    public convenience init(_ issuer: TokenIssuer, audience: String, keys: IssuerKeys = .published) {
        self.init(keys: keys.of(issuer), policy: issuer.policy(audience: audience))
    }

    /// Verifies a token.
    ///
    /// - Parameter token: A compact JWS.
    /// - Returns: The verified token.
    /// - Throws: `TokenError` as `JWTVerifier.verify(_:)` does; ``OAuth2Error`` as
    ///   ``RemoteKeySet/keys()`` does if keys aren't available, or if the token's key is missing
    ///   and new keys aren't available; `CancellationError` if the caller is cancelled while it
    ///   waits for keys.
    public func verify(_ token: String) async throws -> VerifiedToken {
        try await verify(token, against: policy)
    }

    /// Verifies a token and decodes its claims.
    ///
    /// - Parameters:
    ///   - token: A compact JWS.
    ///   - type: The type to decode. Its dates are decoded from seconds since 1970.
    /// - Returns: The claims.
    /// - Throws: The errors of ``verify(_:)``, and `TokenError` with the code `malformedClaim` if
    ///   the claims don't match the type.
    public func verify<Claims: Decodable>(_ token: String, as type: Claims.Type) async throws -> Claims {
        try await verify(token).decode(as: type)
    }

    /// Verifies a token that may be used only once, and remembers it, so that the next use is
    /// rejected.
    ///
    /// The token is remembered after all other checks, as `JWTVerifier.verify(_:onceIn:)` does.
    ///
    /// - Parameters:
    ///   - token: A compact JWS.
    ///   - cache: The store of used tokens. In a single process, all verifiers with the same leeway
    ///     can share one `InMemoryReplayCache`. Servers behind a load balancer need a shared cache.
    /// - Returns: The verified token.
    /// - Throws: The errors of ``verify(_:)``, and `TokenError` with the code `missingClaim`,
    ///   `malformedClaim` or `lifetimeTooLong` if the token can't be remembered; `replayed` if it
    ///   has been used before or the cache can't rule that out; `replayCacheFull` or
    ///   `replayCacheFailed` if the cache can't answer.
    public func verify(_ token: String, onceIn cache: any ReplayCache) async throws -> VerifiedToken {
        let use = SingleUse()
        let verified = try await verify(token, against: use.policy(policy))
        try await use.record(in: cache)
        return verified
    }

    /// Loads the keys, so that a verification soon afterwards rarely needs the network, and returns
    /// their version.
    @discardableResult
    package func prepare() async throws -> Int {
        guard let keySet = keys.keySet else { return 0 }
        return try await keySet.loaded().version
    }

    package func verify(_ token: String, against policy: ValidationPolicy) async throws -> VerifiedToken {
        try policy.checkAcceptsAny()
        switch keys.source {
        case .published:
            throw OAuth2Error(
                .endpointMissing,
                "the verifier isn't for a certain issuer, so the keys can't be `.published`; pass `.url`"
            )
        case .key(let key):
            return try verifier(policy) { _ in JWTVerifier(key: key) }.verify(token, against: policy)
        case .fixed(let keys):
            return try verifier(policy) { JWTVerifier(keys: keys, selection: $0) }.verify(token, against: policy)
        case .remote(let keySet):
            let loaded: LoadedKeys
            if let current = keySet.current() { loaded = current } else { loaded = try await keySet.loaded() }
            do {
                return try verifier(policy, loaded).verify(token, against: policy)
            } catch {
                guard Self.mayMeanAnotherKey(token, error, policy) else { throw error }
                let newer = try await keySet.loaded(beyond: loaded)
                guard newer.version != loaded.version else { throw error }
                return try verifier(policy, newer).verify(token, against: policy)
            }
        }
    }

    /// Requires an encrypted token if and only if there's a decrypter.
    package func verify(
        _ text: String,
        _ what: String,
        decrypter: JWEDecrypter?,
        algorithms: Set<JWSAlgorithm>,
        against policy: ValidationPolicy
    ) async throws -> VerifiedToken {
        try policy.checkAcceptsAny()
        let opened = try decrypter.opened(text, what)
        try UnverifiedToken(opened.text, maximumSize: policy.limits.size).checkAlgorithm(algorithms, of: what)
        return try opened.checked(try await verify(opened.text, against: policy))
    }

    private func verifier(_ policy: ValidationPolicy, _ loaded: LoadedKeys) -> JWTVerifier {
        verifier(policy, version: loaded.version) { JWTVerifier(keys: loaded.keys, selection: $0) }
    }

    private func verifier(
        _ policy: ValidationPolicy,
        version: Int = 0,
        _ make: (KeySelection) -> JWTVerifier
    ) -> JWTVerifier {
        prepared.withLock { prepared in
            if let prepared, prepared.version == version, prepared.algorithms == policy.algorithms {
                return prepared.verifier
            }
            // Creating a verifier is cheap: it reads the stated parameters of the keys without
            // importing them.
            let selection = (keys.selection ?? KeySelection()).assuming(policy.algorithms ?? [.rs256])
            let verifier = make(selection)
            if version >= prepared?.version ?? 0 {
                prepared = Prepared(version: version, algorithms: policy.algorithms, verifier: verifier)
            }
            return verifier
        }
    }

    // For a token with a key ID, only a new ID could resolve the error. For an algorithm that the
    // policy doesn't accept, no key could.
    private static func mayMeanAnotherKey(_ token: String, _ error: TokenError, _ policy: ValidationPolicy) -> Bool {
        switch error.code {
        case .unknownKey: return true
        case .algorithmMismatch, .signatureInvalid:
            let unverified = try? UnverifiedToken(token, maximumSize: policy.limits.size)
            guard let header = unverified?.unverifiedHeader, header["kid"] == nil else { return false }
            guard let algorithms = policy.algorithms else { return true }
            return header["alg"]?.string.flatMap(JWSAlgorithm.init(rawValue:)).map(algorithms.contains) ?? false
        default: return false
        }
    }
}
