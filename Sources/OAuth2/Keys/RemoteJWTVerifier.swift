import Foundation
public import Networking
import Synchronization
public import TokenGeneration

/// A verifier of tokens with the keys of a ``RemoteKeySet``, like a `JWTVerifier` for local keys.
///
/// ```swift
/// let keys = RemoteKeySet(url: jwksURL)
/// let verifier = RemoteJWTVerifier(
///     keys: keys,
///     policy: .plain(issuer: "https://id.example", audience: "orders")
/// )
/// let token = try await verifier.verify(text)
/// ```
///
/// Create one verifier for each kind of token and share it. While its keys are valid, it verifies
/// without waiting. If a token's key isn't among them, the verifier fetches the set again, within
/// its cooldown, and retries once. That applies to a token with an unknown `kid`, and to one
/// without `kid` whose algorithm or signature matches none of the keys.
public final class RemoteJWTVerifier: Sendable {
    /// The keys.
    public let keys: RemoteKeySet

    private let selection: KeySelection
    private let policy: ValidationPolicy
    /// The verifier for the latest version of the keys.
    private let prepared = Mutex<(version: Int, verifier: JWTVerifier)?>(nil)

    /// Creates a verifier.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - selection: The rule that selects the keys for a token. For issuers that publish keys
    ///     without `alg`, pass the algorithm: `KeySelection(assumedAlgorithms: [.rs256])`.
    ///   - policy: The policy that tokens must meet.
    public init(
        keys: RemoteKeySet,
        selection: KeySelection = KeySelection(),
        policy: ValidationPolicy = ValidationPolicy()
    ) {
        self.keys = keys
        self.selection = selection
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
    ///   - keys: The issuer's keys. The default, `nil`, fetches those that the issuer publishes. To
    ///     share keys between verifiers, or to use another client, pass a ``RemoteKeySet``.
    public convenience init(_ issuer: TokenIssuer, audience: String, keys: RemoteKeySet? = nil) {
        self.init(
            keys: keys ?? RemoteKeySet(issuer),
            selection: issuer.selection,
            policy: issuer.policy(audience: audience)
        )
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

    func verify(_ token: String, against policy: ValidationPolicy) async throws -> VerifiedToken {
        let loaded: LoadedKeys
        if let current = keys.current() { loaded = current } else { loaded = try await keys.loaded() }
        do {
            return try verifier(for: loaded).verify(token, against: policy)
        } catch {
            guard Self.mayMeanAnotherKey(token, error, policy) else { throw error }
            let newer = try await keys.loaded(beyond: loaded)
            guard newer.version != loaded.version else { throw error }
            return try verifier(for: newer).verify(token, against: policy)
        }
    }

    private func verifier(for loaded: LoadedKeys) -> JWTVerifier {
        prepared.withLock { prepared in
            if let prepared, prepared.version == loaded.version { return prepared.verifier }
            // Creating a verifier is cheap: it reads the stated parameters of the keys without
            // importing them.
            let verifier = JWTVerifier(keys: loaded.keys, selection: selection, policy: policy)
            if loaded.version > prepared?.version ?? 0 { prepared = (loaded.version, verifier) }
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

extension RemoteKeySet {
    /// Creates a set of the keys that a well-known issuer publishes, without fetching anything yet.
    ///
    /// The keys are at the issuer's `keySetURL`, or at the `jwks_uri` of its metadata ([OpenID
    /// Connect Discovery 1.0
    /// §3](https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderMetadata)). The
    /// metadata must name the issuer and needs no other endpoint. If neither is known, fetching the
    /// keys fails with the code `endpointMissing`.
    ///
    /// - Parameters:
    ///   - issuer: The issuer.
    ///   - client: The client for the requests. For a Kubernetes cluster, it may have to trust the
    ///     cluster's certificate authority and authenticate.
    ///   - options: The lifetime of the keys and the limits of requests.
    public convenience init(
        _ issuer: TokenIssuer,
        client: NetworkClient = NetworkClient(),
        options: Options = Options()
    ) {
        guard issuer.keySetURL == nil, let name = issuer.metadataIssuer else {
            self.init(publishedAt: issuer.keySetURL, client, options)
            return
        }
        var discovery = AuthorizationServerDiscovery.Options()
        discovery.timing.timeSource = options.timeSource
        let source = MetadataSource(
            issuer: name,
            client: client,
            options: discovery,
            parse: MetadataDocument.keySetURL(in:issuer:)
        )
        self.init(client: client, options: options) { try await source.value() }
    }

    /// Creates a set of the keys that a well-known identity provider publishes, without fetching
    /// anything yet.
    ///
    /// - Parameters:
    ///   - provider: The provider.
    ///   - client: The client for the requests.
    ///   - options: The lifetime of the keys and the limits of requests.
    public convenience init(
        _ provider: IdentityProvider,
        client: NetworkClient = NetworkClient(),
        options: Options = Options()
    ) {
        self.init(publishedAt: provider.keySetURL, client, options)
    }

    private convenience init(publishedAt url: URL?, _ client: NetworkClient, _ options: Options) {
        self.init(client: client, options: options) {
            guard let url else {
                throw OAuth2Error(
                    .endpointMissing,
                    "the URL of the issuer's keys isn't known; set its keySetURL, or pass the keys"
                )
            }
            return url
        }
    }

    /// Creates a key set for an issuer whose metadata names its URL, without fetching anything yet.
    ///
    /// - Parameters:
    ///   - discovery: The discovery of the issuer's metadata, used for each fetch of the keys.
    ///   - client: The client for requests of the keys.
    ///   - options: The lifetime of the keys and the limits of requests.
    public convenience init(
        discovery: AuthorizationServerDiscovery,
        client: NetworkClient = NetworkClient(),
        options: Options = Options()
    ) {
        self.init(client: client, options: options) {
            try await discovery.server().keySetURL.required("the key set")
        }
    }
}
