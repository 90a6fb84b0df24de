public import FoundationEssentials
internal import OpenSSLCrypto

/// A signer of tokens: a ``SigningKey``, or a key management service, a hardware module or an
/// agent.
///
/// ```swift
/// struct CloudKey: SigningService {
///     let algorithm = JWSAlgorithm.es256
///     let keyID: String? = "projects/1/keys/2"
///     let publicKey: VerificationKey?
///
///     func sign(data: Data) async throws -> Data {
///         let digest = try algorithm.digest(of: data)
///         let signature = try await client.asymmetricSign(digest: digest)
///         return try algorithm.signature(fromDER: signature)
///     }
/// }
///
/// let token = try await CloudKey(…).token(for: claims)
/// ```
///
/// The package checks the length of each signature. If ``publicKey`` isn't `nil`, the package also
/// verifies the signature, so that a damaged signature or one by another key fails at the signer,
/// not at the receiver. Signatures of a ``SigningKey`` need no check.
///
/// A key in this process also signs synchronously, as a ``LocalSigningService``.
public protocol SigningService: Sendable {
    /// The algorithm that the service signs with.
    var algorithm: JWSAlgorithm { get }
    /// The ID that verifiers know the key by, or `nil`, the default.
    var keyID: String? { get }
    /// The public key that verifies each signature before it is used, or `nil`, the default, to
    /// skip that check.
    var publicKey: VerificationKey? { get }

    /// Signs data.
    ///
    /// For ECDSA, the result is `r ‖ s`, each padded to the curve's size
    /// ([RFC 7518 §3.4](https://www.rfc-editor.org/rfc/rfc7518#section-3.4)).
    /// ``JWSAlgorithm/signature(fromDER:)`` converts the DER structure that many services return,
    /// and ``JWSAlgorithm/digest(of:)`` hashes the data for a service that takes a digest.
    ///
    /// - Parameter data: The JWS signing input
    ///   ([RFC 7515 §5.1](https://www.rfc-editor.org/rfc/rfc7515#section-5.1)).
    /// - Returns: The JWS signature.
    /// - Throws: Any error that prevents signing. It reaches the caller unchanged.
    func sign(data: Data) async throws -> Data
}

/// A signing service that responds immediately: a key or a device of this process.
///
/// ```swift
/// struct HardwareSigner: LocalSigningService {
///     let algorithm = JWSAlgorithm.es256
///     func sign(data: Data) throws -> Data { try device.rawSignature(over: data) }
/// }
/// ```
///
/// ``JWTGenerator`` writes ``SigningService/algorithm`` and ``SigningService/keyID`` into the
/// header and requests one signature per token.
public protocol LocalSigningService: SigningService {
    /// Signs data, as the asynchronous function of a ``SigningService`` does.
    ///
    /// - Parameter data: The JWS signing input.
    /// - Returns: The JWS signature.
    /// - Throws: Any error that prevents signing. It reaches the caller unchanged.
    func sign(data: Data) throws -> Data
}

extension SigningService {
    /// The default key ID, `nil`.
    public var keyID: String? { nil }
    /// The default public key, `nil`: signatures aren't verified.
    public var publicKey: VerificationKey? { nil }

    /// Signs claims as a JWT, with a key anywhere.
    ///
    /// ```swift
    /// let token = try await cloudKey.token(for: claims)
    /// ```
    ///
    /// - Parameters:
    ///   - claims: The claims, which must encode as a JSON object. Dates are encoded as whole
    ///     seconds since 1970.
    ///   - header: Members of the header in addition to `alg` and `kid`. The default `typ` is
    ///     `JWT`.
    /// - Returns: The token.
    /// - Throws: ``TokenError`` as ``JWTGenerator/token()`` does, and the service's own errors.
    public func token(for claims: some Encodable, header: JSONObject = [:]) async throws -> String {
        let input = try JWTGenerator.Content(header, claims).signingInput(for: self, localKey)
        return CompactToken.text(input, signature: try await checkedSignature(for: input))
    }
}

extension LocalSigningService {
    /// Signs claims as a JWT.
    ///
    /// ```swift
    /// let token = try key.sign(claims)
    /// ```
    ///
    /// - Parameters:
    ///   - claims: The claims, which must encode as a JSON object. Dates are encoded as whole
    ///     seconds since 1970.
    ///   - header: Members of the header in addition to `alg` and `kid`. The default `typ` is
    ///     `JWT`.
    /// - Returns: The token.
    /// - Throws: ``TokenError`` as ``JWTGenerator/token()`` does, and the service's own errors.
    public func sign(_ claims: some Encodable, header: JSONObject = [:]) throws -> String {
        try JWTGenerator(header: header, claims: claims, signingService: self).token()
    }
}

