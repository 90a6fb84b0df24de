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
        /// The names of scope, separated by spaces, that the authenticator may request in addition
        /// to the grant's own when a resource demands them.
        ///
        /// A resource states its demand in a response with `insufficient_scope`. If all demanded
        /// names are the grant's own or in this list, the authenticator gets a token with them and
        /// retries the request once. Otherwise the request fails with
        /// ``OAuth2Error/Code/insufficientScope``, and ``OAuth2Error/demand`` has the demand. Names
        /// are compared as bytes. For a custom grant, list its own names, too.
        ///
        /// The default is `nil`, for no other names: a resource can't choose the scope of the token
        /// that it gets.
        public var additionalScope: String?
        /// A Boolean value that indicates whether the authenticator requests tokens with the claims
        /// that a resource demands.
        ///
        /// The text of a claims challenge (`insufficient_claims`) becomes the parameter `claims` of
        /// a token request as it is, and the retried request carries the token. The default is
        /// `false`: the request fails with ``OAuth2Error/Code/stepUpRequired``. Enable it for APIs
        /// of Microsoft Entra that use [claims
        /// challenges](https://learn.microsoft.com/en-us/entra/identity-platform/claims-challenge).
        ///
        /// - Warning: The resource chooses what the authorization server reads.
        public var sendsDemandedClaims = false
        /// A closure that returns a token source for a resource's demand for scope or
        /// authentication.
        ///
        /// The authenticator calls it if the grant can't meet the demand, or if ``additionalScope``
        /// or ``sendsDemandedClaims`` doesn't allow it. The closure decides about the demand. The
        /// default is `nil`, and the closure may return `nil`. It must not prompt a user, because a
        /// request is waiting for it. The authenticator keeps the source for each demand, for at
        /// most 16 demands. It retries the rejected request once with a token from that source,
        /// separate from the other tokens
        /// ([RFC 9470 §4](https://www.rfc-editor.org/rfc/rfc9470#section-4)).
        public var stepUpSource: (@Sendable (ResourceDemand) -> (any TokenSource)?)?

        /// Creates the default options.
        public init() {}
    }
}
