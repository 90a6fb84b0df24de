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

/// A rule for the subject of a token, its `sub`.
///
/// ```swift
/// policy.subject = "batch"
/// ```
///
/// Subjects are compared code point by code point. Every rule rejects an empty `sub`.
public struct SubjectRule: Sendable, Hashable {
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

    static func isSame(_ left: String, _ right: String) -> Bool {
        left.isExactlyIgnoringASCIICase(right)
            || complete(left).isExactlyIgnoringASCIICase(complete(right))
    }

    /// [RFC 9901 §9.11](https://www.rfc-editor.org/rfc/rfc9901#section-9.11).
    package static func isSDJWT(_ type: String) -> Bool {
        isSame(type, "sd-jwt") || String(type.utf8.suffix(7))?.isExactlyIgnoringASCIICase("+sd-jwt") ?? false
    }

    static func checkIsSDJWT(_ found: String?) throws(TokenError) {
        guard let found, isSDJWT(found) else {
            throw TokenError(
                .typeMismatch,
                "“typ” of the header must end with “+sd-jwt” unless the policy requires another type"
            )
        }
    }

    private static func complete(_ type: String) -> String {
        type.utf8.contains(UInt8(ascii: "/")) ? type : "application/\(type)"
    }

    private static func shown(_ types: [String]) -> String {
        types.isEmpty ? "a type from an empty list" : types.map(TokenError.shown).joined(separator: " or ")
    }
}
