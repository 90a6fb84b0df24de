public import Foundation
public import Networking
internal import OpenSSLCrypto
public import TokenGeneration

/// An issuer's keys, for a verifier of its tokens or messages.
///
/// ```swift
/// let verifier = AccessTokenVerifier(
///     issuer: "https://id.example",
///     audience: "https://api.example",
///     keys: .url(jwksURL)
/// )
/// ```
///
/// Fetched keys are cached, as ``RemoteKeySet`` describes. Verifiers that get the same value share
/// the cache.
///
/// Some issuers publish keys without `alg`
/// ([RFC 7517 §4.4](https://www.rfc-editor.org/rfc/rfc7517#section-4.4)). Unless ``selection``
/// assumes algorithms, such a key is for the only one of the verifier's algorithms that fits it.
/// These are the policy's `algorithms`, or RS256 if the policy names none.
public struct IssuerKeys: Sendable {
    enum Source: Sendable {
        /// The issuer is known to the verifier only.
        case published
        case remote(RemoteKeySet)
        case fixed(JWKSet)
        case key(VerificationKey)
    }

    let source: Source
    /// The rules that select the keys for a token.
    ///
    /// The default, `nil`, is for the rules of the verifier's well-known issuer, or
    /// `KeySelection()`.
    public var selection: KeySelection?

    private init(_ source: Source, _ selection: KeySelection? = nil) {
        self.source = source
        self.selection = selection
    }

    /// The set of fetched keys, for example for its ``RemoteKeySet/status``; `nil` for other keys.
    public var keySet: RemoteKeySet? {
        if case .remote(let keySet) = source { keySet } else { nil }
    }

    /// The keys that the verifier's issuer publishes: at the URL that is known for a well-known
    /// issuer, or at the `jwks_uri` of the issuer's metadata.
    ///
    /// A verifier that isn't for a certain issuer fails with the code `endpointMissing`.
    public static let published = IssuerKeys(.published)

    /// Returns the keys at a URL, without fetching anything yet.
    ///
    /// - Parameters:
    ///   - url: The URL of the keys, an issuer's `jwks_uri`.
    ///   - client: The client for requests of the keys.
    ///   - options: The lifetime of the keys and the limits of requests.
    /// - Returns: The keys.
    public static func url(
        _ url: URL,
        client: NetworkClient = NetworkClient(),
        options: RemoteKeySet.Options = RemoteKeySet.Options()
    ) -> IssuerKeys {
        .remote(RemoteKeySet(url: url, client: client, options: options))
    }

    /// Returns the keys of an issuer whose metadata names their URL
    /// ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414)), without fetching anything yet.
    ///
    /// - Parameters:
    ///   - discovery: The discovery of the issuer's metadata, used for each fetch of the keys.
    ///   - client: The client for requests of the keys.
    ///   - options: The lifetime of the keys and the limits of requests.
    /// - Returns: The keys.
    public static func discovered(
        by discovery: AuthorizationServerDiscovery,
        client: NetworkClient = NetworkClient(),
        options: RemoteKeySet.Options = RemoteKeySet.Options()
    ) -> IssuerKeys {
        .remote(RemoteKeySet(discovery: discovery, client: client, options: options))
    }

    /// Returns the keys that a well-known issuer publishes, without fetching anything yet.
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
    /// - Returns: The keys, with the issuer's rules of key selection.
    public static func published(
        by issuer: TokenIssuer,
        client: NetworkClient = NetworkClient(),
        options: RemoteKeySet.Options = RemoteKeySet.Options()
    ) -> IssuerKeys {
        let keySet = RemoteKeySet(publishedAt: issuer.keySetURL, by: issuer.issuer, client, options)
        return IssuerKeys(.remote(keySet), issuer.selection)
    }

    /// Returns the keys of a set that the application created.
    ///
    /// - Parameter keySet: The set.
    /// - Returns: The keys.
    public static func remote(_ keySet: RemoteKeySet) -> IssuerKeys { IssuerKeys(.remote(keySet)) }

