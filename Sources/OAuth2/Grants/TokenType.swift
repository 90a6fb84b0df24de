/// The type of a token that is exchanged, requested or issued
/// ([RFC 8693 §3](https://www.rfc-editor.org/rfc/rfc8693#section-3)).
public struct TokenType: Sendable, Hashable, CustomStringConvertible {
    /// The URI of the token type.
    public let uri: String

    /// Creates a token type that isn't among the registered ones.
    ///
    /// - Parameter uri: The URI of the token type.
    public init(_ uri: String) {
        self.uri = uri
    }

    /// The URI.
    public var description: String { uri }

    /// An access token that the same server issued.
    public static let accessToken = Self("urn:ietf:params:oauth:token-type:access_token")
    /// A refresh token that the same server issued.
    public static let refreshToken = Self("urn:ietf:params:oauth:token-type:refresh_token")
    /// An ID token of OpenID Connect.
    public static let idToken = Self("urn:ietf:params:oauth:token-type:id_token")
    /// A SAML 1.1 assertion, base64url-encoded.
    public static let saml1 = Self("urn:ietf:params:oauth:token-type:saml1")
    /// A SAML 2.0 assertion, base64url-encoded.
    public static let saml2 = Self("urn:ietf:params:oauth:token-type:saml2")
    /// An identity assertion JWT authorization grant, which another authorization server accepts
    /// ([draft](https://datatracker.ietf.org/doc/draft-ietf-oauth-identity-assertion-authz-grant/)).
    public static let identityAssertion = Self("urn:ietf:params:oauth:token-type:id-jag")
    /// A JWT from any issuer.
    public static let jwt = Self("urn:ietf:params:oauth:token-type:jwt")
}
