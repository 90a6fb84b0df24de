internal import Networking
public import TokenGeneration

/// The metadata that a client registers
/// ([RFC 7591 §2](https://www.rfc-editor.org/rfc/rfc7591#section-2)).
///
/// ```swift
/// var metadata = ClientMetadata(["client_name": "Reports"])
/// metadata.grantTypes = ["client_credentials"]
/// metadata.tokenEndpointAuthenticationMethod = "private_key_jwt"
/// metadata.keys = [key.verificationKey]
/// ```
public struct ClientMetadata: Sendable, Hashable {
    /// All members, including those without a property here.
    public var members: JSONObject

    /// Creates metadata.
    public init(_ members: JSONObject = [:]) {
        self.members = members
    }

    /// The redirect URIs for authorization responses: `redirect_uris`.
    public var redirectURIs: [String] {
        get { strings("redirect_uris") }
        set { set("redirect_uris", newValue) }
    }

    /// The grant types: `grant_types`; empty for the server's default, `authorization_code`.
    public var grantTypes: [String] {
        get { strings("grant_types") }
        set { set("grant_types", newValue) }
    }

    /// The client authentication method: `token_endpoint_auth_method`; `nil` for the server's
    /// default, `client_secret_basic`.
    public var tokenEndpointAuthenticationMethod: String? {
        get { members["token_endpoint_auth_method"]?.string }
        set { members["token_endpoint_auth_method"] = newValue.map(JSONValue.string) }
    }

    /// The names of the scopes that the client may request: `scope`.
    public var scope: [String] {
        get { members["scope"]?.string?.spaceSeparated ?? [] }
        set { members["scope"] = newValue.isEmpty ? nil : .string(newValue.joined(separator: " ")) }
    }

    /// The client's public keys for signatures: `jwks`, with each key's thumbprint as its `kid`.
    ///
    /// Keys that this library doesn't support are left out. An empty array removes the keys, but
    /// not ``encryptionKeys``.
    public var keys: [VerificationKey] {
        get { publishedKeys.compactMap { try? VerificationKey(jwk: $0) } }
        set {
            let keys = newValue.map { key in
                var jwk = key.jwk.members
                jwk["kid"] = .string(key.thumbprint)
                return jwk
            }
            publish(keys + publishedKeys.map(\.members).filter(\.isForEncryption))
        }
    }

    /// The public keys that a server encrypts messages to the client with: `jwks`, with `use` set
    /// to `enc`.
    ///
    /// A key without an ID gets its thumbprint as `kid`. Shared secrets and passwords are left out,
    /// because the keys are public. An empty array removes the keys, but not ``keys``.
    public var encryptionKeys: [EncryptionKey] {
        get { publishedKeys.filter(\.members.isForEncryption).compactMap { try? EncryptionKey(jwk: $0) } }
        set {
            let keys = newValue.compactMap { key in
                key.publishedID.map { key.identified(by: $0).jwk.members }
            }
            publish(publishedKeys.map(\.members).filter { !$0.isForEncryption } + keys)
        }
    }

    private var publishedKeys: [JWK] {
        members["jwks"]?.object.flatMap { try? JWKSet(parsing: $0.serialized()) }?.keys ?? []
    }

    private mutating func publish(_ keys: [JSONObject]) {
        members["jwks"] = keys.isEmpty ? nil : ["keys": .array(keys.map(JSONValue.object))]
    }

    /// A Boolean value that indicates whether the client uses the server's mutual TLS endpoint
    /// aliases regardless of the purpose of its certificate: `use_mtls_endpoint_aliases`
    /// ([FAPI 2.0 §5.2.2.1](https://openid.net/specs/fapi-security-profile-2_0-final.html)).
    ///
    /// Such a client uses ``AuthorizationServer/usingMutualTLSAliases()``. Client authentications
    /// that use a certificate, or bind tokens to one, use the aliases anyway.
    public var usesMutualTLSAliases: Bool {
        get { members["use_mtls_endpoint_aliases"] == true }
        set { members["use_mtls_endpoint_aliases"] = newValue ? true : nil }
    }

