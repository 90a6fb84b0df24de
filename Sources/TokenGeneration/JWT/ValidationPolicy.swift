public import Foundation

/// What a verified token must say to be accepted.
///
/// The signature is always checked; a policy is about the header's `typ` and the claims. Its defaults accept a token that has
/// not expired, within a minute of clock difference. State the issuer and the audience you expect: a token that was meant for
/// someone else is a valid token, too ([RFC 8725 §3.8–3.9](https://www.rfc-editor.org/rfc/rfc8725#section-3.8)).
///
/// ```swift
/// let policy = ValidationPolicy(issuer: "https://id.example", audience: "orders")
/// ```
///
/// Strings are compared code point by code point. A registered claim of the wrong JSON type is refused even if the policy
/// does not ask for it.
public struct ValidationPolicy: Sendable {
    /// The value that `iss` must have; `nil` accepts any, and none.
    public var issuer: String?
    /// The value that `aud` must be or contain; `nil` accepts any, and none.
    public var audience: String?
    /// The value that `sub` must have; `nil` accepts any, and none.
    public var subject: String?
    /// The media type that the header's `typ` must have; `nil` accepts any, and none.
    ///
    /// Compared as [RFC 7515 §4.1.9](https://www.rfc-editor.org/rfc/rfc7515#section-4.1.9) says: without regard to case, and
    /// `at+jwt` is `application/at+jwt`.
    public var type: String?
    /// How far clocks may differ: 60 seconds by default.
    ///
    /// It is added to every comparison of times, in the token's favor.
    public var leeway: Duration
    /// Whether a token without `exp` is refused, as it is by default.
    public var requiresExpiration: Bool
    /// The longest time since `iat`, or `nil` to not look at the age.
    ///
    /// If it is set, a token without `iat` is refused.
    public var maximumAge: Duration?
    /// Names of claims that must be there and not be `null`.
    public var requiredClaims: [String]
    /// The most bytes that a token may have: 64 KiB by default.
    ///
    /// The header alone may have 8 KiB.
    public var maximumTokenSize: Int
    /// Tells the time.
    public var currentDate: @Sendable () -> Date

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - issuer: The value that `iss` must have.
    ///   - audience: The value that `aud` must be or contain.
    ///   - subject: The value that `sub` must have.
    ///   - type: The media type that the header's `typ` must have.
    ///   - leeway: How far clocks may differ; less than zero counts as zero.
    ///   - requiresExpiration: Whether a token without `exp` is refused.
    ///   - maximumAge: The longest time since `iat`.
    ///   - requiredClaims: Names of claims that must be there and not be `null`.
    ///   - maximumTokenSize: The most bytes that a token may have.
    ///   - currentDate: Tells the time.
    public init(
        issuer: String? = nil,
        audience: String? = nil,
        subject: String? = nil,
        type: String? = nil,
        leeway: Duration = .seconds(60),
        requiresExpiration: Bool = true,
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
        self.requiresExpiration = requiresExpiration
        self.maximumAge = maximumAge
        self.requiredClaims = requiredClaims
        self.maximumTokenSize = maximumTokenSize
        self.currentDate = currentDate
    }
}
