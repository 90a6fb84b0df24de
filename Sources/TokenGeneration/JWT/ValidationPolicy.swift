public import FoundationEssentials
internal import OpenSSLCrypto

/// The requirements for the type and the claims of a verified token.
///
/// The signature is always verified; a policy applies to the header's `typ` and the claims. By
/// default, a token is accepted if
///
/// - it has an `exp` that hasn't passed, and no `nbf` or `iat` in the future, allowing for a minute
///   of clock difference;
/// - it has no `iss`, because the policy doesn't name a trusted issuer;
/// - it has no `aud`, because the policy doesn't state that you're the audience
///   ([RFC 7519 §4.1.3](https://www.rfc-editor.org/rfc/rfc7519#section-4.1.3));
/// - its `sub` isn't empty;
/// - its registered claims have the right JSON types, including those that the policy doesn't
///   require.
///
/// State the issuer and the audience that you expect: a token for another audience is also a valid
/// token ([RFC 8725 §3.8–3.9](https://www.rfc-editor.org/rfc/rfc8725#section-3.8)). Tokens of a
/// known kind have profiles, which include all requirements of the kind's specification:
/// ``plain(issuer:audience:)``, ``accessToken(issuer:audience:)``,
/// ``idToken(issuer:clientID:nonce:accessToken:code:maximumAuthenticationAge:state:acrValues:trustedAudiences:)``
/// and ``clientAssertion(audience:clientID:maximumLifetime:)``. ``TokenIssuer`` has the policies of
/// well-known issuers.
///
/// ```swift
/// var policy = ValidationPolicy(issuer: "https://id.example", audience: "orders")
/// policy.requiredClaims = ["scope"]
/// ```
///
/// Rules aren't optional, so that an unset environment variable can't silently disable one. Strings
/// are compared code point by code point. All times come from ``currentDate``.
public struct ValidationPolicy: Sendable {
    /// The required type, the header's `typ`; by default any or none.
    public var type: TypeRule
    /// The accepted signature algorithms; by default those of the keys.
    ///
    /// A key that is for another algorithm isn't used, even if the issuer publishes it
    /// ([RFC 8725 §3.1](https://www.rfc-editor.org/rfc/rfc8725#section-3.1)).
    public var algorithms: Set<JWSAlgorithm>?
    /// The required issuer, `iss`; by default `iss` must be absent.
    public var issuer: IssuerRule
    /// The required audience, `aud`; by default `aud` must be absent.
    public var audience: AudienceRule
    /// The required subject, `sub`; by default any or none.
    public var subject: SubjectRule
    /// The presence of `exp`, which is required by default.
    public var expiration: Presence = .required
    /// The tolerated difference between clocks, 60 seconds by default; a negative value counts as
    /// zero.
    ///
    /// It's added to every comparison of times, in the token's favor.
    public var leeway: Duration
    /// The maximum time since `iat`, or `nil`, the default, to skip that check.
    ///
    /// If it's set, a token without `iat` is rejected.
    public var maximumAge: Duration?
    /// The maximum time from `iat`, or from now if `iat` is absent, to `exp`; `nil`, the default,
    /// skips that check.
    public var maximumLifetime: Duration?
    /// The names of claims that must be present and not `null`, none by default.
    public var requiredClaims: [String]
    /// The names of claims that must be absent, even as `null`.
    public var prohibitedClaims: [String] = []
    /// The custom checks, which run in order after all others.
    public var checks: [ClaimsCheck] = []
    /// The maximum size of a token: by default 64 KiB, including 8 KiB for the header.
    public var limits: JWSLimits
    /// A closure that returns the current time, by default that of the system clock.
    public var currentDate: @Sendable () -> Date
    /// The reason to reject every token, before all other checks.
    private var refusal: TokenError?

    /// Creates a policy in which the other properties have their default values.
    ///
    /// `maximumTokenSize` is the size of ``limits`` in bytes.
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

    static func rejectingAll(_ reason: String) -> ValidationPolicy {
        var policy = ValidationPolicy()
        policy.refusal = TokenError(.typeMismatch, reason)
        return policy
    }

    /// Throws if the policy rejects every token, so that nothing is fetched for it.
    package func checkAcceptsAny() throws(TokenError) {
        if let refusal { throw refusal }
    }

    /// The required presence of a claim.
    public struct Presence: Hashable, Sendable {
        private let isRequired: Bool

        /// The claim must be present.
        public static let required = Presence(isRequired: true)
        /// The claim may be absent; if it's present, it's checked.
        ///
        /// - Warning: A token without `exp` is valid forever, until its key is replaced.
        public static let optional = Presence(isRequired: false)
    }

