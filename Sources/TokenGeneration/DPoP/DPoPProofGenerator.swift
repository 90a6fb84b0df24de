public import Foundation
internal import OpenSSLCrypto

/// Makes DPoP proofs: for each HTTP request one token that shows that its sender has a key
/// ([RFC 9449 §4.2](https://www.rfc-editor.org/rfc/rfc9449#section-4.2)).
///
/// ```swift
/// let generator = try DPoPProofGenerator(key: .generate(.es256))
/// let proof = try generator.proof(method: "GET", url: "https://api.example/orders", accessToken: token)
/// ```
///
/// The proof goes into the `DPoP` header of that one request; each request needs a new one.
public struct DPoPProofGenerator: Sendable {
    /// The thumbprint of the key, which a bound access token has in `cnf.jkt`, and an authorization request in `dpop_jkt`.
    public let thumbprint: String

    /// The header, encoded: it is the same in all proofs.
    private let header: [UInt8]
    private let signingService: any SigningService

    /// Makes a generator that signs with a key of this process.
    ///
    /// - Parameter key: A key for an asymmetric algorithm.
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm` if the key is a shared secret.
    public init(key: SigningKey) throws(TokenError) {
        try self.init(signingService: ProofSigner(key: key), publicKey: key.verificationKey)
    }

    /// Makes a generator that signs with a service.
    ///
    /// - Parameters:
    ///   - signingService: What signs, with an asymmetric algorithm. If it has a key ID, the proofs say it.
    ///   - publicKey: The key that verifies its signatures.
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm` if the key is a shared secret, `algorithmMismatch` if the
    ///   service signs with another algorithm than the key's, `unencodableContent` if its key ID can't stand in a header.
    public init(signingService: any SigningService, publicKey: VerificationKey) throws(TokenError) {
        guard !publicKey.algorithm.isSymmetric, let names = KeyType(rawValue: publicKey.jwk.keyType).thumbprintMembers
        else {
            throw TokenError(.unsupportedAlgorithm, "\(publicKey.algorithm) can't make DPoP proofs: give a key pair")
        }
        guard signingService.algorithm == publicKey.algorithm else {
            throw TokenError(
                .algorithmMismatch,
                "the signing service has \(signingService.algorithm), the public key is for \(publicKey.algorithm)"
            )
        }
        // Only what makes the key: what else its JWK says is not the server's business.
        let jwk = JSONObject(names.compactMap { name in publicKey.jwk.members[name].map { (name, $0) } })
        header = EncodedHeader.of(
            try JWTGenerator.header(
                ["typ": .string(DPoPVerifier.type), "jwk": .object(jwk)],
                signedBy: SignerIdentity(signingService)
            )
        )
        thumbprint = publicKey.thumbprint
        self.signingService = signingService
    }

    /// Makes the proof for one request.
    ///
    /// - Parameters:
    ///   - method: The request's method, in upper case as it is sent.
    ///   - url: The request's URL; its query and fragment are left out.
    ///   - accessToken: The access token that the request has in its `Authorization` header; `nil` at the token endpoint.
    ///   - nonce: The nonce that the server sent last in a `DPoP-Nonce` header, if it did.
    ///   - date: When the proof is made.
    /// - Returns: The proof, a compact JWS.
    /// - Throws: ``TokenError`` with the code `targetMismatch` if the URL is not an absolute http or https URL,
    ///   `methodMismatch` if the method is empty, `signingFailed` if no proof could be signed; and whatever a signing service of
    ///   yours throws, unchanged.
    public func proof(
        method: String,
        url: String,
        accessToken: String? = nil,
        nonce: String? = nil,
        date: Date = Date()
    ) throws -> String {
        guard !method.isEmpty else { throw TokenError(.methodMismatch, "the method of the request is empty") }
        guard let target = HTTPTarget.withoutQuery(url) else {
            throw TokenError(.targetMismatch, "the URL of the request is not an absolute http or https URL")
        }
        var claims: [(String, JSONValue)] = []
        if let accessToken { claims.append(("ath", .string(try DPoPAccessToken.hash(of: accessToken)))) }
        claims += [
            ("htm", .string(method)),
            ("htu", .string(target)),
            ("iat", JSONValue(date: Date(timeIntervalSince1970: date.timeIntervalSince1970.rounded(.down)))),
            ("jti", .string(try RegisteredClaims.randomJWTID())),
        ]
        if let nonce { claims.append(("nonce", .string(nonce))) }
        let payload = JSONObject(claims).serializedBytes()
        return try JWTGenerator.token(header: header, payload: payload, signedBy: signingService)
    }
}

/// Signs proofs with a key, without saying its ID.
private struct ProofSigner: LocalSigningService {
    let key: SigningKey

    var algorithm: JWSAlgorithm { key.algorithm }

    func sign(data: Data) throws -> Data { try key.sign(data: data) }
}
