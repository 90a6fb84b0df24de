/// A rule for the subject of a token, its `sub`.
///
/// ```swift
/// policy.subject = "batch"
/// ```
///
/// Subjects are compared code point by code point. Every rule rejects an empty `sub`.
public struct SubjectRule: Sendable, Hashable {
    /// The subject, or `nil` for any or none.
    private let expected: String?

    /// `sub` may be absent or any subject.
    public static let any = SubjectRule(expected: nil)

    /// `sub` must be the given subject.
    ///
    /// - Parameter subject: The subject. An empty one rejects every token.
    /// - Returns: The rule.
    public static func exactly(_ subject: String) -> SubjectRule { SubjectRule(expected: subject) }
}

extension SubjectRule: ExpressibleByStringLiteral {
    /// Creates the rule that `sub` must be the given subject.
    ///
    /// - Parameter value: The subject.
    public init(stringLiteral value: String) {
        self = .exactly(value)
    }
}

extension SubjectRule {
    /// Checks the claim `sub`, which is `nil` if it's absent.
    ///
    /// - Throws: ``TokenError`` with the code `malformedClaim`, `subjectMismatch` or
    ///   `missingClaim`.
    package func check(_ found: String?) throws(TokenError) {
        // Applications find users by their subject. An empty one comes from a missing value.
        guard found?.isEmpty != true else {
            throw TokenError(.malformedClaim, "the claim “sub” is empty; it must name a subject")
        }
        guard let expected else { return }
        guard let found else {
            throw TokenError(.missingClaim, "the claim “sub” is missing, but the policy expects it")
        }
        guard found.isExactly(expected) else {
            throw TokenError(.subjectMismatch, "the claim “sub” isn't the subject that the policy expects")
        }
    }
}
