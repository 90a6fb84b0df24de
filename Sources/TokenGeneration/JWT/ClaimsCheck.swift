public import Foundation

/// A check of your own that a policy makes.
///
/// ```swift
/// policy.checks.append(
///     ClaimsCheck("tenant") { $0.claims["tenant"] == "acme" }
/// )
/// ```
///
/// It runs after all other checks, so the signature is good and the registered claims have their types.
public struct ClaimsCheck: Sendable {
    /// What a check sees.
    public struct Subject: Sendable {
        /// The header.
        public let header: JSONObject
        /// All claims.
        public let claims: JSONObject
        /// The registered claims among them, with types.
        public let registered: RegisteredClaims
        /// The policy's current time.
        public let date: Date
        /// The policy's leeway.
        public let leeway: Duration
        /// The key that verified the signature.
        let key: VerificationKey
    }

    /// What the error says if the check fails.
    public let name: String

    private let isSatisfied: @Sendable (Subject) throws -> Bool

    /// Makes a check.
    ///
    /// - Parameters:
    ///   - name: What the error says if the check fails. Put no secret into it.
    ///   - isSatisfied: Whether a token is good. A ``TokenError`` it throws reaches the verifier's caller as it is; any other
    ///     error is the cause of one with the code `checkFailed`.
    public init(_ name: String, isSatisfied: @escaping @Sendable (Subject) throws -> Bool) {
        self.name = name
        self.isSatisfied = isSatisfied
    }

    /// - Throws: ``TokenError`` with the code `checkFailed`, or the one that the check throws.
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
            throw TokenError(.checkFailed, "the check \(TokenError.shown(name)) of the policy refuses the token")
        }
    }
}
