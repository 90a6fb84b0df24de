internal import Foundation
internal import OpenSSLCrypto

extension ValidationPolicy {
    /// Returns the registered claims of a token whose signature has been verified, after validating
    /// its content.
    ///
    /// The key is `nil` for a token that is only encrypted. All checks of a token use one date.
    ///
    /// - Throws: ``TokenError`` with the code of the first check that fails.
    func check(
        _ header: ProtectedHeader,
        _ claims: JSONObject,
        signedBy key: @autoclosure () -> VerificationKey?,
        at date: Date
    ) throws(TokenError) -> RegisteredClaims {
        try checkAlgorithm(of: header)
        try type.check(header.type)
        let (registered, times) = try RegisteredClaims.read(claims)
        try checkPresence(claims)
        try check(times, at: date.timeIntervalSince1970)
        try issuer.check(registered.issuer)
        try subject.check(registered.subject)
        try audience.check(registered.audience)
        guard !checks.isEmpty else { return registered }
        let subject = ClaimsCheck.Subject(
            header: header.members,
            claims: claims,
            registered: registered,
            date: date,
            leeway: max(leeway, .zero),
            key: key()
        )
        for check in checks { try check.check(subject) }
        return registered
    }

    /// Rejects a token that is signed with an algorithm that the policy doesn't accept.
    func checkAlgorithm(of header: ProtectedHeader) throws(TokenError) {
        guard let algorithms, !algorithms.contains(where: { $0.rawValue.isExactly(header.algorithm) }) else { return }
        let names = algorithms.map(\.rawValue).sorted().joined(separator: ", ")
        throw TokenError(
            .algorithmMismatch,
            "“alg” of the header is \(TokenError.shown(header.algorithm)), but the policy accepts only \(names)"
        )
    }

    private func checkPresence(_ claims: JSONObject) throws(TokenError) {
        for name in requiredClaims {
            guard let value = claims[name], value != .null else {
                throw TokenError(
                    .missingClaim,
                    "the claim \(TokenError.shown(name)) is missing, but the policy requires it"
                )
            }
        }
        for name in prohibitedClaims where claims[name] != nil {
            throw TokenError(
                .prohibitedClaim,
                "the token has the claim \(TokenError.shown(name)), but the policy prohibits it"
            )
        }
    }

    private func check(_ times: ClaimTimes, at now: Double) throws(TokenError) {
        let leeway = max(leeway, .zero) / .seconds(1)
        if let expiration = times.expiration {
            // The token must not be accepted "on or after" this time: RFC 7519 §4.1.4.
            guard now < expiration + leeway else {
                throw TokenError(.expired, "the token expired \(Self.text(now - expiration)) ago")
            }
        } else if expiration == .required {
            throw TokenError(.missingClaim, "the claim “exp” is missing, so the token would never expire")
        }
        if let notBefore = times.notBefore, now + leeway < notBefore {
            throw TokenError(.notYetValid, "the claim “nbf” is \(Self.text(notBefore - now)) in the future")
        }
        if let issuedAt = times.issuedAt, now + leeway < issuedAt {
            throw TokenError(
                .issuedInFuture,
                "the claim “iat” is \(Self.text(issuedAt - now)) in the future; check the clocks"
            )
        }
        if let maximumAge {
            guard let issuedAt = times.issuedAt else {
                throw TokenError(.missingClaim, "the claim “iat” is missing, so the token's age is unknown")
            }
            guard now - issuedAt <= maximumAge / .seconds(1) + leeway else {
                throw TokenError(
                    .tooOld,
                    "the token is \(Self.text(now - issuedAt)) old, but the policy accepts \(Self.text(maximumAge))"
                )
            }
        }
        guard let maximumLifetime else { return }
        guard let expiration = times.expiration else {
            throw TokenError(.missingClaim, "the claim “exp” is missing, so the token's lifetime is unknown")
        }
        let lifetime = expiration - (times.issuedAt ?? now)
        guard lifetime <= maximumLifetime / .seconds(1) + leeway else {
            throw TokenError(
                .lifetimeTooLong,
                "the token's lifetime is \(Self.text(lifetime)), but the policy accepts \(Self.text(maximumLifetime))"
            )
        }
    }

    private static func text(_ duration: Duration) -> String { text(duration / .seconds(1)) }

    /// Returns a number of seconds, rounded down, in the unit that a reader expects.
    private static func text(_ seconds: Double) -> String {
        switch seconds {
        case ..<1: "less than 1 s"
        case ..<120: "\(Int(clamping: seconds)) s"
        case ..<7200: "\(Int(clamping: seconds / 60)) min"
        case ..<172_800: "\(Int(clamping: seconds / 3600)) h"
        case ..<1e12: "\(Int(clamping: seconds / 86400)) days"
        default: "over 10 million days"
        }
    }
}
