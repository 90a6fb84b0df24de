extension MockAuthorizationServer {
    /// One of a server's endpoints.
    public struct Endpoint: Sendable, Hashable {
        /// Where it is on the server.
        public let path: String

        /// Issues tokens: `/token`.
        public static let token = Self(path: "/token")
        /// Asks users what they grant
        /// ([RFC 6749 §3.1](https://www.rfc-editor.org/rfc/rfc6749#section-3.1)): `/authorize`.
        public static let authorization = Self(path: "/authorize")
        /// Begins for devices ([RFC 8628](https://www.rfc-editor.org/rfc/rfc8628)):
        /// `/device_authorization`.
        public static let deviceAuthorization = Self(path: "/device_authorization")
        /// Takes tokens back ([RFC 7009](https://www.rfc-editor.org/rfc/rfc7009)): `/revoke`.
        public static let revocation = Self(path: "/revoke")
        /// Says what a token is ([RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)):
        /// `/introspect`.
        public static let introspection = Self(path: "/introspect")
        /// Takes authorization requests ([RFC 9126](https://www.rfc-editor.org/rfc/rfc9126)):
        /// `/par`.
        public static let pushedAuthorizationRequests = Self(path: "/par")
        /// Registers clients and manages them ([RFC 7591](https://www.rfc-editor.org/rfc/rfc7591),
        /// [RFC 7592](https://www.rfc-editor.org/rfc/rfc7592)): `/register`, and the clients below
        /// it.
        public static let registration = Self(path: "/register")
        /// Says who the user is
        /// ([OpenID Connect Core 1.0 §5.3](https://openid.net/specs/openid-connect-core-1_0.html#UserInfo)):
        /// `/userinfo`.
        public static let userInfo = Self(path: "/userinfo")
        /// Publishes the keys by which tokens verify: `/jwks`.
        public static let keys = Self(path: "/jwks")
        /// Publishes what the server can do, at both well-known places
        /// ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414)).
        public static let metadata = Self(path: "/.well-known/oauth-authorization-server")
    }
}
