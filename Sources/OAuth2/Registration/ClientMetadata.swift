public import TokenGeneration

/// What a client says of itself when it registers
/// ([RFC 7591 §2](https://www.rfc-editor.org/rfc/rfc7591#section-2)).
///
/// ```swift
/// var metadata = ClientMetadata(["client_name": "Reports"])
/// metadata.grantTypes = ["client_credentials"]
/// metadata.tokenEndpointAuthenticationMethod = "private_key_jwt"
/// metadata.keys = [key.verificationKey]
/// ```
public struct ClientMetadata: Sendable, Hashable {
    /// All members, also those that have no property here.
    public var members: JSONObject

    /// Makes metadata.
    ///
    /// - Parameter members: The members, by the names that they have in the registry.
    public init(_ members: JSONObject = [:]) {
        self.members = members
    }

    /// Where answers to authorization requests may go: `redirect_uris`.
    public var redirectURIs: [String] {
        get { strings("redirect_uris") }
        set { set("redirect_uris", newValue) }
    }

    /// The grants that the client uses: `grant_types`; empty for the server's default, `authorization_code`.
    public var grantTypes: [String] {
        get { strings("grant_types") }
        set { set("grant_types", newValue) }
    }

    /// What the client asks the authorization endpoint for: `response_types`; empty for the server's default, `code`.
    public var responseTypes: [String] {
        get { strings("response_types") }
        set { set("response_types", newValue) }
    }

    /// How the client authenticates: `token_endpoint_auth_method`; `nil` for the server's default, `client_secret_basic`.
    public var tokenEndpointAuthenticationMethod: String? {
        get { members["token_endpoint_auth_method"]?.string }
        set { members["token_endpoint_auth_method"] = newValue.map(JSONValue.string) }
    }

    /// The scopes that the client may ask for, names apart: `scope`.
    public var scope: [String] {
        get { members["scope"]?.string?.split(separator: " ").map(String.init) ?? [] }
        set { members["scope"] = newValue.isEmpty ? nil : .string(newValue.joined(separator: " ")) }
    }

    /// The client's public keys, each under its thumbprint as `kid`: `jwks`.
    ///
    /// Keys that can't be used here are passed over; empty takes them away.
    public var keys: [VerificationKey] {
        get {
            guard let object = members["jwks"]?.object, let set = try? JWKSet(parsing: object.serialized()) else {
                return []
            }
            return set.keys.compactMap { try? VerificationKey(jwk: $0) }
        }
        set {
            let keys = newValue.map { key in
                var jwk = key.jwk.members
                jwk["kid"] = .string(key.thumbprint)
                return JSONValue.object(jwk)
            }
            members["jwks"] = keys.isEmpty ? nil : ["keys": .array(keys)]
        }
    }

    private func strings(_ name: String) -> [String] {
        members[name]?.array?.compactMap(\.string) ?? []
    }

    private mutating func set(_ name: String, _ values: [String]) {
        members[name] = values.isEmpty ? nil : .array(values.map(JSONValue.string))
    }
}
