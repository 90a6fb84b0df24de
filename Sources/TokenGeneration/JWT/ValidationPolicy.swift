public import Foundation

/// What a verified token must say to be accepted.
///
/// The signature is always checked; a policy is about the header's `typ` and the claims. By default a token is accepted if it
///
/// - has an `exp`, which has not come, and no `nbf` or `iat` that lies ahead, within a minute of clock difference;
/// - has no `iss`: the policy names no issuer that it trusts;
/// - has no `aud`: it would be for someone, and the policy does not say that this is you
///   ([RFC 7519 §4.1.3](https://www.rfc-editor.org/rfc/rfc7519#section-4.1.3));
/// - has no empty `sub`;
/// - has registered claims of the right JSON types, even those that the policy does not ask for.
///
/// State the issuer and the audience you expect: a token that was meant for someone else is a valid token, too
/// ([RFC 8725 §3.8–3.9](https://www.rfc-editor.org/rfc/rfc8725#section-3.8)). For tokens of a known kind there are profiles,
/// which state all that the kind's specification demands: ``plain(issuer:audience:)``, ``accessToken(issuer:audience:)``,
/// ``idToken(issuer:clientID:nonce:accessToken:code:maximumAuthenticationAge:state:acrValues:trustedAudiences:)`` and
/// ``clientAssertion(audiences:clientID:maximumLifetime:)``.
///
/// ```swift
/// var policy = ValidationPolicy(issuer: "https://id.example", audience: "orders")
/// policy.requiredClaims = ["scope"]
/// ```
///
/// Rules aren't optional: text from an environment variable that may be unset doesn't convert to one by itself.
/// Strings are compared code point by code point. All times come from ``currentDate``.
public struct ValidationPolicy: Sendable {
    /// What the header's `typ` must be; any, and none, by default.
    public var type: TypeRule
    /// The issuer that a token must have, by `iss`; by default it must have none.
    public var issuer: IssuerRule
    /// For whom the token must be, by `aud`.
    public var audience: AudienceRule
    /// The subject that a token must have, by `sub`; any, and none, by default.
    public var subject: SubjectRule
    /// Whether a token needs `exp`, as it does by default.
    public var expiration: Presence = .required
    /// How far clocks may differ: 60 seconds by default.
    ///
    /// It is added to every comparison of times, in the token's favor.
    public var leeway: Duration
    /// The longest time since `iat`, or `nil` to not look at the age.
    ///
    /// If it is set, a token without `iat` is refused.
    public var maximumAge: Duration?
    /// The longest time from `iat`, or from now if there is no `iat`, to `exp`; or `nil` to not look at the lifetime.
    public var maximumLifetime: Duration?
    /// Names of claims that must be there and not be `null`.
    public var requiredClaims: [String]
    /// Names of claims that must not be there, not even as `null`.
    public var prohibitedClaims: [String] = []
    /// Checks of your own, made in order after all others.
    public var checks: [ClaimsCheck] = []
    /// How large a token may be to be looked at at all: 64 KiB, 8 KiB of them for the header, by default.
    public var limits: JWSLimits
    /// Tells the time.
    public var currentDate: @Sendable () -> Date

    /// Makes a policy.
    ///
    /// What has no parameter here has its default and can be set afterwards.
    ///
    /// - Parameters:
    ///   - issuer: The issuer that a token must have; by default a token that has `iss` is refused.
    ///   - audience: The audience that a token must have; by default a token that has `aud` is refused.
    ///   - subject: The subject that a token must have; any, and none, by default.
    ///   - type: The media type that the header's `typ` must have; any, and none, by default.
    ///   - leeway: How far clocks may differ; less than zero counts as zero.
    ///   - expiration: Whether a token needs `exp`.
    ///   - maximumAge: The longest time since `iat`.
    ///   - requiredClaims: Names of claims that must be there and not be `null`.
    ///   - maximumTokenSize: The most bytes that a token may have.
    ///   - currentDate: Tells the time.
    public init(
        issuer: IssuerRule = .absent,
        audience: AudienceRule = .absent,
        subject: SubjectRule = .any,
        type: TypeRule = .any,
        leeway: Duration = .seconds(60),
        expiration: Presence = .required,
        maximumAge: Duration? = nil,
        requiredClaims: [String] = [],
        maximumTokenSize: Int = 65_536,
        currentDate: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.issuer = issuer
        self.audience = audience
        self.subject = subject
        self.type = type
        self.leeway = leeway
        self.expiration = expiration
        self.maximumAge = maximumAge
        self.requiredClaims = requiredClaims
        limits = JWSLimits(size: maximumTokenSize)
        self.currentDate = currentDate
    }
}

extension ValidationPolicy {
    /// Whether a claim must be there.
    public struct Presence: Hashable, Sendable {
        private enum Wrapped { case required, optional }
        private let wrapped: Wrapped

        /// The claim must be there.
        public static let required = Presence(wrapped: .required)
        /// The claim may be missing; if it is there, it is checked.
        ///
        /// - Warning: A token without `exp` is good for ever: only a new key ends it.
        public static let optional = Presence(wrapped: .optional)
    }
}
