/// For whom a token must be, by its `aud`.
///
/// ```swift
/// policy.audience = "orders"
/// policy.audience = .containsAny(of: ["orders", "https://orders.example"])
/// ```
public struct AudienceRule: Sendable, Hashable, ExpressibleByStringLiteral {
    private enum Wrapped: Hashable {
        case any([String])
        case all([String])
        case absentOr(String)
        case absent
        case unchecked
    }

    private let wrapped: Wrapped

    /// `aud` must be or contain a name.
    ///
    /// - Parameter name: The name by which issuers know you.
    /// - Returns: The rule.
    public static func contains(_ name: String) -> AudienceRule { containsAny(of: [name]) }

    /// `aud` must be or contain at least one of some names.
    ///
    /// - Parameter names: The names; with none, every token is refused.
    /// - Returns: The rule.
    public static func containsAny(of names: [String]) -> AudienceRule { AudienceRule(wrapped: .any(names)) }

    /// `aud` must contain each of some names.
    ///
    /// - Parameter names: The names; with none, every token is refused.
    /// - Returns: The rule.
    public static func containsAll(of names: [String]) -> AudienceRule { AudienceRule(wrapped: .all(names)) }

    /// There must be no `aud`.
    ///
    /// Whoever is not among a token's audience must refuse it
    /// ([RFC 7519 §4.1.3](https://www.rfc-editor.org/rfc/rfc7519#section-4.1.3)), and a policy that names no audience is in
    /// none.
    public static let absent = AudienceRule(wrapped: .absent)

    /// `aud` must be absent, or be or contain a name.
    ///
    /// For authorization servers that leave `aud` out of what they say about a token.
    ///
    /// - Warning: A token without `aud` that the issuer made for another service is accepted.
    ///
    /// - Parameter name: The name by which issuers know you.
    /// - Returns: The rule.
    public static func absentOrContains(_ name: String) -> AudienceRule { AudienceRule(wrapped: .absentOr(name)) }

    /// `aud` is not compared with anything.
    ///
    /// - Warning: Tokens that the issuer made for other services are accepted, so each of them can act as its users here.
    public static let skipAudienceCheck = AudienceRule(wrapped: .unchecked)

    private init(wrapped: Wrapped) {
        self.wrapped = wrapped
    }

    /// Makes the rule that `aud` must be or contain a name.
    ///
    /// - Parameter value: The name.
    public init(stringLiteral value: String) {
        self = .contains(value)
    }
}

extension AudienceRule {
    /// Checks the claim `aud`.
    ///
    /// - Parameter found: The members of `aud`, none if the claim is absent.
    /// - Throws: ``TokenError`` with the code `audienceMismatch` or `missingClaim`.
    package func check(_ found: [String]) throws(TokenError) {
        switch wrapped {
        case .unchecked:
            return
        case .absent:
            guard found.isEmpty else {
                throw TokenError(
                    .audienceMismatch,
                    "the token is for an audience (“aud”), and the policy names none: set its audience"
                )
            }
        case .absentOr(let name):
            guard found.isEmpty || Self.contains(found, name) else { throw Self.mismatch }
        case .any(let names):
            try checkPresence(found)
            for name in names where Self.contains(found, name) { return }
            throw Self.mismatch
        case .all(let names):
            try checkPresence(found)
            guard !names.isEmpty else { throw Self.mismatch }
            for name in names where !Self.contains(found, name) { throw Self.mismatch }
        }
    }

    private func checkPresence(_ found: [String]) throws(TokenError) {
        guard !found.isEmpty else {
            throw TokenError(.missingClaim, "the claim “aud” is missing, which the policy expects")
        }
    }

    private static func contains(_ found: [String], _ name: String) -> Bool {
        // An empty name matches nothing: it stands for a setting that was never made.
        guard !name.isEmpty else { return false }
        for member in found where member.isExactly(name) { return true }
        return false
    }

    private static var mismatch: TokenError {
        TokenError(.audienceMismatch, "the claim “aud” does not name the audience that the policy expects")
    }
}