    private func strings(_ name: String) -> [String] {
        members[name]?.array?.compactMap(\.string) ?? []
    }

    private mutating func set(_ name: String, _ values: [String]) {
        members[name] = values.isEmpty ? nil : .array(values.map(JSONValue.string))
    }

    /// Registers the signature and the encryption of a message, and replaces the registered ones.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - signature: The signature algorithm. The default, `nil`, is the server's default: RS256,
    ///     or no signature for UserInfo responses.
    ///   - algorithm: The key management algorithm. The default, `nil`, is for messages that aren't
    ///     encrypted.
    ///   - encryption: The content encryption. The default is A128CBC-HS256, as in registration.
    public mutating func secure(
        _ message: SecuredMessage,
        signedWith signature: JWSAlgorithm? = nil,
        encryptedWith algorithm: JWEAlgorithm? = nil,
        _ encryption: JWEEncryption = .a128CBCHS256
    ) {
        members[message.signingMember] = signature.map { .string($0.rawValue) }
        members[message.algorithmMember] = algorithm.map { .string($0.rawValue) }
        members[message.encryptionMember] = algorithm.map { _ in .string(encryption.rawValue) }
    }

    /// Returns the registered signature algorithm of a message.
    ///
    /// - Parameter message: The message.
    /// - Returns: The algorithm, or `nil` if none is registered.
    /// - Throws: `TokenError` with the code `unsupportedAlgorithm` if the package doesn't support
    ///   the algorithm; `none` is unsupported.
    public func signingAlgorithm(of message: SecuredMessage) throws(TokenError) -> JWSAlgorithm? {
        try registered(message.signingMember, JWSAlgorithm.init(rawValue:))
    }

    /// Has the registered `alg` and `enc` only; `nil` if the message isn't encrypted.
    package func decryptionPolicy(for message: SecuredMessage) throws(TokenError) -> DecryptionPolicy? {
        guard let (algorithm, encryption) = try encryption(of: message) else { return nil }
        return DecryptionPolicy(algorithms: [algorithm], encryptions: [encryption])
    }

    /// Returns a decrypter for a message with the registered encryption.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - keys: The client's private keys; those for other algorithms are ignored. If several are
    ///     for the algorithm, the token's `kid` selects one of them. A key without an ID has its
    ///     thumbprint as ID, as in ``encryptionKeys``.
    ///   - clientSecret: The client's secret, which the keys of symmetric algorithms are derived
    ///     from. The default is `nil`.
    /// - Returns: The decrypter, or `nil` if the message isn't encrypted. If only `alg` is
    ///   registered, `enc` is A128CBC-HS256.
    /// - Throws: `TokenError` with the code `unsupportedAlgorithm` if the package doesn't support
    ///   an algorithm, such as RSA1_5, or for an algorithm with a password; `algorithmRequired` if
    ///   only `enc` is registered; `unknownKey` without a key for the registered algorithm;
    ///   `weakKey` if the client's secret is too short.
    public func decrypter(
        for message: SecuredMessage,
        keys: [DecryptionKey] = [],
        clientSecret: Secret? = nil
    ) throws(TokenError) -> JWEDecrypter? {
        guard let (algorithm, encryption) = try encryption(of: message) else { return nil }
        let policy = DecryptionPolicy(algorithms: [algorithm], encryptions: [encryption])
        var matching = keys.filter { $0.algorithm == algorithm && $0.encryption ?? encryption == encryption }
        if matching.isEmpty, let clientSecret, algorithm.secretSize(for: encryption) != nil {
            let key = try DecryptionKey(clientSecret: clientSecret, algorithm: algorithm, encryption: encryption)
            matching = [key]
        }
        guard !matching.isEmpty else {
            let source = algorithm.secretSize(for: encryption) == nil ? "a private key" : "the client's secret"
            throw TokenError(
                .unknownKey,
                "“\(message.algorithmMember)” is \(algorithm), but no key is for it; pass \(source)"
            )
        }
        guard matching.count > 1 else { return JWEDecrypter(key: matching[0], policy: policy) }
        return JWEDecrypter(keys: matching.map { $0.identified(by: $0.encryptionKey.publishedID) }, policy: policy)
    }

