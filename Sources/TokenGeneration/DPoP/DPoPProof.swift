package import Foundation

/// A DPoP proof that a ``DPoPVerifier`` has verified.
///
/// Only a verifier creates one.
public struct DPoPProof: Sendable {
    /// The key that signed the proof.
    public let key: VerificationKey
    /// The method of the request, `htm`.
    package let method: String
    /// The URL of the request as the client wrote it, `htu`.
    package let url: String
    /// The time at which the proof was made, `iat`.
    package let issuedAt: Date
    /// The proof's ID, `jti`.
    package let jwtID: String
    /// The server's nonce, `nonce`, or `nil`.
    package let nonce: String?
    /// All claims.
    public let claims: JSONObject

    let accessTokenHash: String?

    init(_ claims: JSONObject, _ registered: RegisteredClaims, key: VerificationKey) throws(TokenError) {
        guard let issuedAt = registered.issuedAt, let jwtID = registered.jwtID, !jwtID.isEmpty,
            let method = try claims.stringClaim("htm"), let url = try claims.stringClaim("htu")
        else { throw TokenError(.missingClaim, "one of the claims “jti”, “htm”, “htu” and “iat” is missing or empty") }
        self.key = key
        self.method = method
        self.url = url
        self.issuedAt = issuedAt
        self.jwtID = jwtID
        nonce = try claims.stringClaim("nonce")
        accessTokenHash = try claims.stringClaim("ath")
        self.claims = claims
    }
}

extension DPoPProof {
    /// The thumbprint of the key, for `cnf.jkt` of an access token that is bound to the key.
    public var thumbprint: String { key.thumbprint }

    /// Returns the identifier of the proof for the replay cache: a hash of the key and `jti`, so
    /// that long IDs can't make the cache grow.
    func replayIdentifier() throws(TokenError) -> String {
        try DPoPAccessToken.hash(of: "\(thumbprint) \(jwtID)")
    }
}
