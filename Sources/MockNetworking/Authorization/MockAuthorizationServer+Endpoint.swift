extension MockAuthorizationServer {
    /// An endpoint of a server.
    public struct Endpoint: Sendable, Hashable {
        /// The endpoint's path.
        public let path: String

        /// The token endpoint: `/token`.
        public static let token = Self(path: "/token")
        /// The authorization endpoint
        /// ([RFC 6749 §3.1](https://www.rfc-editor.org/rfc/rfc6749#section-3.1)): `/authorize`.
        public static let authorization = Self(path: "/authorize")
        /// The device authorization endpoint ([RFC 8628](https://www.rfc-editor.org/rfc/rfc8628)):
        /// `/device_authorization`.
        public static let deviceAuthorization = Self(path: "/device_authorization")
        /// The backchannel authentication endpoint ([OpenID Connect CIBA Core
        /// 1.0](https://openid.net/specs/openid-client-initiated-backchannel-authentication-core-1_0.html)):
        /// `/backchannel_authentication`.
        public static let backchannelAuthentication = Self(path: "/backchannel_authentication")
        /// The revocation endpoint ([RFC 7009](https://www.rfc-editor.org/rfc/rfc7009)): `/revoke`.
        public static let revocation = Self(path: "/revoke")
        /// The introspection endpoint ([RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)):
        /// `/introspect`.
        public static let introspection = Self(path: "/introspect")
        /// The pushed authorization request endpoint
        /// ([RFC 9126](https://www.rfc-editor.org/rfc/rfc9126)): `/par`.
        public static let pushedAuthorizationRequests = Self(path: "/par")
        /// The registration endpoint ([RFC 7591](https://www.rfc-editor.org/rfc/rfc7591),
        /// [RFC 7592](https://www.rfc-editor.org/rfc/rfc7592)): `/register`, with the registered
        /// clients below it.
        public static let registration = Self(path: "/register")
        /// The UserInfo endpoint ([OpenID Connect Core 1.0
        /// §5.3](https://openid.net/specs/openid-connect-core-1_0.html#UserInfo)): `/userinfo`.
        public static let userInfo = Self(path: "/userinfo")
        /// The end session endpoint ([OpenID Connect RP-Initiated Logout
        /// 1.0](https://openid.net/specs/openid-connect-rpinitiated-1_0.html)): `/logout`.
        public static let endSession = Self(path: "/logout")
        /// The endpoint of the public keys that verify tokens: `/jwks`.
        public static let keys = Self(path: "/jwks")
        /// The server's metadata, at both well-known paths
        /// ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414)).
        public static let metadata = Self(path: "/.well-known/oauth-authorization-server")
    }
}