    /// Returns keys that don't change.
    ///
    /// - Parameter keys: The keys.
    /// - Returns: The keys.
    public static func fixed(_ keys: JWKSet) -> IssuerKeys { IssuerKeys(.fixed(keys)) }

    /// Returns a single key, such as a client's secret for HS256.
    ///
    /// A token's `kid` is ignored.
    ///
    /// - Parameter key: The key. Its algorithm is the only accepted one.
    /// - Returns: The key.
    public static func key(_ key: VerificationKey) -> IssuerKeys { IssuerKeys(.key(key)) }

    package func of(_ issuer: TokenIssuer) -> IssuerKeys {
        let keys = if case .published = source { Self.published(by: issuer) } else { self }
        return IssuerKeys(keys.source, selection ?? issuer.selection)
    }

    package func of(issuer: String) -> IssuerKeys { of(TokenIssuer(idTokensOf: issuer)) }

    /// The algorithms that a client registered, of which RS256 is the default.
    func algorithms(_ named: Set<JWSAlgorithm>?) -> Set<JWSAlgorithm> {
        if let named { return named }
        return if case .key(let key) = source { [key.algorithm] } else { [.rs256] }
    }
}

extension RemoteKeySet {
    fileprivate convenience init(publishedAt url: URL?, by name: String?, _ client: NetworkClient, _ options: Options) {
        guard url == nil, let name else {
            self.init(client: client, options: options) {
                guard let url else {
                    throw OAuth2Error(
                        .endpointMissing,
                        "the URL of the issuer's keys isn't known; set its keySetURL, or pass the keys"
                    )
                }
                return url
            }
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
}

/// A signed token, not yet verified, with the header of the encryption around it.
package struct OpenedToken: Sendable {
    package let text: String
    /// `nil` if the token isn't encrypted.
    package let encryptionHeader: JSONObject?

    package init(text: String, encryptionHeader: JSONObject? = nil) {
        self.text = text
        self.encryptionHeader = encryptionHeader
    }

    /// Throws if claims in the header of the encryption differ.
    package func checked(_ token: VerifiedToken) throws(TokenError) -> VerifiedToken {
        if let encryptionHeader { try token.check(repeatedIn: encryptionHeader) }
        return token
    }
}

extension JWEDecrypter? {
    /// Requires an encrypted token if and only if there's a decrypter; errors name it `what`.
    package func opened(_ text: String, _ what: String) throws(TokenError) -> OpenedToken {
        guard let decrypter = self else {
            guard Self.segmentCount(of: text) != 5 else {
                throw TokenError(
                    .malformedToken,
                    "\(what) is encrypted (a JWE), but no `decrypter` is set for the keys that the client registered"
                )
            }
            return OpenedToken(text: text)
        }
        try Self.checkIsEncrypted(text, what)
        let jwe = try decrypter.decrypt(compact: text)
        return OpenedToken(text: try jwe.signedToken(), encryptionHeader: jwe.header)
    }

    /// Checks that a token isn't only signed.
    package static func checkIsEncrypted(_ text: String, _ what: String) throws(TokenError) {
        guard segmentCount(of: text) != 3 else {
            throw TokenError(
                .algorithmMismatch,
                "\(what) isn't encrypted, as the `decrypter` requires; check the client's registration"
            )
        }
    }

    private static func segmentCount(of text: String) -> Int { text.utf8.count { $0 == UInt8(ascii: ".") } + 1 }
}

extension UnverifiedToken {
    /// Rejects a token signed with an unexpected algorithm, before its key is fetched.
    func checkAlgorithm(_ algorithms: Set<JWSAlgorithm>, of what: String) throws(TokenError) {
        let name = unverifiedHeader["alg"]?.string
        // `none` isn't a valid `JWSAlgorithm`, so it never matches.
        guard let algorithm = name.flatMap(JWSAlgorithm.init(rawValue:)), algorithms.contains(algorithm) else {
            let expected = algorithms.map(\.rawValue).sorted().joined(separator: " or ")
            let found = name.map { "“alg” is \(TokenError.shown($0))" } ?? "“alg” is missing"
            throw TokenError(
                .algorithmMismatch,
                "\(what) must be signed with \(expected), but \(found); set the verifier's `algorithms` to the registered one"
                    + JWSAlgorithm.edwardsAdvice(name ?? "", algorithms)
            )
        }
    }
}

extension DecryptionKey {
    /// Creates the key that a client and its server derive from the client's secret ([OpenID
    /// Connect Core 1.0 §10.2](https://openid.net/specs/openid-connect-core-1_0.html#Encryption)).
    ///
    /// The key is the start of a hash of the secret's UTF-8 bytes: SHA-256 for up to 256 bits,
    /// SHA-384 for up to 384, and SHA-512 for up to 512.
    ///
    /// - Parameters:
    ///   - clientSecret: The client's secret, at least 16 bytes. It must be random, because the
    ///     derivation doesn't slow down guesses.
    ///   - algorithm: `dir`, or an algorithm that wraps keys with AES, such as A256KW.
    ///   - encryption: The content encryption, which determines the size of a key for `dir`. The
    ///     default is A128CBC-HS256, as in client registration.
    /// - Throws: `TokenError` with the code `weakKey` if the secret is too short, or
    ///   `algorithmMismatch` for an algorithm without a shared key.
    public init(
        clientSecret: Secret,
        algorithm: JWEAlgorithm,
        encryption: JWEEncryption = .a128CBCHS256
    ) throws(TokenError) {
        var derived = try clientSecret.derivedKey(for: algorithm, encryption)
        defer { derived.clear() }
        try self.init(secret: derived, algorithm: algorithm, encryption: algorithm == .dir ? encryption : nil)
    }
}

extension EncryptionKey {
    /// Creates the key that a client and its server derive from the client's secret, for example to
    /// encrypt a ``SignedAuthorizationRequest``.
    ///
    /// - Parameters:
    ///   - clientSecret: The client's secret, as for
    ///     `DecryptionKey.init(clientSecret:algorithm:encryption:)`.
    ///   - algorithm: `dir`, or an algorithm that wraps keys with AES, such as A256KW.
    ///   - encryption: The content encryption, which determines the size of a key for `dir`. The
    ///     default is A128CBC-HS256, as in client registration.
    /// - Throws: `TokenError` with the code `weakKey` if the secret is too short, or
    ///   `algorithmMismatch` for an algorithm without a shared key.
    public init(
        clientSecret: Secret,
        algorithm: JWEAlgorithm,
        encryption: JWEEncryption = .a128CBCHS256
    ) throws(TokenError) {
        self = try DecryptionKey(clientSecret: clientSecret, algorithm: algorithm, encryption: encryption)
            .encryptionKey
    }
}

extension Secret {
    /// The minimum size in bytes of a secret that keys are derived from: 128 bits.
    private static let minimumKeySource = 16

    /// Returns the start of the secret's hash, with the size of an algorithm's key.
    fileprivate func derivedKey(
        for algorithm: JWEAlgorithm,
        _ encryption: JWEEncryption
    ) throws(TokenError) -> [UInt8] {
        guard let size = algorithm.secretSize(for: encryption) else {
            throw TokenError(
                .algorithmMismatch,
                "\(algorithm) has no key that is derived from the client's secret; use dir or AES key wrap"
            )
        }
        let function: HashFunction = size <= 32 ? .sha256 : size <= 48 ? .sha384 : .sha512
        var source = expose { Array($0.utf8) }
        defer { source.clear() }
        guard source.count >= Self.minimumKeySource else {
            throw TokenError(
                .weakKey,
                "the client's secret has fewer than \(Self.minimumKeySource) bytes, so a key derived from it can be guessed"
            )
        }
        do throws(CryptoError) {
            var hash = try source.withBytes { bytes throws(CryptoError) in try function.hash(bytes) }
            defer { hash.clear() }
            return Array(hash.prefix(size))
        } catch {
            throw TokenError(.weakKey, "no key can be derived from the client's secret", cause: error)
        }
    }
}
