extension MockAuthorizationServer {
    /// An endpoint of a server, by its path.
    @nonexhaustive
    public enum Endpoint: String, Sendable, CaseIterable {
        /// The token endpoint: `/token`.
        case token = "/token"
        /// The authorization endpoint
        /// ([RFC 6749 §3.1](https://www.rfc-editor.org/rfc/rfc6749#section-3.1)): `/authorize`.
        case authorization = "/authorize"
        /// The device authorization endpoint ([RFC 8628](https://www.rfc-editor.org/rfc/rfc8628)):
        /// `/device_authorization`.
        case deviceAuthorization = "/device_authorization"
        /// The backchannel authentication endpoint ([OpenID Connect CIBA Core
        /// 1.0](https://openid.net/specs/openid-client-initiated-backchannel-authentication-core-1_0.html)):
        /// `/backchannel_authentication`.
        case backchannelAuthentication = "/backchannel_authentication"
        /// The revocation endpoint ([RFC 7009](https://www.rfc-editor.org/rfc/rfc7009)): `/revoke`.
        case revocation = "/revoke"
        /// The introspection endpoint ([RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)):
        /// `/introspect`.
        case introspection = "/introspect"
        /// The pushed authorization request endpoint
        /// ([RFC 9126](https://www.rfc-editor.org/rfc/rfc9126)): `/par`.
        case pushedAuthorizationRequests = "/par"
        /// The registration endpoint ([RFC 7591](https://www.rfc-editor.org/rfc/rfc7591),
        /// [RFC 7592](https://www.rfc-editor.org/rfc/rfc7592)): `/register`, with the registered
        /// clients below it.
        case registration = "/register"
        /// The UserInfo endpoint ([OpenID Connect Core 1.0
        /// §5.3](https://openid.net/specs/openid-connect-core-1_0.html#UserInfo)): `/userinfo`.
        case userInfo = "/userinfo"
        /// The end session endpoint ([OpenID Connect RP-Initiated Logout
        /// 1.0](https://openid.net/specs/openid-connect-rpinitiated-1_0.html)): `/logout`.
        case endSession = "/logout"
        /// The endpoint of the public keys that verify tokens: `/jwks`.
        case keys = "/jwks"
        /// The server's metadata, at both well-known paths
        /// ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414)).
        case metadata = "/.well-known/oauth-authorization-server"
    }
}
