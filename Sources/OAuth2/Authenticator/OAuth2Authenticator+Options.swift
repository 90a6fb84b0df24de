extension OAuth2Authenticator {
    /// What an authenticator does by default.
    public struct Options: Sendable {
        /// Whether a 403 without a reason is answered by a refresh, as a 401 is; no by default.
        ///
        /// Only for servers that say 403 where they mean 401: others say it of what the token's owner must not do, and each such
        /// request would cost a token.
        public var insecurelyTreatsForbiddenAsInvalidToken = false
        /// What else has a token that meets a resource's demand for more scope or another authentication, where the grant has no
        /// answer of its own; `nil`, the default, if nothing has.
        ///
        /// It must not ask anybody who could keep a request waiting. The source that it has for a demand is kept, of sixteen demands at
        /// most; the request that was refused is repeated once with a token of it, apart from the other tokens
        /// ([RFC 9470 §4](https://www.rfc-editor.org/rfc/rfc9470#section-4)).
        public var stepUpSource: (@Sendable (ResourceDemand) -> (any TokenSource)?)?

        /// Makes options.
        public init() {}
    }
}
