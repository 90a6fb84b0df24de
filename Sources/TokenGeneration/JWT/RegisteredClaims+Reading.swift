internal import Foundation

/// The times among the registered claims, in seconds since 1970.
struct ClaimTimes {
    var expiration: Double?
    var notBefore: Double?
    var issuedAt: Double?
}

extension RegisteredClaims {
    /// Reads the registered claims of a claims set, with the claim's name in errors.
    ///
    /// - Throws: ``TokenError`` with the code `malformedClaim`.
    static func read(_ claims: JSONObject) throws(TokenError) -> (RegisteredClaims, ClaimTimes) {
        var registered = RegisteredClaims()
        var times = ClaimTimes()
        for index in claims.indices {
            let member = claims[index]
            // All registered names have three bytes.
            guard member.name.utf8.count == 3 else { continue }
            if member.name.isExactly("iss") {
                registered.issuer = try member.stringClaim()
            } else if member.name.isExactly("sub") {
                registered.subject = try member.stringClaim()
            } else if member.name.isExactly("aud") {
                registered.audience = try member.audienceClaim()
            } else if member.name.isExactly("exp") {
                times.expiration = try member.secondsClaim()
            } else if member.name.isExactly("nbf") {
                times.notBefore = try member.secondsClaim()
            } else if member.name.isExactly("iat") {
                times.issuedAt = try member.secondsClaim()
            } else if member.name.isExactly("jti") {
                registered.jwtID = try member.stringClaim()
            }
        }
        registered.expiration = times.expiration.map(Date.init(timeIntervalSince1970:))
        registered.notBefore = times.notBefore.map(Date.init(timeIntervalSince1970:))
        registered.issuedAt = times.issuedAt.map(Date.init(timeIntervalSince1970:))
        return (registered, times)
    }
}

extension JSONObject {
    /// Returns the registered claims of a claims set with their types.
    ///
    /// - Throws: ``TokenError`` with the code `malformedClaim` if a claim has the wrong JSON type,
    ///   including `null`, or is a time outside the years 1 to 9999.
    package func registeredClaims() throws(TokenError) -> RegisteredClaims {
        try RegisteredClaims.read(self).0
    }

    /// Returns an optional claim that must be a NumericDate, in seconds since 1970.
    ///
    /// - Throws: ``TokenError`` with the code `malformedClaim`.
    func secondsClaim(_ name: String) throws(TokenError) -> Double? {
        guard let index = index(of: name) else { return nil }
        return try self[index].secondsClaim()
    }

    /// Returns an optional claim that must be a string.
    ///
    /// - Throws: ``TokenError`` with the code `malformedClaim`.
    func stringClaim(_ name: String) throws(TokenError) -> String? {
        guard let index = index(of: name) else { return nil }
        return try self[index].stringClaim()
    }
}

extension JSONObject.Member {
    fileprivate func secondsClaim() throws(TokenError) -> Double {
        guard let number = value.number else { throw malformed("a number of seconds since 1970") }
        guard let seconds = number.double, NumericDate.range.contains(seconds) else {
            throw TokenError(
                .malformedClaim,
                "the claim \(TokenError.shown(name)) is a time outside the years 1 to 9999"
            )
        }
        return seconds
    }

    fileprivate func stringClaim() throws(TokenError) -> String {
        guard let string = value.string else { throw malformed("a string") }
        return string
    }

    fileprivate func audienceClaim() throws(TokenError) -> [String] {
        if let audience = value.string { return [audience] }
        guard let elements = value.array, !elements.isEmpty else {
            throw malformed("a string or a non-empty array of strings")
        }
        var audience: [String] = []
        for element in elements {
            guard let member = element.string else {
                throw TokenError(.malformedClaim, "the claim “aud” must contain only strings, not \(element.kind)")
            }
            audience.append(member)
        }
        return audience
    }

    private func malformed(_ expected: String) -> TokenError {
        let found = value.array?.isEmpty ?? false ? "an empty array" : value.kind
        return TokenError(.malformedClaim, "the claim \(TokenError.shown(name)) must be \(expected), not \(found)")
    }
}
