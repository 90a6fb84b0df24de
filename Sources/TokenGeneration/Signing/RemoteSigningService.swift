public import Foundation
internal import OpenSSLCrypto

/// A signer behind a network or a bus: a key management service, a hardware module, an agent.
///
/// ```swift
/// struct CloudKey: RemoteSigningService {
///     let algorithm = JWSAlgorithm.es256
///     let keyID: String? = "projects/1/keys/2"
///     let messageForm = RemoteMessageForm.digest
///     let verificationKey: VerificationKey?
///
///     func sign(_ message: Data) async throws -> RemoteSignature {
///         .der(try await client.asymmetricSign(digest: message))
///     }
/// }
///
/// let token = try await CloudKey(…).sign(claims)
/// ```
///
/// The package converts the signature to the form that JWS uses and checks its length. If
/// ``verificationKey`` isn't `nil`, the package also verifies the signature, so that a damaged
/// signature or one by another key fails at the signer, not at the receiver.
public protocol RemoteSigningService: Sendable {
    /// The algorithm that the service signs with.
    var algorithm: JWSAlgorithm { get }
    /// The ID that verifiers know the key by, or `nil`, the default.
    var keyID: String? { get }
    /// The form in which the service takes the message: the signing input, the default, or its
    /// digest.
    var messageForm: RemoteMessageForm { get }
    /// The public key that verifies each signature before it is used, or `nil`, the default, to
    /// skip that check.
    var verificationKey: VerificationKey? { get }

    /// Signs a message.
    ///
    /// - Parameter message: The JWS signing input, or its digest with the algorithm's hash
    ///   function, depending on ``messageForm``.
    /// - Returns: The signature, in the service's form.
    /// - Throws: Any error that prevents signing. It reaches the caller unchanged.
    func sign(_ message: Data) async throws -> RemoteSignature
}

extension RemoteSigningService {
    /// The default key ID, `nil`.
    public var keyID: String? { nil }
    /// The default message form, the signing input.
    public var messageForm: RemoteMessageForm { .signingInput }
    /// The default public key, `nil`: signatures aren't verified.
    public var verificationKey: VerificationKey? { nil }

    /// Signs claims as a JWT.
    ///
    /// ```swift
    /// let token = try await cloudKey.sign(claims)
    /// ```
    ///
    /// - Parameters:
    ///   - claims: The claims, which must encode as a JSON object. Dates are encoded as seconds
    ///     since 1970.
    ///   - header: Members of the header in addition to `alg` and `kid`. The default `typ` is
    ///     `JWT`.
    /// - Returns: The token.
    /// - Throws: ``TokenError`` as ``JWTGenerator/token()`` does, with `signingFailed` also if the
    ///   service's public key doesn't verify the signature. The service's own errors are passed on
    ///   unchanged.
    public func sign(_ claims: some Encodable, header: JSONObject = [:]) async throws -> String {
        let content = try JWTGenerator.content(header, claims).get()
        let header = try JWTGenerator.header(
            content.header ?? JWTGenerator.plainHeader,
            signedBy: .remote(self)
        )
        var input = EncodedHeader.of(header)
        Base64URL.encode(content.payload.bytes.span, into: &input)
        return CompactToken.text(input, signature: try await checkedSignature(for: input))
    }
}

/// The form in which a remote signing service takes a message.
public struct RemoteMessageForm: Hashable, Sendable {
    let isDigest: Bool

    /// The JWS signing input, which the service hashes itself.
    public static var signingInput: Self { Self(isDigest: false) }

    /// The digest of the signing input, for services that can't take large messages.
    ///
    /// HMAC and EdDSA don't sign a digest and can't be used with this form.
    public static var digest: Self { Self(isDigest: true) }
}

/// A signature in the form that a remote service returns.
public struct RemoteSignature: Sendable {
    enum Wrapped: Sendable {
        case raw([UInt8])
        case der([UInt8])
    }

    let wrapped: Wrapped

    /// A signature in the form that JWS uses: `r ‖ s` for ECDSA, each padded to the curve's size,
    /// and the plain bytes for all other algorithms.
    ///
    /// - Parameter signature: The signature's bytes.
    /// - Returns: The signature.
    public static func raw(_ signature: some Sequence<UInt8>) -> Self { Self(wrapped: .raw(Array(signature))) }

    /// An ECDSA signature as a DER structure of two integers, the form that many services return.
    ///
    /// - Parameter signature: The signature's bytes.
    /// - Returns: The signature.
    public static func der(_ signature: some Sequence<UInt8>) -> Self { Self(wrapped: .der(Array(signature))) }
}

extension RemoteSigningService {
    /// Converts the service's signature to the form that JWS uses, and checks it as far as
    /// possible.
    package func checkedSignature(for input: [UInt8]) async throws -> [UInt8] {
        let algorithm = algorithm
        let verificationKey = verificationKey
        guard verificationKey?.accepts(algorithm: algorithm.rawValue) ?? true else {
            throw TokenError(
                .algorithmMismatch,
                "the service signs with \(algorithm), but its public key is for another algorithm"
            )
        }
        let message = try messageForm.isDigest ? Self.digest(of: input, for: algorithm) : input
        let signature = try Self.jwsForm(of: try await sign(Data(message)), for: algorithm)
        guard let verificationKey else { return signature }
        guard verificationKey.isValidSignature(signature.span.octets, for: input.span.octets) else {
            throw TokenError(
                .signingFailed,
                "the signature of the remote service doesn't verify with its public key; check the key and the form of "
                    + "the message"
            )
        }
        return signature
    }

    private static func digest(of input: [UInt8], for algorithm: JWSAlgorithm) throws(TokenError) -> [UInt8] {
        guard let hash = try algorithm.supportedDetails().scheme.digest else {
            throw TokenError(
                .unsupportedAlgorithm,
                "\(algorithm) doesn't sign a digest; the service must accept the signing input"
            )
        }
        do throws(CryptoError) {
            return try hash.hash(input.span.octets)
        } catch {
            throw TokenError(.signingFailed, "can't compute the digest: \(error.message)", cause: error)
        }
    }

    private static func jwsForm(
        of signature: RemoteSignature,
        for algorithm: JWSAlgorithm
    ) throws(TokenError) -> [UInt8] {
        let details = algorithm.details
        let octets: [UInt8]
        switch signature.wrapped {
        case .raw(let raw):
            octets = raw
        case .der(let der):
            guard case .ecdsa(let curve, _)? = details?.scheme else {
                throw TokenError(
                    .signingFailed,
                    "the remote service returned a DER structure, but only ECDSA signatures can have that form"
                )
            }
            do throws(CryptoError) {
                octets = try ECDSASignature.raw(fromDER: der.span.octets, coordinateSize: curve.coordinateSize)
            } catch {
                throw TokenError(.signingFailed, "malformed remote signature: \(error.message)", cause: error)
            }
        }
        guard !octets.isEmpty else {
            throw TokenError(.signingFailed, "the remote service returned an empty signature")
        }
        guard octets.count == details?.signatureSize ?? octets.count else {
            throw TokenError(
                .signingFailed,
                "the remote service returned \(octets.count) bytes; an \(algorithm) signature has another size. Is it DER?"
            )
        }
        return octets
    }
}

extension AlgorithmDescription.Scheme {
    fileprivate var digest: HashFunction? {
        switch self {
        case .ecdsa(_, let hash), .rsa(_, let hash): hash
        case .hmac, .edwards, .mldsa: nil
        }
    }
}
