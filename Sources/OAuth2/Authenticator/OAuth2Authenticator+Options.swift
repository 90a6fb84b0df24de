extension OAuth2Authenticator {
    /// The options of an authenticator.
    public struct Options: Sendable {
        /// A Boolean value that indicates whether a 403 without a reason causes a refresh like a
        /// 401.
        ///
        /// The default is `false`. Enable it only for servers that send 403 where they mean 401.
        /// Other servers send 403 for operations that the token's owner may not perform, and each
        /// would cost a token.
        public var insecurelyTreatsForbiddenAsInvalidToken = false
        /// A closure that returns a token source for a resource's demand for scope or
        /// authentication.
        ///
        /// The authenticator calls it if the grant itself can't meet the demand. The default is
        /// `nil`, and the closure may return `nil`. It must not prompt a user, because a request is
        /// waiting for it. The authenticator keeps the source for each demand, for at most 16
        /// demands. It retries the rejected request once with a token from that source, separate
        /// from the other tokens ([RFC 9470 §4](https://www.rfc-editor.org/rfc/rfc9470#section-4)).
        public var stepUpSource: (@Sendable (ResourceDemand) -> (any TokenSource)?)?

        /// Creates the default options.
        public init() {}
    }
}
