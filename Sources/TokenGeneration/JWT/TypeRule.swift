/// A rule for the type of a token, the header's `typ`.
///
/// A token of one kind must not be accepted as another kind that is signed with the same key
/// ([RFC 8725 §3.11–3.12](https://www.rfc-editor.org/rfc/rfc8725#section-3.11)). A different type
/// for each kind is the best distinction.
///
/// Media types are compared as in
/// [RFC 7515 §4.1.9](https://www.rfc-editor.org/rfc/rfc7515#section-4.1.9): case-insensitively, and
/// `at+jwt` equals `application/at+jwt`.
public struct TypeRule: Sendable, Hashable {
    private enum Wrapped: Hashable {
        case any
        case oneOf([String], orAbsent: Bool)
    }

    private let wrapped: Wrapped

    /// `typ` must be the given media type.
    ///
    /// - Parameter type: The media type, such as `at+jwt`.
    /// - Returns: The rule.
    public static func exactly(_ type: String) -> TypeRule { oneOf([type]) }

    /// `typ` must be one of the given media types.
    ///
    /// - Parameter types: The media types. An empty array rejects every token.
    /// - Returns: The rule.
    public static func oneOf(_ types: [String]) -> TypeRule { TypeRule(wrapped: .oneOf(types, orAbsent: false)) }

    /// `typ` must be absent or one of the given media types.
    ///
    /// - Parameter types: The media types.
    /// - Returns: The rule.
    public static func absentOrOneOf(_ types: [String]) -> TypeRule { TypeRule(wrapped: .oneOf(types, orAbsent: true)) }

    /// `typ` must be absent or `JWT`, so that tokens of a specific type are rejected.
    public static let absentOrJWT = absentOrOneOf(["JWT"])

    /// `typ` isn't checked.
    public static let any = TypeRule(wrapped: .any)
}

extension TypeRule: ExpressibleByStringLiteral {
    /// Creates the rule that `typ` must be the given media type.
    ///
    /// - Parameter value: The media type.
    public init(stringLiteral value: String) {
        self = .exactly(value)
    }
}

extension TypeRule {
    func check(_ found: String?) throws(TokenError) {
        guard case .oneOf(let types, let orAbsent) = wrapped else { return }
        guard let found else {
            if orAbsent { return }
            throw TokenError(.typeMismatch, "the header has no “typ”, but the policy expects \(Self.shown(types))")
        }
        for type in types where Self.isSame(type, found) { return }
        throw TokenError(
            .typeMismatch,
            "“typ” of the header is \(TokenError.shown(found)), but the policy expects \(Self.shown(types))"
        )
    }

    /// Returns a Boolean value that indicates whether two media types are the same.
    static func isSame(_ left: String, _ right: String) -> Bool {
        left.isExactlyIgnoringASCIICase(right)
            || complete(left).isExactlyIgnoringASCIICase(complete(right))
    }

    /// Returns a Boolean value that indicates whether a media type is one of SD-JWTs
    /// ([RFC 9901 §9.11](https://www.rfc-editor.org/rfc/rfc9901#section-9.11)).
    package static func isSDJWT(_ type: String) -> Bool {
        isSame(type, "sd-jwt") || String(type.utf8.suffix(7))?.isExactlyIgnoringASCIICase("+sd-jwt") ?? false
    }

    /// Rejects a type other than those of SD-JWTs.
    static func checkIsSDJWT(_ found: String?) throws(TokenError) {
        guard let found, isSDJWT(found) else {
            throw TokenError(
                .typeMismatch,
                "“typ” of the header must end with “+sd-jwt” unless the policy requires another type"
            )
        }
    }

    /// Returns the complete media type, adding `application/` if it's omitted.
    private static func complete(_ type: String) -> String {
        type.utf8.contains(UInt8(ascii: "/")) ? type : "application/\(type)"
    }

    private static func shown(_ types: [String]) -> String {
        types.isEmpty ? "a type from an empty list" : types.map(TokenError.shown).joined(separator: " or ")
    }
}
