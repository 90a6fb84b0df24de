import Foundation
import TokenGeneration

/// The options that say what a token must be like.
struct PolicyOptions {
    private static let section = "Checks"

    private static let issuer = Option<NonEmptyText>("iss", value: "TEXT", section: section, "The issuer it must have")
    private static let audience = Option<NonEmptyText>(
        "aud",
        value: "TEXT",
        section: section,
        "The audience it must be meant for; without it, a token that names an audience is refused"
    )
    private static let anyAudience = Flag(
        "any-aud",
        section: section,
        "Accept a token whatever audience it is meant for"
    )
    private static let subject = Option<NonEmptyText>(
        "sub",
        value: "TEXT",
        section: section,
        "The subject it must have"
    )
    private static let type = Option<NonEmptyText>(
        "typ",
        value: "TYPE",
        section: section,
        "The type its header must state, such as at+jwt"
    )
    private static let claim = Option<Assignment>(
        "claim",
        short: "c",
        value: "NAME=VALUE",
        isRepeatable: true,
        section: section,
        "A claim it must have with this value, which is JSON if it can be read as JSON"
    )
    private static let required = Option<NonEmptyText>(
        "require",
        value: "NAME",
        isRepeatable: true,
        section: section,
        "A claim it must have"
    )
    private static let prohibited = Option<NonEmptyText>(
        "prohibit",
        value: "NAME",
        isRepeatable: true,
        section: section,
        "A claim it must not have"
    )
    private static let maximumAge = Option<TimeSpan>(
        "max-age",
        value: "DURATION",
        section: section,
        "The longest time since it was issued; then it needs iat"
    )
    private static let maximumLifetime = Option<TimeSpan>(
        "max-lifetime",
        value: "DURATION",
        section: section,
        "The longest time from iat to exp"
    )
    private static let leeway = Option<TimeSpan>(
        "leeway",
        value: "DURATION",
        section: section,
        "How far the issuer's clock and this one may differ (default: 60s)"
    )
    private static let time = Option<Timestamp>(
        "at",
        value: "TIME",
        section: section,
        "Check as if it were this time: 2026-01-31T12:00:00Z, or seconds since 1970"
    )
    private static let allowNoExpiration = Flag("allow-no-exp", section: section, "Accept a token that never expires")

    static let options = [
        issuer.definition, audience.definition, anyAudience.definition, subject.definition, type.definition,
        claim.definition,
        required.definition, prohibited.definition, maximumAge.definition, maximumLifetime.definition,
        leeway.definition, time.definition, allowNoExpiration.definition,
    ]

    let policy: ValidationPolicy

    /// - Parameters:
    ///   - arguments: The command line.
    ///   - keyIssuer: Whose keys the verifier has, if that is known.
    /// - Throws: ``UsageError``.
    init(_ arguments: ParsedArguments, keyIssuer: String?) throws(UsageError) {
        // What was made by `jwt sign` of a large claims file shall pass, too.
        var policy = ValidationPolicy(maximumTokenSize: TokenInput.sizeLimit)
        if let issuer = try arguments.value(of: Self.issuer)?.text {
            if let keyIssuer, Array(keyIssuer.utf8) != Array(issuer.utf8) {
                throw arguments.usageError("--iss and --discover name different issuers")
            }
            policy.issuer = .exactly(issuer)
        } else {
            policy.issuer = keyIssuer.map { .exactly($0) } ?? .skipIssuerCheck
        }
        policy.audience = try Self.audience(arguments)
        policy.subject = try arguments.value(of: Self.subject).map { .exactly($0.text) } ?? .any
        if let type = try arguments.value(of: Self.type) { policy.type = .exactly(type.text) }
        policy.expiration = arguments.contains(Self.allowNoExpiration) ? .optional : .required
        policy.requiredClaims = try arguments.values(of: Self.required).map(\.text)
        policy.prohibitedClaims = try arguments.values(of: Self.prohibited).map(\.text)
        policy.maximumAge = try arguments.value(of: Self.maximumAge).map { .seconds($0.seconds) }
        policy.maximumLifetime = try arguments.value(of: Self.maximumLifetime).map { .seconds($0.seconds) }
        if let leeway = try arguments.value(of: Self.leeway) { policy.leeway = .seconds(leeway.seconds) }
        if let date = try arguments.value(of: Self.time)?.date { policy.currentDate = { date } }
        policy.checks = try arguments.values(of: Self.claim).map { expected in
            ClaimsCheck("--claim \(expected.name)") { $0.claims[expected.name] == expected.value }
        }
        self.policy = policy
    }

    /// The audience that the command line names, or the rule that there must be none.
    private static func audience(_ arguments: ParsedArguments) throws(UsageError) -> AudienceRule {
        let name = try arguments.value(of: audience)?.text
        let acceptsAny = arguments.contains(anyAudience)
        if let name {
            guard !acceptsAny else { throw arguments.usageError("--aud and --any-aud exclude each other") }
            return .contains(name)
        }
        if acceptsAny { return .skipAudienceCheck }
        // Without either option no token with the claim would pass.
        let names = try arguments.values(of: required).map(\.text) + arguments.values(of: claim).map(\.name)
        guard !names.contains("aud") else {
            throw arguments.usageError("a token with the claim aud needs --aud TEXT, or --any-aud for every audience")
        }
        return .absent
    }

    /// The error in the words of the command line.
    ///
    /// - Parameter error: The verifier's error.
    /// - Returns: The error, with the options that help.
    func explained(_ error: TokenError) -> TokenError {
        guard error.code == .audienceMismatch, policy.audience == .absent else { return error }
        return TokenError(
            error.code,
            "the token is for an audience (“aud”): --aud TEXT accepts yours, --any-aud every one",
            cause: error
        )
    }

    /// What helps the user to see why the token was rejected, where the reason alone does not.
    static func advice(for error: TokenError, on token: String) -> String {
        let claims = (try? UnverifiedToken(token, maximumSize: TokenInput.sizeLimit))?.unverifiedClaims
        switch error.code {
        case .missingClaim where claims?["exp"] == nil && error.message.contains("“exp”"):
            return "; \(allowNoExpiration.definition.spelling) accepts such a token"
        case .expired:
            return time("exp", in: claims)
        case .notYetValid:
            return time("nbf", in: claims)
        case .issuedInFuture:
            return time("iat", in: claims)
        default:
            return ""
        }
    }

    private static func time(_ name: String, in claims: JSONObject?) -> String {
        let time = claims?[name]?.number?.double.flatMap { Timestamp(secondsSince1970: $0) }
        return time.map { " (\(name) is \($0.text))" } ?? ""
    }
}
