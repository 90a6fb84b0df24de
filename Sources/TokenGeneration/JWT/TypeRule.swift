/// What the header's `typ` must be.
///
/// Kinds of tokens that are signed with the same key must not pass for each other
/// ([RFC 8725 §3.11–3.12](https://www.rfc-editor.org/rfc/rfc8725#section-3.11)); a type of its own for each kind is the best
/// way to keep them apart.
///
/// Media types are compared as [RFC 7515 §4.1.9](https://www.rfc-editor.org/rfc/rfc7515#section-4.1.9) says: without regard
/// to case, and `at+jwt` is `application/at+jwt`.
public struct TypeRule: Sendable, Hashable, ExpressibleByStringLiteral {
    private enum Wrapped: Hashable {
        case any
        case oneOf([String], orAbsent: Bool)
    }

    private let wrapped: Wrapped

    /// `typ` must be there and have a media type.
    ///
    /// - Parameter type: The media type, such as `at+jwt`.
    /// - Returns: The rule.
    public static func exactly(_ type: String) -> TypeRule { oneOf([type]) }

    /// `typ` must be there and have one of some media types.
    ///
    /// - Parameter types: The media types; with none, every token is refused.
    /// - Returns: The rule.
    public static func oneOf(_ types: [String]) -> TypeRule { TypeRule(wrapped: .oneOf(types, orAbsent: false)) }

    /// `typ` must be absent or have one of some media types.
    ///
    /// - Parameter types: The media types.
    /// - Returns: The rule.
    public static func absentOrOneOf(_ types: [String]) -> TypeRule { TypeRule(wrapped: .oneOf(types, orAbsent: true)) }

    /// `typ` must be absent or `JWT`, so that the token is not of a kind that has a type of its own.
    public static let absentOrJWT = absentOrOneOf(["JWT"])

    /// `typ` is not looked at.
    public static let any = TypeRule(wrapped: .any)

    private init(wrapped: Wrapped) {
        self.wrapped = wrapped
    }

    /// Makes the rule that `typ` must have a media type.
    ///
    /// - Parameter value: The media type.
    public init(stringLiteral value: String) {
        self = .exactly(value)
    }
}

extension TypeRule {
    /// - Throws: ``TokenError`` with the code `typeMismatch`.
    func check(_ found: String?) throws(TokenError) {
        guard case .oneOf(let types, let orAbsent) = wrapped else { return }
        guard let found else {
            if orAbsent { return }
            throw TokenError(.typeMismatch, "the header has no “typ”, the policy expects \(Self.shown(types))")
        }
        for type in types where Self.isSame(type, found) { return }
        throw TokenError(
            .typeMismatch,
            "“typ” of the header is \(TokenError.shown(found)), the policy expects \(Self.shown(types))"
        )
    }

    /// Whether two media types are the same.
    static func isSame(_ left: String, _ right: String) -> Bool {
        left.isExactlyIgnoringASCIICase(right)
            || complete(left).isExactlyIgnoringASCIICase(complete(right))
    }

    /// The whole media type: `application/` goes without saying.
    private static func complete(_ type: String) -> String {
        type.utf8.contains(UInt8(ascii: "/")) ? type : "application/\(type)"
    }

    private static func shown(_ types: [String]) -> String {
        types.isEmpty ? "no type at all" : types.map(TokenError.shown).joined(separator: " or ")
    }
}
