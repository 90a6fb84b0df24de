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
    ///
    /// - Parameter members: The members, by their registered names.
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
}

extension JSONObject {
    /// A Boolean value that indicates whether a JWK is for encryption.
    fileprivate var isForEncryption: Bool { self["use"] == "enc" }
}
