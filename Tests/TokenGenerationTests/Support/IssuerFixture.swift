import Foundation
import TestVectors
import TokenGeneration

/// A well-known issuer with one key, which signs the claims of its documentation.
struct IssuerFixture {
    /// The claims of a token as the issuer documents it.
    let claims: JSONObject
    /// The members of the header in addition to `alg`.
    var header: JSONObject = ["typ": "JWT", "kid": "1"]
    /// Changes of the published key.
    var keyMembers: [String: JSONValue?] = ["use": "sig"]
    var algorithm = JWSAlgorithm.rs256

    /// The keys that the issuer publishes.
    var keys: JWKSet {
        get throws {
            var jwk = try Fixture.key(for: algorithm).verificationKey.jwk
            jwk.members["kid"] = "1"
            for (name, value) in keyMembers { jwk.members[name] = value }
            return JWKSet(keys: [jwk])
        }
    }

    /// Returns a token with changes; `nil` removes a claim or a member of the header.
    func token(_ changes: [String: JSONValue?] = [:], header headerChanges: [String: JSONValue?] = [:]) throws -> String
    {
        var claims = claims
        for (name, value) in changes { claims[name] = value }
        var header = header
        header["alg"] = .string(algorithm.rawValue)
        for (name, value) in headerChanges { header[name] = value }
        return try Fixture.token(
            header: header.serialized(),
            payload: claims.serialized(),
            key: Fixture.key(for: algorithm)
        )
    }

    /// The time of the documented token's issue.
    private var date: Date {
        Date(timeIntervalSince1970: claims["iat"]?.number?.double ?? Double(Fixture.now))
    }

    /// Returns the code with which a policy rejects a token for an audience, or `nil`.
    func refusal(
        _ changes: [String: JSONValue?] = [:],
        header: [String: JSONValue?] = [:],
        by issuer: TokenIssuer,
        audience: String
    ) throws -> TokenError.Code? {
        var issuer = issuer
        issuer.policy.currentDate = { [date] in date }
        let verifier = JWTVerifier(issuer, audience: audience, keys: try keys)
        let token = try token(changes, header: header)
        return code { try verifier.verify(token) }
    }

    /// Returns the code with which a policy rejects an ID token, or `nil`.
    func refusal(
        _ changes: [String: JSONValue?] = [:],
        header: [String: JSONValue?] = [:],
        by provider: TokenIssuer,
        clientID: String,
        nonce: String?,
        authorizedParties: [String] = []
    ) throws -> TokenError.Code? {
        var policy = ValidationPolicy.idToken(
            provider: provider,
            clientID: clientID,
            nonce: nonce,
            authorizedParties: authorizedParties
        )
        policy.currentDate = { [date] in date }
        let verifier = JWTVerifier(keys: try keys, selection: provider.selection, policy: policy)
        let token = try token(changes, header: header)
        return code { try verifier.verify(token) }
    }
}
