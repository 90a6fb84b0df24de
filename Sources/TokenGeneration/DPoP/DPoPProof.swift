public import Foundation

/// What a DPoP proof says that a ``DPoPVerifier`` has found good.
///
/// Only a verifier makes one.
public struct DPoPProof: Sendable {
    /// The key that signed the proof.
    public let key: VerificationKey
    /// `htm`: the method of the request.
    public let method: String
    /// `htu`: the URL of the request, as the client wrote it.
    public let url: String
    /// `iat`: when the proof was made.
    public let issuedAt: Date
    /// `jti`: the proof's ID.
    public let jwtID: String
    /// `nonce`: the server's, or `nil`.
    public let nonce: String?
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
    /// The thumbprint of the key, to be written into `cnf.jkt` of an access token that is bound to it.
    public var thumbprint: String { key.thumbprint }

    /// What tells one proof from another: the key and `jti`, hashed, so that a client can't make the cache grow by long IDs.
    func replayIdentifier() throws(TokenError) -> String {
        try DPoPAccessToken.hash(of: "\(thumbprint) \(jwtID)")
    }
}
