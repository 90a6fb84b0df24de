public import FoundationEssentials
internal import OpenSSLCrypto

/// A custom check of a policy.
///
/// ```swift
/// policy.checks.append(
///     ClaimsCheck("tenant") { $0.claims["tenant"] == "acme" }
/// )
/// ```
///
/// It runs after all other checks, so that the signature is verified and the registered claims have
/// their types.
public struct ClaimsCheck: Sendable {
    /// The verified token that a check gets.
    public struct Subject: Sendable {
        /// The header.
        public let header: JSONObject
        /// All claims.
        public let claims: JSONObject
        /// The registered claims with their types.
        public let registered: RegisteredClaims
        /// The policy's current time.
        public let date: Date
        /// The policy's leeway.
        public let leeway: Duration
        /// `nil` for an encrypted token that isn't signed.
        let key: VerificationKey?
    }

    private let name: String
    private let isSatisfied: @Sendable (Subject) throws -> Bool

    /// Creates a check.
    ///
    /// - Parameters:
    ///   - name: The name of the check, for the error if it fails. Don't include secrets.
    ///   - isSatisfied: A closure that returns whether to accept a token. If it throws a
    ///     ``TokenError``, the verifier throws the same error. Any other error becomes the cause of
    ///     a ``TokenError`` with the code `checkFailed`.
    public init(_ name: String, isSatisfied: @escaping @Sendable (Subject) throws -> Bool) {
        self.name = name
        self.isSatisfied = isSatisfied
    }

    init(throwing name: String, _ verify: @escaping @Sendable (Subject) throws -> Void) {
        self.init(name) { subject in
            try verify(subject)
            return true
        }
    }

    func check(_ subject: Subject) throws(TokenError) {
        let isGood: Bool
        do {
            isGood = try isSatisfied(subject)
        } catch let error as TokenError {
            throw error
        } catch {
            throw TokenError(.checkFailed, "the check \(TokenError.shown(name)) of the policy failed", cause: error)
        }
        guard isGood else {
            throw TokenError(.checkFailed, "the check \(TokenError.shown(name)) of the policy rejected the token")
        }
    }

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
    /// A Boolean, or its name as a string, as Apple writes it.
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

extension RegisteredClaims {
    /// Sets `iat` to a time and `exp` to a lifetime after it, both rounded down to whole seconds.
    ///
    /// - Parameters:
    ///   - lifetime: The lifetime of the token.
    ///   - date: The time at which the token is issued. The default is the current time.
    public mutating func setTimes(lifetime: Duration, issuedAt date: Date = Date()) {
        issuedAt = date.wholeSeconds
        expiration = date.addingTimeInterval(lifetime / .seconds(1)).wholeSeconds
    }

    /// Sets `jti` to a new random ID of 128 bits.
    ///
    /// - Throws: ``TokenError`` with the code `signingFailed` if the system can't provide random
    ///   numbers.
    public mutating func setRandomJWTID() throws(TokenError) {
        jwtID = try Self.randomJWTID()
    }

    package static func randomJWTID() throws(TokenError) -> String {
        do throws(CryptoError) {
            return Base64URL.encode(try SecureRandom.bytes(count: 16))
        } catch {
            throw TokenError(.signingFailed, "can't generate a random ID: \(error.message)", cause: error)
        }
    }
}

extension JSONObject {
    /// Sets `iat` to a time and `exp` to a lifetime after it, both rounded down to whole seconds.
    ///
    /// - Parameters:
    ///   - lifetime: The lifetime of the token.
    ///   - date: The time at which the token is issued. The default is the current time.
    public mutating func setTimes(lifetime: Duration, issuedAt date: Date = Date()) {
        self["iat"] = JSONValue(date: date.wholeSeconds)
        self["exp"] = JSONValue(date: date.addingTimeInterval(lifetime / .seconds(1)).wholeSeconds)
    }

    /// Sets `jti` to a new random ID of 128 bits.
    ///
    /// - Throws: ``TokenError`` with the code `signingFailed` if the system can't provide random
    ///   numbers.
    public mutating func setRandomJWTID() throws(TokenError) {
        self["jti"] = .string(try RegisteredClaims.randomJWTID())
    }
}

extension JSONValue {
    /// Creates a NumericDate: whole seconds since 1970, rounded down
    /// ([RFC 7519 §2](https://www.rfc-editor.org/rfc/rfc7519#section-2)).
    ///
    /// - Parameter date: The time.
    public init(date: Date) {
        self = JSONNumber(date.timeIntervalSince1970.rounded(.down)).map(JSONValue.number) ?? .null
    }
}

extension Date {
    /// Rounded down, because some verifiers reject fractions.
    var wholeSeconds: Date { Date(timeIntervalSince1970: timeIntervalSince1970.rounded(.down)) }
}
