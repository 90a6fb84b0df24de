public import FoundationEssentials
internal import OpenSSLCrypto

/// A DPoP proof that a ``DPoPVerifier`` has verified.
///
/// Only a verifier creates one.
public struct DPoPProof: Sendable {
    /// The key that signed the proof.
    public let key: VerificationKey
    package let method: String
    package let url: String
    package let issuedAt: Date
    package let jwtID: String
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

    /// The thumbprint of the key, for `cnf.jkt` of an access token that is bound to the key.
    public var thumbprint: String { key.thumbprint }

    /// A hash of the key and `jti`, so that long IDs can't make the replay cache grow.
    func replayIdentifier() throws(TokenError) -> String {
        try DPoPAccessToken.hash(of: "\(thumbprint) \(jwtID)")
    }
}

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

    private let header: [UInt8]
    private let signingService: any LocalSigningService

    /// Creates a generator that signs with a key in this process.
    ///
    /// - Parameter key: A key for an asymmetric algorithm.
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm` if the key is a shared secret.
    public init(key: SigningKey) throws(TokenError) {
        try self.init(key, keyID: nil, key.verificationKey)
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
    public init(signingService: any LocalSigningService, publicKey: VerificationKey) throws(TokenError) {
        try self.init(signingService, keyID: signingService.keyID, publicKey)
    }

    private init(
        _ signingService: any LocalSigningService,
        keyID: String?,
        _ publicKey: VerificationKey
    ) throws(TokenError) {
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
                signingService.algorithm,
                keyID
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
        var input = header
        Base64URL.encode(JSONObject(claims).serializedBytes().span, into: &input)
        let signature = try signingService.checkedSignature(for: input, with: signingService.localKey)
        return CompactToken.text(input, signature: signature)
    }
}

/// The access token of a request, and the key that it is bound to
/// ([RFC 9449 §6](https://www.rfc-editor.org/rfc/rfc9449#section-6)).
public struct DPoPAccessToken: Sendable {
    let thumbprint: String
    let hash: String

    /// Creates a value from an access token that a ``JWTVerifier`` has verified.
    ///
    /// - Parameters:
    ///   - text: The token from the request's `Authorization` header, without the `DPoP` scheme.
    ///   - verified: The same token, verified. Its `cnf.jkt` names the key that it is bound to.
    /// - Throws: ``TokenError`` with the code `confirmationMismatch` if the token isn't bound to a
    ///   key, `malformedClaim` if `cnf` is malformed, `signingFailed` if the hash can't be
    ///   computed.
    public init(_ text: String, verified: VerifiedToken) throws(TokenError) {
        guard let confirmation = verified.claims["cnf"] else {
            throw TokenError(.confirmationMismatch, "the access token isn't bound to a key: it has no “cnf”")
        }
        guard let members = confirmation.object else {
            throw TokenError(.malformedClaim, "the claim “cnf” must be an object, not \(confirmation.kind)")
        }
        guard let thumbprint = try members.stringClaim("jkt") else {
            throw TokenError(
                .confirmationMismatch,
                "the access token isn't bound to a DPoP key: its “cnf” has no “jkt”"
            )
        }
        try self.init(text, thumbprint: thumbprint)
    }

    /// Creates a value from an access token whose key is known from another source, such as
    /// introspection.
    ///
    /// - Parameters:
    ///   - text: The token from the request's `Authorization` header, without the `DPoP` scheme.
    ///   - thumbprint: The thumbprint of the key that the token is bound to, `cnf.jkt`.
    /// - Throws: ``TokenError`` with the code `signingFailed` if the hash can't be computed.
    public init(_ text: String, thumbprint: String) throws(TokenError) {
        self.thumbprint = thumbprint
        hash = try Self.hash(of: text)
    }

    static func hash(of text: String) throws(TokenError) -> String {
        try NamedHash.sha256.digest(of: Array(text.utf8), failure: .signingFailed)
    }
}
