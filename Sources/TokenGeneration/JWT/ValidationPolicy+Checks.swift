internal import Foundation

extension ValidationPolicy {
    /// Checks what a token whose signature is good says.
    ///
    /// - Returns: The registered claims.
    /// - Throws: ``TokenError`` with the code of the first check that fails.
    func check(_ header: ProtectedHeader, _ claims: JSONObject) throws(TokenError) -> RegisteredClaims {
        try checkType(header.type)
        let registered = try RegisteredClaims(reading: claims)
        for name in requiredClaims where claims[name] ?? .null == .null {
            throw TokenError(.missingClaim, "the claim \(TokenError.shown(name)) is missing, which the policy requires")
        }
        try checkTimes(claims)
        try check(registered.issuer, "iss", against: issuer, else: .issuerMismatch)
        try check(registered.subject, "sub", against: subject, else: .subjectMismatch)
        try checkAudience(registered.audience)
        return registered
    }

    private func checkType(_ found: String?) throws(TokenError) {
        guard let type else { return }
        guard let found else {
            throw TokenError(.typeMismatch, "the header has no “typ”, the policy expects \(TokenError.shown(type))")
        }
        guard Self.mediaType(found).isExactlyIgnoringASCIICase(Self.mediaType(type)) else {
            throw TokenError(
                .typeMismatch,
                "“typ” of the header is \(TokenError.shown(found)), the policy expects \(TokenError.shown(type))"
            )
        }
    }

    /// The whole media type: `application/` goes without saying.
    private static func mediaType(_ type: String) -> String {
        type.utf8.contains(UInt8(ascii: "/")) ? type : "application/\(type)"
    }

    private func checkTimes(_ claims: JSONObject) throws(TokenError) {
        let now = currentDate().timeIntervalSince1970
        let leeway = max(leeway, .zero) / .seconds(1)
        if let expiration = try claims.secondsClaim("exp") {
            // "On or after" the time the token is no longer good: RFC 7519 §4.1.4.
            guard now < expiration + leeway else { throw TokenError(.expired, "the token has expired") }
        } else if requiresExpiration {
            throw TokenError(.missingClaim, "the claim “exp” is missing: the token would never expire")
        }
        if let notBefore = try claims.secondsClaim("nbf"), now + leeway < notBefore {
            throw TokenError(.notYetValid, "the time of the claim “nbf” has not come")
        }
        let issuedAt = try claims.secondsClaim("iat")
        if let issuedAt, now + leeway < issuedAt {
            throw TokenError(.issuedInFuture, "the time of the claim “iat” has not come; do the clocks differ?")
        }
        guard let maximumAge else { return }
        guard let issuedAt else {
            throw TokenError(.missingClaim, "the claim “iat” is missing: the token's age can't be told")
        }
        guard now - issuedAt <= maximumAge / .seconds(1) + leeway else {
            throw TokenError(.tooOld, "the token was issued longer ago than the policy's maximum age")
        }
    }

    private func check(
        _ found: String?,
        _ name: String,
        against expected: String?,
        else code: TokenError.Code
    ) throws(TokenError) {
        guard let expected else { return }
        guard let found else {
            throw TokenError(.missingClaim, "the claim “\(name)” is missing, which the policy expects")
        }
        guard found.isExactly(expected) else {
            throw TokenError(code, "the claim “\(name)” is not the one that the policy expects")
        }
    }

    private func checkAudience(_ found: [String]) throws(TokenError) {
        guard let audience else { return }
        guard !found.isEmpty else {
            throw TokenError(.missingClaim, "the claim “aud” is missing, which the policy expects")
        }
        guard found.contains(where: audience.isExactly) else {
            throw TokenError(.audienceMismatch, "the claim “aud” does not name the audience that the policy expects")
        }
    }
}