    /// The signature must have been verified, and the key is absent for a token that is only
    /// encrypted; all checks of a token use one date.
    func check(
        _ header: ProtectedHeader,
        _ claims: JSONObject,
        signedBy key: @autoclosure () -> VerificationKey?,
        at date: Date
    ) throws(TokenError) -> RegisteredClaims {
        try checkAlgorithm(of: header)
        try type.check(header.type)
        let (registered, times) = try RegisteredClaims.read(claims)
        try checkPresence(claims)
        try check(times, at: date.timeIntervalSince1970)
        try issuer.check(registered.issuer)
        try subject.check(registered.subject)
        try audience.check(registered.audience)
        guard !checks.isEmpty else { return registered }
        let subject = ClaimsCheck.Subject(
            header: header.members,
            claims: claims,
            registered: registered,
            date: date,
            leeway: max(leeway, .zero),
            key: key()
        )
        for check in checks { try check.check(subject) }
        return registered
    }

    func checkAlgorithm(of header: ProtectedHeader) throws(TokenError) {
        try checkAcceptsAny()
        guard let algorithms, !algorithms.contains(where: { $0.rawValue.isExactly(header.algorithm) }) else { return }
        let names = algorithms.map(\.rawValue).sorted().joined(separator: ", ")
        throw TokenError(
            .algorithmMismatch,
            "“alg” of the header is \(TokenError.shown(header.algorithm)), but the policy accepts only \(names)"
                + JWSAlgorithm.edwardsAdvice(header.algorithm, algorithms)
        )
    }

    private func checkPresence(_ claims: JSONObject) throws(TokenError) {
        for name in requiredClaims {
            guard let value = claims[name], value != .null else {
                throw TokenError(
                    .missingClaim,
                    "the claim \(TokenError.shown(name)) is missing, but the policy requires it"
                )
            }
        }
        for name in prohibitedClaims where claims[name] != nil {
            throw TokenError(
                .prohibitedClaim,
                "the token has the claim \(TokenError.shown(name)), but the policy prohibits it"
            )
        }
    }

    private func check(_ times: ClaimTimes, at now: Double) throws(TokenError) {
        let leeway = max(leeway, .zero) / .seconds(1)
        if let expiration = times.expiration {
            // The token must not be accepted "on or after" this time: RFC 7519 §4.1.4.
            guard now < expiration + leeway else {
                throw TokenError(.expired, "the token expired \(Self.text(now - expiration)) ago")
            }
        } else if expiration == .required {
            throw TokenError(.missingClaim, "the claim “exp” is missing, so the token would never expire")
        }
        if let notBefore = times.notBefore, now + leeway < notBefore {
            throw TokenError(.notYetValid, "the claim “nbf” is \(Self.text(notBefore - now)) in the future")
        }
        if let issuedAt = times.issuedAt, now + leeway < issuedAt {
            throw TokenError(
                .issuedInFuture,
                "the claim “iat” is \(Self.text(issuedAt - now)) in the future; check the clocks"
            )
        }
        if let maximumAge {
            guard let issuedAt = times.issuedAt else {
                throw TokenError(.missingClaim, "the claim “iat” is missing, so the token's age is unknown")
            }
            guard now - issuedAt <= maximumAge / .seconds(1) + leeway else {
                throw TokenError(
                    .tooOld,
                    "the token is \(Self.text(now - issuedAt)) old, but the policy accepts \(Self.text(maximumAge))"
                )
            }
        }
        guard let maximumLifetime else { return }
        guard let expiration = times.expiration else {
            throw TokenError(.missingClaim, "the claim “exp” is missing, so the token's lifetime is unknown")
        }
        let lifetime = expiration - (times.issuedAt ?? now)
        guard lifetime <= maximumLifetime / .seconds(1) + leeway else {
            throw TokenError(
                .lifetimeTooLong,
                "the token's lifetime is \(Self.text(lifetime)), but the policy accepts \(Self.text(maximumLifetime))"
            )
        }
    }

    private static func text(_ duration: Duration) -> String { text(duration / .seconds(1)) }

    /// Rounded down, in the unit that a reader expects.
    private static func text(_ seconds: Double) -> String {
        switch seconds {
        case ..<1: "less than 1 s"
        case ..<120: "\(Int(clamping: seconds)) s"
        case ..<7200: "\(Int(clamping: seconds / 60)) min"
        case ..<172_800: "\(Int(clamping: seconds / 3600)) h"
        case ..<1e12: "\(Int(clamping: seconds / 86400)) days"
        default: "over 10 million days"
        }
    }
}
