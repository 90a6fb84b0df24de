public import Foundation
internal import OpenSSLCrypto

/// A generator of DPoP proofs: tokens that show, for each HTTP request, that its sender has a key
/// ([RFC 9449 §4.2](https://www.rfc-editor.org/rfc/rfc9449#section-4.2)).
///
/// ```swift
/// let generator = try DPoPProofGenerator(key: .generate(.es256))
/// let proof = try generator.proof(
///     method: "GET",
///     url: "https://api.example/orders",
///     accessToken: token
/// )
/// ```
///
/// Put the proof into the `DPoP` header of the request. Each request needs a new proof.
public struct DPoPProofGenerator: Sendable {
    /// The thumbprint of the key, which a bound access token has in `cnf.jkt` and an authorization
    /// request in `dpop_jkt`.
    public let thumbprint: String

    /// The encoded header, which is the same in all proofs.
    private let header: [UInt8]
    private let signingService: any SigningService

    /// Creates a generator that signs with a key in this process.
    ///
    /// - Parameter key: A key for an asymmetric algorithm.
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm` if the key is a shared secret.
    public init(key: SigningKey) throws(TokenError) {
        try self.init(signingService: ProofSigner(key: key), publicKey: key.verificationKey)
    }

    /// Creates a generator that signs with a service.
    ///
    /// - Parameters:
    ///   - signingService: The service that signs, with an asymmetric algorithm. If it has a key
    ///     ID, the proofs include it.
    ///   - publicKey: The key that verifies the service's signatures.
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm` if the key is a shared secret,
    ///   `algorithmMismatch` if the service's algorithm isn't the key's, `unencodableContent` if
    ///   the key ID can't be written into a header.
    public init(signingService: any SigningService, publicKey: VerificationKey) throws(TokenError) {
        let jwk = try publicKey.jwkForMessages(of: "DPoP proofs")
        guard signingService.algorithm == publicKey.algorithm else {
            throw TokenError(
                .algorithmMismatch,
                "the signing service uses \(signingService.algorithm), but the public key is for \(publicKey.algorithm)"
            )
        }
        header = EncodedHeader.of(
            try JWTGenerator.header(
                ["typ": .string(DPoPVerifier.type), "jwk": .object(jwk)],
                signedBy: .local(signingService)
            )
        )
        thumbprint = publicKey.thumbprint
        self.signingService = signingService
    }

    /// Creates the proof for one request.
    ///
    /// - Parameters:
    ///   - method: The request's method in uppercase, as it is sent.
    ///   - url: The request's URL. The proof omits its query and fragment.
    ///   - accessToken: The access token in the request's `Authorization` header, or `nil` at the
    ///     token endpoint.
    ///   - nonce: The server's most recent `DPoP-Nonce`, or `nil`.
    ///   - date: The time at which the proof is made. The default is the current time.
    /// - Returns: The proof, a compact JWS.
    /// - Throws: ``TokenError`` with the code `targetMismatch` if the URL isn't an absolute http or
    ///   https URL, `methodMismatch` if the method is empty, `signingFailed` if the proof can't be
    ///   signed. Errors of a custom signing service are passed on unchanged.
    public func proof(
        method: String,
        url: String,
        accessToken: String? = nil,
        nonce: String? = nil,
        date: Date = Date()
    ) throws -> String {
        guard !method.isEmpty else { throw TokenError(.methodMismatch, "the method of the request is empty") }
        guard let target = HTTPTarget.withoutQuery(url) else {
            throw TokenError(.targetMismatch, "the URL of the request isn't an absolute http or https URL")
        }
        var claims: [(String, JSONValue)] = []
        if let accessToken { claims.append(("ath", .string(try DPoPAccessToken.hash(of: accessToken)))) }
        claims += [
            ("htm", .string(method)),
            ("htu", .string(target)),
            ("iat", JSONValue(date: date.wholeSeconds)),
            ("jti", .string(try RegisteredClaims.randomJWTID())),
        ]
        if let nonce { claims.append(("nonce", .string(nonce))) }
        let payload = JSONObject(claims).serializedBytes()
        return try JWTGenerator.token(header: header, payload: payload, signedBy: signingService)
    }
}

/// A signer of proofs that doesn't write the key's ID.
private struct ProofSigner: LocalSigningService {
    let key: SigningKey

    var algorithm: JWSAlgorithm { key.algorithm }

    func sign(data: Data) throws -> Data { try key.sign(data: data) }
}
