public import TokenGeneration

/// The tokens in a token endpoint's response
/// ([RFC 6749 §5.1](https://www.rfc-editor.org/rfc/rfc6749#section-5.1)).
public struct IssuedTokens: Sendable {
    /// The access token, or after a token exchange the token of type ``issuedTokenType``.
    public let accessToken: AccessToken
    /// The refresh token, if the server issued one.
    public let refreshToken: Secret?
    /// All members of the response, including extensions and secrets.
    public let members: JSONObject
    /// The verified ID token, which identifies the user.
    ///
    /// It's `nil` without a request for one, or if the ``IDTokenRule`` skips it.
    public internal(set) var idToken: VerifiedToken?
    /// The key that the tokens are bound to.
    let boundKey: BoundKey?

    init(_ response: TokenResponse, boundKey: BoundKey?) {
        accessToken = response.accessToken
        refreshToken = response.refreshToken
        members = response.members
        self.boundKey = boundKey
    }

    /// The ID token as the server sent it, if the scope had `openid` ([OpenID Connect Core
    /// §3.1.3.3](https://openid.net/specs/openid-connect-core-1_0.html#TokenResponse)).
    ///
    /// - Warning: The token hasn't been verified. Use ``idToken`` to identify the user.
    public var unverifiedIDToken: Secret? { members["id_token"]?.string.map(Secret.init) }

    /// The type of the token issued in a token exchange, such as
    /// `urn:ietf:params:oauth:token-type:access_token`
    /// ([RFC 8693 §2.2.1](https://www.rfc-editor.org/rfc/rfc8693#section-2.2.1)).
    public var issuedTokenType: TokenType? { members["issued_token_type"]?.string.map(TokenType.init) }

    /// The granted authorization details
    /// ([RFC 9396 §7](https://www.rfc-editor.org/rfc/rfc9396#section-7)).
    public var authorizationDetails: [AuthorizationDetail] {
        (members["authorization_details"]?.array ?? []).compactMap(AuthorizationDetail.init)
    }
}

extension IssuedTokens: Redacted {
    /// The names of the response's members, without the tokens.
    public var description: String { "issued tokens: \(members.map(\.name).joined(separator: ", "))" }
}
