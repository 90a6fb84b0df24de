extension ClaimsCheck {
    /// Returns the check that a claim is a given string.
    ///
    /// ```swift
    /// policy.checks.append(.claim("tenant", is: "acme"))
    /// ```
    ///
    /// A token without the claim is rejected with `missingClaim`, another JSON type with
    /// `malformedClaim`, and another string with `claimMismatch`.
    ///
    /// - Parameters:
    ///   - name: The name of the claim.
    ///   - value: The value, compared code point by code point. An empty one rejects every token.
    /// - Returns: The check.
    public static func claim(_ name: String, is value: String) -> ClaimsCheck { claim(name, isOneOf: [value]) }

    /// Returns the check that a claim is one of the given strings.
    ///
    /// - Parameters:
    ///   - name: The name of the claim.
    ///   - values: The values, as for ``claim(_:is:)``. An empty array rejects every token.
    /// - Returns: The check.
    public static func claim(_ name: String, isOneOf values: [String]) -> ClaimsCheck {
        claim(name, isOneOf: values) { $0.isExactly($1) }
    }

    static func claim(
        _ name: String,
        isOneOf values: [String],
        comparing areEqual: @escaping @Sendable (String, String) -> Bool
    ) -> ClaimsCheck {
        ClaimsCheck(throwing: name) { subject in
            guard let found = try subject.claims.stringClaim(name) else {
                throw TokenError(
                    .missingClaim,
                    "the claim \(TokenError.shown(name)) is missing, but the policy expects a value"
                )
            }
            guard values.contains(where: { !$0.isEmpty && areEqual($0, found) }) else {
                throw TokenError(
                    .claimMismatch,
                    "the claim \(TokenError.shown(name)) isn't the value that the policy expects"
                )
            }
        }
    }
}

extension JSONObject {
    /// Returns an optional claim that must be a Boolean, or its name as a string, as Apple writes
    /// it.
    func flagClaim(_ name: String) throws(TokenError) -> Bool? {
        switch self[name] {
        case nil: return nil
        case .bool(let flag)?: return flag
        case .string(let text)? where text.isExactly("true"): return true
        case .string(let text)? where text.isExactly("false"): return false
        default: throw TokenError(.malformedClaim, "the claim \(TokenError.shown(name)) must be a Boolean")
        }
    }
}

extension VerifiedToken {
    /// A Boolean value that indicates whether the issuer has verified that the address in `email`
    /// is the subject's.
    ///
    /// It's `true` only if the token has an `email`, and if `email_verified` is `true` or, as in
    /// Apple's tokens, the string `true`. Use `iss` and `sub` to find users, because addresses can
    /// change their owner.
    public var hasVerifiedEmail: Bool {
        guard claims["email"]?.string?.isEmpty == false else { return false }
        return (try? claims.flagClaim("email_verified")) == true
    }
}
