/// A rule for the audience of a token, its `aud`.
///
/// ```swift
/// policy.audience = "orders"
/// policy.audience = .containsAny(of: ["orders", "https://orders.example"])
/// ```
public struct AudienceRule: Sendable, Hashable {
    private enum Wrapped: Hashable {
        case any([String])
        case all([String])
        case only(String)
        case absentOr(String)
        case absent
        case unchecked
    }

    private let wrapped: Wrapped

    /// `aud` must be or contain a name.
    ///
    /// - Parameter name: The name that issuers know you by.
    /// - Returns: The rule.
    public static func contains(_ name: String) -> AudienceRule { containsAny(of: [name]) }

    /// `aud` must be or contain at least one of the given names.
    ///
    /// - Parameter names: The names. An empty array rejects every token.
    /// - Returns: The rule.
    public static func containsAny(of names: [String]) -> AudienceRule { AudienceRule(wrapped: .any(names)) }

    /// `aud` must contain each of the given names.
    ///
    /// - Parameter names: The names. An empty array rejects every token.
    /// - Returns: The rule.
    public static func containsAll(of names: [String]) -> AudienceRule { AudienceRule(wrapped: .all(names)) }

    /// `aud` must be a name, or an array of only this name.
    ///
    /// - Parameter name: The name that issuers know you by.
    /// - Returns: The rule.
    public static func only(_ name: String) -> AudienceRule { AudienceRule(wrapped: .only(name)) }

    /// `aud` must be absent.
    ///
    /// A receiver that isn't in a token's audience must reject the token
    /// ([RFC 7519 §4.1.3](https://www.rfc-editor.org/rfc/rfc7519#section-4.1.3)). A policy that
    /// doesn't name an audience isn't in any.
    public static let absent = AudienceRule(wrapped: .absent)

    /// `aud` must be absent, or be or contain a name.
    ///
    /// Use it for authorization servers that omit `aud` from the claims of a token.
    ///
    /// - Warning: The policy also accepts tokens without `aud` that the issuer made for another
    ///   service.
    ///
    /// - Parameter name: The name that issuers know you by.
    /// - Returns: The rule.
    public static func absentOrContains(_ name: String) -> AudienceRule { AudienceRule(wrapped: .absentOr(name)) }

    /// `aud` isn't checked.
    ///
    /// - Warning: The policy accepts tokens that the issuer made for other services, so each of
    ///   those services can act as its users here.
    public static let skipAudienceCheck = AudienceRule(wrapped: .unchecked)
}

extension AudienceRule: ExpressibleByStringLiteral {
    /// Creates the rule that `aud` must be or contain a name.
    ///
    /// - Parameter value: The name.
    public init(stringLiteral value: String) {
        self = .contains(value)
    }
}

extension AudienceRule {
    /// Checks the members of the claim `aud`, none if it's absent.
    ///
    /// - Throws: ``TokenError`` with the code `audienceMismatch` or `missingClaim`.
    package func check(_ found: [String]) throws(TokenError) {
        switch wrapped {
        case .unchecked:
            return
        case .absent:
            guard found.isEmpty else {
                throw TokenError(
                    .audienceMismatch,
                    "the token has an audience (“aud”), but the policy doesn't; set the policy's audience"
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
        case .only(let name):
            try checkPresence(found)
            guard found.count == 1, Self.contains(found, name) else { throw Self.mismatch }
        }
    }

    private func checkPresence(_ found: [String]) throws(TokenError) {
        guard !found.isEmpty else {
            throw TokenError(.missingClaim, "the claim “aud” is missing, but the policy expects it")
        }
    }

    private static func contains(_ found: [String], _ name: String) -> Bool {
        // An empty name matches nothing, because it comes from a missing setting.
        guard !name.isEmpty else { return false }
        for member in found where member.isExactly(name) { return true }
        return false
    }

    private static var mismatch: TokenError {
        TokenError(.audienceMismatch, "the claim “aud” doesn't name the audience that the policy expects")
    }
}
