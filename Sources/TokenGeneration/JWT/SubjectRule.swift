/// A rule for the subject of a token, its `sub`.
///
/// ```swift
/// policy.subject = "batch"
/// ```
///
/// Subjects are compared code point by code point. A policy with any rule refuses a `sub` that is empty.
public struct SubjectRule: Sendable, Hashable, ExpressibleByStringLiteral {
    private enum Wrapped: Hashable {
        case any
        case exactly(String)
    }

    private let wrapped: Wrapped

    /// `sub` may be absent or any subject.
    public static let any = SubjectRule(wrapped: .any)

    /// `sub` must be a subject.
    ///
    /// - Parameter subject: The subject. An empty one refuses every token.
    /// - Returns: The rule.
    public static func exactly(_ subject: String) -> SubjectRule { SubjectRule(wrapped: .exactly(subject)) }

    private init(wrapped: Wrapped) {
        self.wrapped = wrapped
    }

    /// Creates the rule that `sub` must be a subject.
    ///
    /// - Parameter value: The subject.
    public init(stringLiteral value: String) {
        self = .exactly(value)
    }
}

extension SubjectRule {
    /// Checks the claim `sub`.
    ///
    /// - Parameter found: The claim's value; `nil` if it is absent.
    /// - Throws: ``TokenError`` with the code `malformedClaim`, `subjectMismatch` or `missingClaim`.
    package func check(_ found: String?) throws(TokenError) {
        // Applications look users up by it; an empty one is a user that was never set.
        guard found?.isEmpty != true else {
            throw TokenError(.malformedClaim, "the claim “sub” is empty: it must name a subject")
        }
        guard case .exactly(let subject) = wrapped else { return }
        guard let found else {
            throw TokenError(.missingClaim, "the claim “sub” is missing, which the policy expects")
        }
        guard found.isExactly(subject) else {
            throw TokenError(.subjectMismatch, "the claim “sub” is not the one that the policy expects")
        }
    }
}