    private func encryption(
        of message: SecuredMessage
    ) throws(TokenError) -> (algorithm: JWEAlgorithm, encryption: JWEEncryption)? {
        let algorithm = try registered(message.algorithmMember, JWEAlgorithm.init(rawValue:))
        let encryption = try registered(message.encryptionMember, JWEEncryption.init(rawValue:))
        guard let algorithm else {
            guard encryption == nil else {
                throw TokenError(
                    .algorithmRequired,
                    "“\(message.encryptionMember)” is registered without “\(message.algorithmMember)”"
                )
            }
            return nil
        }
        guard !algorithm.usesPassword else {
            throw TokenError(
                .unsupportedAlgorithm,
                "“\(message.algorithmMember)” is \(algorithm), but clients and servers don't share passwords"
            )
        }
        return (algorithm, encryption ?? .a128CBCHS256)
    }

    private func registered<Algorithm>(
        _ member: String,
        _ parse: (String) -> Algorithm?
    ) throws(TokenError) -> Algorithm? {
        guard let value = members[member], value != .null else { return nil }
        guard let algorithm = value.string.flatMap(parse) else {
            throw TokenError(.unsupportedAlgorithm, "“\(member)” of the client isn't a supported algorithm")
        }
        return algorithm
    }
}

extension JSONObject {
    fileprivate var isForEncryption: Bool { self["use"] == "enc" }
}

/// A message for which a client registers the algorithms of its signature and its encryption.
///
/// ```swift
/// metadata.secure(
///     .idToken,
///     signedWith: .es256,
///     encryptedWith: .rsaOAEP256
/// )
/// verifier.decrypter = try metadata.decrypter(for: .idToken, keys: [key])
/// ```
public struct SecuredMessage: Hashable, Sendable {
    package let signingMember: String
    let algorithmMember: String
    let encryptionMember: String

    /// The ID token ([OpenID Connect Registration
    /// §2](https://openid.net/specs/openid-connect-registration-1_0.html#ClientMetadata)).
    public static let idToken = response("id_token")
    /// The UserInfo response ([OpenID Connect Registration
    /// §2](https://openid.net/specs/openid-connect-registration-1_0.html#ClientMetadata)).
    public static let userInfo = response("userinfo")
    /// The authorization response
    /// ([JARM §3](https://openid.net/specs/oauth-v2-jarm-final.html)).
    public static let authorizationResponse = response("authorization")
    /// The introspection response
    /// ([RFC 9701 §6](https://www.rfc-editor.org/rfc/rfc9701#section-6)).
    public static let introspectionResponse = response("introspection")
    /// The authorization request
    /// ([RFC 9101 §10.1](https://www.rfc-editor.org/rfc/rfc9101#section-10.1)).
    ///
    /// The client encrypts it with ``SignedAuthorizationRequest/encrypted(for:encryption:)``, and
    /// the server decrypts it.
    public static let requestObject = Self(
        signingMember: "request_object_signing_alg",
        algorithmMember: "request_object_encryption_alg",
        encryptionMember: "request_object_encryption_enc"
    )

    private static func response(_ name: String) -> Self {
        Self(
            signingMember: "\(name)_signed_response_alg",
            algorithmMember: "\(name)_encrypted_response_alg",
            encryptionMember: "\(name)_encrypted_response_enc"
        )
    }
}

extension EncryptionKey {
    /// Its own ID, or its thumbprint; `nil` for a secret, which must not be published.
    var publishedID: String? {
        jwk.keyType == "oct" ? nil : keyID ?? (try? jwk.thumbprint)
    }
}