// The advice for what people write first: these values are `Encodable`, too, but aren't claims. The
// compiler prefers the generic functions to unavailable ones, so these are deprecated, and where
// `noasync` counts, an error.
extension SigningService {
    /// Throws, because data isn't claims; use ``sign(data:)`` or ``JWSGenerator``.
    ///
    /// - Parameter data: The data.
    /// - Returns: Nothing; it always throws.
    /// - Throws: ``TokenError`` with the code `unencodableContent`.
    @available(*, deprecated, message: "Data isn't claims. Use sign(data:) or JWSGenerator.")
    public func token(for data: Data) async throws -> String { throw TokenError.isNotClaims }
}

extension LocalSigningService {
    /// Throws, because data isn't claims; use ``SigningService/sign(data:)`` or ``JWSGenerator``.
    ///
    /// - Parameter data: The data.
    /// - Returns: Nothing; it always throws.
    /// - Throws: ``TokenError`` with the code `unencodableContent`.
    @available(*, noasync, message: "Data isn't claims. Use sign(data:) or JWSGenerator.")
    @available(*, deprecated, message: "Data isn't claims. Use sign(data:) or JWSGenerator.")
    public func sign(_ data: Data) throws -> String { throw TokenError.isNotClaims }

    /// Throws, because bytes aren't claims; use ``SigningService/sign(data:)`` or ``JWSGenerator``.
    ///
    /// - Parameter bytes: The bytes.
    /// - Returns: Nothing; it always throws.
    /// - Throws: ``TokenError`` with the code `unencodableContent`.
    @available(*, noasync, message: "Bytes aren't claims. Use sign(data:) or JWSGenerator.")
    @available(*, deprecated, message: "Bytes aren't claims. Use sign(data:) or JWSGenerator.")
    public func sign(_ bytes: [UInt8]) throws -> String { throw TokenError.isNotClaims }

    /// Throws, because a text isn't claims; use ``JWSGenerator`` or a
    /// ``JWTGenerator`` for JSON.
    ///
    /// - Parameter text: The text.
    /// - Returns: Nothing; it always throws.
    /// - Throws: ``TokenError`` with the code `unencodableContent`.
    @available(*, noasync, message: "A text isn't claims. Use JWSGenerator, or JWTGenerator for JSON.")
    @available(*, deprecated, message: "A text isn't claims. Use JWSGenerator, or JWTGenerator for JSON.")
    public func sign(_ text: String) throws -> String { throw TokenError.isNotClaims }
}

extension TokenError {
    fileprivate static var isNotClaims: Self {
        Self(
            .unencodableContent,
            "claims must encode as a JSON object; use sign(data:) or JWSGenerator for other content"
        )
    }
}

