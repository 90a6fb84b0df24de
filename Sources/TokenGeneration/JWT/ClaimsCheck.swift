public import Foundation

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
        /// The key that verified the signature, or `nil` for an encrypted token that isn't signed.
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

    /// Creates a check that accepts a token unless a closure throws an error.
    init(throwing name: String, _ verify: @escaping @Sendable (Subject) throws -> Void) {
        self.init(name) { subject in
            try verify(subject)
            return true
        }
    }

    /// - Throws: ``TokenError`` with the code `checkFailed`, or the closure's own error.
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
}
