internal import Foundation

extension RegisteredClaims {
    /// Reads the claims out of a claims set, with the claim's name in the error.
    ///
    /// - Throws: ``TokenError`` with the code `malformedClaim`.
    init(reading claims: JSONObject) throws(TokenError) {
        self.init(
            issuer: try claims.stringClaim("iss"),
            subject: try claims.stringClaim("sub"),
            audience: try claims.audienceClaim(),
            expiration: try claims.secondsClaim("exp").map(Date.init(timeIntervalSince1970:)),
            notBefore: try claims.secondsClaim("nbf").map(Date.init(timeIntervalSince1970:)),
            issuedAt: try claims.secondsClaim("iat").map(Date.init(timeIntervalSince1970:)),
            jwtID: try claims.stringClaim("jti")
        )
    }
}

extension JSONObject {
    /// A claim that must be a NumericDate if it is there, in seconds since 1970.
    ///
    /// - Throws: ``TokenError`` with the code `malformedClaim`.
    func secondsClaim(_ name: String) throws(TokenError) -> Double? {
        guard let value = self[name] else { return nil }
        guard let number = value.number else { throw Self.malformed(name, "a number of seconds since 1970", value) }
        guard let seconds = number.double else {
            throw TokenError(.malformedClaim, "the claim “\(name)” is too large for a number of seconds since 1970")
        }
        return seconds
    }

    fileprivate func stringClaim(_ name: String) throws(TokenError) -> String? {
        guard let value = self[name] else { return nil }
        guard let string = value.string else { throw Self.malformed(name, "a string", value) }
        return string
    }

    fileprivate func audienceClaim() throws(TokenError) -> [String] {
        guard let value = self["aud"] else { return [] }
        if let audience = value.string { return [audience] }
        guard let elements = value.array, !elements.isEmpty else {
            throw Self.malformed("aud", "a string or an array of strings that is not empty", value)
        }
        var audience: [String] = []
        for element in elements {
            guard let member = element.string else {
                throw TokenError(.malformedClaim, "the claim “aud” has \(element.kind) among its strings")
            }
            audience.append(member)
        }
        return audience
    }

    private static func malformed(_ name: String, _ expected: String, _ value: JSONValue) -> TokenError {
        let found = value.array?.isEmpty ?? false ? "an empty array" : value.kind
        return TokenError(.malformedClaim, "the claim “\(name)” must be \(expected), not \(found)")
    }
}