extension JWSAlgorithm {
    /// Returns the digest that the algorithm signs, for a ``SigningService`` that can't take large
    /// messages.
    ///
    /// - Parameter data: The JWS signing input.
    /// - Returns: The digest with the algorithm's hash function.
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm` for HMAC, EdDSA and ML-DSA,
    ///   which don't sign a digest.
    public func digest(of data: Data) throws(TokenError) -> Data {
        let hash: HashFunction
        switch try supportedDetails().scheme {
        case .ecdsa(_, let function), .rsa(_, let function): hash = function
        case .hmac, .edwards, .mldsa:
            throw TokenError(
                .unsupportedAlgorithm,
                "\(self) doesn't sign a digest; the service must accept the signing input"
            )
        }
        do throws(CryptoError) {
            return Data(try hash.hash(data.bytes))
        } catch {
            throw TokenError(.signingFailed, "can't compute the digest: \(error.message)", cause: error)
        }
    }

    /// Converts an ECDSA signature from DER, a structure of two integers, to the form that JWS
    /// uses.
    ///
    /// - Parameter der: The signature as many services return it.
    /// - Returns: `r ‖ s`, each padded to the curve's size.
    /// - Throws: ``TokenError`` with the code `signingFailed` if the signature is malformed or the
    ///   algorithm isn't ECDSA.
    public func signature(fromDER der: Data) throws(TokenError) -> Data {
        guard case .ecdsa(let curve, _)? = details?.scheme else {
            throw TokenError(.signingFailed, "only ECDSA signatures can be DER structures; \(self) isn't ECDSA")
        }
        do throws(CryptoError) {
            return Data(try ECDSASignature.raw(fromDER: der.bytes, coordinateSize: curve.coordinateSize))
        } catch {
            throw TokenError(.signingFailed, "malformed signature: \(error.message)", cause: error)
        }
    }
}

// MARK: Checked signatures

extension SigningService {
    /// The key whose signatures need no check.
    var localKey: SigningKey? { (self as? SigningKey) ?? (self as? ES256SigningService)?.key }

    package var knownVerificationKey: VerificationKey? { localKey?.verificationKey ?? publicKey }

    /// Rejects a result that can't be a signature of the service.
    package func checkedSignature(for input: [UInt8]) async throws -> [UInt8] {
        if let localKey { return try localKey.signature(for: input.span.octets) }
        return try checked(Array(try await sign(data: Data(input))), for: input)
    }

    fileprivate func checked(_ signature: [UInt8], for input: [UInt8]) throws(TokenError) -> [UInt8] {
        let algorithm = algorithm
        guard !signature.isEmpty else {
            throw TokenError(.signingFailed, "the signing service returned an empty signature")
        }
        if let size = algorithm.details?.signatureSize, signature.count != size {
            let isDER = signature.first == 0x30 && signature.count <= size + 9
            throw TokenError(
                .signingFailed,
                isDER
                    ? "the signing service returned a DER structure; \(algorithm) needs r ‖ s, each padded to \(size / 2) "
                        + "bytes. Convert it with JWSAlgorithm.signature(fromDER:)"
                    : "the signing service returned \(signature.count) bytes; an \(algorithm) signature has \(size)"
            )
        }
        guard let publicKey else { return signature }
        guard publicKey.accepts(algorithm: algorithm.rawValue) else {
            throw TokenError(
                .algorithmMismatch,
                "the service signs with \(algorithm), but its public key is for another algorithm"
            )
        }
        guard publicKey.isValidSignature(signature.span.octets, for: input.span.octets) else {
            throw TokenError(
                .signingFailed,
                "the signature of the service doesn't verify with its public key; check the key and whether the service "
                    + "takes a digest"
            )
        }
        return signature
    }
}

extension LocalSigningService {
    /// The key is `localKey`, which a caller has for the header already.
    func checkedSignature(for input: [UInt8], with key: SigningKey?) throws -> [UInt8] {
        if let key { return try key.signature(for: input.span.octets) }
        return try checked(Array(try sign(data: Data(input))), for: input)
    }
}

// MARK: Keys

extension SigningKey: LocalSigningService {
    /// The key that verifies this key's signatures, or `nil` if that is the same secret.
    public var publicKey: VerificationKey? { algorithm.isSymmetric ? nil : verificationKey }

    /// Signs data with the key's algorithm.
    ///
    /// - Throws: ``TokenError`` with the code `signingFailed`.
    public func sign(data: Data) throws -> Data {
        Data(try signature(for: data.bytes))
    }
}

/// A signing service for ES256: ECDSA with P-256 and SHA-256, on OpenSSL.
///
/// ```swift
/// let service = try ES256SigningService(
///     key: SigningKey(pem: pem),
///     keyID: "2025-06"
/// )
/// let token = try JWTGenerator(payload: ["sub": "alice"], signingService: service)
///     .token()
/// ```
///
/// The service doesn't accept a key for another algorithm. A ``SigningKey`` is a signing service
/// for its own algorithm.
public struct ES256SigningService: LocalSigningService {
    let key: SigningKey

    /// Creates a service that signs with a key.
    ///
    /// - Parameters:
    ///   - key: A key for ES256.
    ///   - keyID: The ID to write into headers. The default is the key's own ID, if it has one.
    /// - Throws: ``TokenError`` with the code `algorithmMismatch` if the key is for another
    ///   algorithm.
    public init(key: SigningKey, keyID: String? = nil) throws(TokenError) {
        guard key.algorithm == .es256 else {
            throw TokenError(.algorithmMismatch, "ES256 can't sign with a key for \(key.algorithm)")
        }
        self.key = key.identified(by: keyID)
    }

    /// Creates a service with a new key.
    ///
    /// - Parameter keyID: The ID to write into headers, or `nil`.
    /// - Returns: The service.
    /// - Throws: ``TokenError`` if the system can't generate a key.
    public static func generate(keyID: String? = nil) throws(TokenError) -> Self {
        try Self(key: .generate(.es256), keyID: keyID)
    }

    /// The algorithm, ES256.
    public var algorithm: JWSAlgorithm { .es256 }
    /// The ID that verifiers know the key by, or `nil`.
    public var keyID: String? { key.keyID }
    /// The key that verifies the signatures, whose JWK has the service's key ID.
    public var verificationKey: VerificationKey { key.verificationKey }
    /// The key that verifies the signatures; never `nil`.
    public var publicKey: VerificationKey? { verificationKey }

    /// Signs data with ES256.
    ///
    /// - Throws: ``TokenError`` with the code `signingFailed`.
    public func sign(data: Data) throws -> Data {
        try key.sign(data: data)
    }
}
