public import TokenGeneration

/// What a token endpoint has answered: an access token and what came with it
/// ([RFC 6749 §5.1](https://www.rfc-editor.org/rfc/rfc6749#section-5.1)).
public struct IssuedTokens: Sendable {
    /// The access token; after a token exchange whatever was issued, see ``issuedTokenType``.
    public let accessToken: AccessToken
    /// What the access token is renewed with, if the server issued it.
    public let refreshToken: Secret?
    /// All members of the answer, those of extensions among them; the secrets as well.
    public let members: JSONObject
    /// The user who has signed in, as the verified ID token says; `nil` if none was asked for, or the check was skipped
    /// (``IDTokenRule``).
    public internal(set) var idToken: VerifiedToken?
    /// The key that the tokens are bound to.
    let boundKey: BoundKey?

    init(_ response: TokenResponse, boundKey: BoundKey?) {
        accessToken = response.accessToken
        refreshToken = response.refreshToken
        members = response.members
        self.boundKey = boundKey
    }

    /// The ID token as the server sent it, if the scope had `openid`
    /// ([OpenID Connect Core §3.1.3.3](https://openid.net/specs/openid-connect-core-1_0.html#TokenResponse)).
    ///
    /// - Warning: Nothing in it has been verified. ``idToken`` says who the user is.
    public var unverifiedIDToken: Secret? { members["id_token"]?.string.map(Secret.init) }

    /// What was issued in a token exchange, such as `urn:ietf:params:oauth:token-type:access_token`
    /// ([RFC 8693 §2.2.1](https://www.rfc-editor.org/rfc/rfc8693#section-2.2.1)).
    public var issuedTokenType: TokenType? { members["issued_token_type"]?.string.map(TokenType.init) }

    /// What was granted of the details that were asked for
    /// ([RFC 9396 §7](https://www.rfc-editor.org/rfc/rfc9396#section-7)).
    public var authorizationDetails: [AuthorizationDetail] {
        (members["authorization_details"]?.array ?? []).compactMap(AuthorizationDetail.init)
    }
}

extension IssuedTokens: CustomStringConvertible, CustomReflectable {
    /// What was issued, without the tokens.
    public var description: String { "issued tokens: \(members.map(\.name).joined(separator: ", "))" }

    /// A mirror without the tokens.
    public var customMirror: Mirror { Mirror(self, children: ["members": members.map(\.name)]) }
}
