internal import Foundation

extension ValidationPolicy {
    /// Checks what a token whose signature is good says.
    ///
    /// - Parameters:
    ///   - header: The token's header.
    ///   - claims: The token's claims.
    ///   - key: The key that verified the signature.
    ///   - date: The one reading of the clock that all checks of this token use.
    /// - Returns: The registered claims.
    /// - Throws: ``TokenError`` with the code of the first check that fails.
    func check(
        _ header: ProtectedHeader,
        _ claims: JSONObject,
        signedBy key: @autoclosure () -> VerificationKey,
        at date: Date
    ) throws(TokenError) -> RegisteredClaims {
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

    private func checkPresence(_ claims: JSONObject) throws(TokenError) {
        for name in requiredClaims {
            guard let value = claims[name], value != .null else {
                throw TokenError(
                    .missingClaim,
                    "the claim \(TokenError.shown(name)) is missing, which the policy requires"
                )
            }
        }
        for name in prohibitedClaims where claims[name] != nil {
            throw TokenError(
                .prohibitedClaim,
                "the token has the claim \(TokenError.shown(name)), which the policy prohibits"
            )
        }
    }

    private func check(_ times: ClaimTimes, at now: Double) throws(TokenError) {
        let leeway = max(leeway, .zero) / .seconds(1)
        if let expiration = times.expiration {
            // "On or after" the time the token is no longer good: RFC 7519 §4.1.4.
            guard now < expiration + leeway else { throw TokenError(.expired, "the token has expired") }
        } else if expiration == .required {
            throw TokenError(.missingClaim, "the claim “exp” is missing: the token would never expire")
        }
        if let notBefore = times.notBefore, now + leeway < notBefore {
            throw TokenError(.notYetValid, "the time of the claim “nbf” has not come")
        }
        if let issuedAt = times.issuedAt, now + leeway < issuedAt {
            throw TokenError(.issuedInFuture, "the time of the claim “iat” has not come; do the clocks differ?")
        }
        if let maximumAge {
            guard let issuedAt = times.issuedAt else {
                throw TokenError(.missingClaim, "the claim “iat” is missing: the token's age can't be told")
            }
            guard now - issuedAt <= maximumAge / .seconds(1) + leeway else {
                throw TokenError(.tooOld, "the token was issued longer ago than the policy's maximum age")
            }
        }
        guard let maximumLifetime else { return }
        guard let expiration = times.expiration else {
            throw TokenError(.missingClaim, "the claim “exp” is missing: the token's lifetime can't be told")
        }
        guard expiration - (times.issuedAt ?? now) <= maximumLifetime / .seconds(1) + leeway else {
            throw TokenError(.lifetimeTooLong, "the token is made for a longer time than the policy's maximum lifetime")
        }
    }
}
