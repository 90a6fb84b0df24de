/// A rule for the issuer of a token, its `iss`.
///
/// ```swift
/// policy.issuer = "https://id.example"
/// policy.issuer = .oneOf(["https://id.example", "https://id.example.org"])
/// ```
///
/// Issuers are compared code point by code point. An empty name matches nothing.
public struct IssuerRule: Sendable, Hashable {
    private enum Wrapped: Hashable {
        case oneOf([String])
        case absent
        case unchecked
    }

    private let wrapped: Wrapped

    /// `iss` must be the given issuer.
    ///
    /// - Parameter issuer: The issuer identifier, exactly as the issuer writes it. An empty one
    ///   rejects every token.
    /// - Returns: The rule.
    public static func exactly(_ issuer: String) -> IssuerRule { oneOf([issuer]) }

    /// `iss` must be one of the given issuers.
    ///
    /// - Parameter issuers: The issuer identifiers. An empty array rejects every token.
    /// - Returns: The rule.
    public static func oneOf(_ issuers: [String]) -> IssuerRule { IssuerRule(wrapped: .oneOf(issuers)) }

    /// `iss` must be absent.
    ///
    /// A policy that doesn't name an issuer doesn't trust any, so it rejects a token that names
    /// one.
    public static let absent = IssuerRule(wrapped: .absent)

    /// `iss` isn't checked.
    ///
    /// - Warning: The policy accepts the tokens of every issuer whose keys the verifier has. If
    ///   issuers share keys, one can act as another.
    public static let skipIssuerCheck = IssuerRule(wrapped: .unchecked)
}

extension IssuerRule: ExpressibleByStringLiteral {
    /// Creates the rule that `iss` must be the given issuer.
    ///
    /// - Parameter value: The issuer identifier.
    public init(stringLiteral value: String) {
        self = .exactly(value)
    }
}

extension IssuerRule {
    /// Checks the claim `iss`, which is `nil` if it's absent.
    ///
    /// - Throws: ``TokenError`` with the code `issuerMismatch` or `missingClaim`.
    package func check(_ found: String?) throws(TokenError) {
        switch wrapped {
        case .unchecked:
            return
        case .absent:
            guard found == nil else {
                throw TokenError(
                    .issuerMismatch,
                    "the token has an issuer (“iss”), but the policy doesn't; set the policy's issuer"
                )
            }
        case .oneOf(let issuers):
            guard let found else {
                throw TokenError(.missingClaim, "the claim “iss” is missing, but the policy expects it")
            }
            for issuer in issuers where !issuer.isEmpty && issuer.isExactly(found) { return }
            let expected = issuers.count == 1 ? "the issuer" : "one of the issuers"
            throw TokenError(.issuerMismatch, "the claim “iss” isn't \(expected) that the policy expects")
        }
    }
}
