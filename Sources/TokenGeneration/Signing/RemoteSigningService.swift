public import Foundation

/// Something that signs tokens over a network or a bus: a key management service, a hardware module, an agent.
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
/// What comes back is brought into the form that JWS wants, its length is checked, and if ``verificationKey`` is given, it is
/// verified: a signature of another key, or a damaged one, is an error here and not at the receiver's.
public protocol RemoteSigningService: Sendable {
    /// The algorithm the service signs with.
    var algorithm: JWSAlgorithm { get }
    /// The ID under which verifiers know the key, or `nil`. That is the default.
    var keyID: String? { get }
    /// What the service wants to get: the signing input, which is the default, or its digest.
    var messageForm: RemoteMessageForm { get }
    /// The public key, if it is known, to verify each signature before it goes out. `nil` is the default.
    var verificationKey: VerificationKey? { get }

    /// Signs.
    ///
    /// - Parameter message: The JWS signing input, or its digest with the algorithm's hash function, as ``messageForm`` says.
    /// - Returns: The signature, in the form in which the service gives it.
    /// - Throws: Whatever keeps the service from signing; it reaches the caller unchanged.
    func sign(_ message: Data) async throws -> RemoteSignature
}

extension RemoteSigningService {
    /// No key ID.
    public var keyID: String? { nil }
    /// The signing input.
    public var messageForm: RemoteMessageForm { .signingInput }
    /// Not known: signatures are not verified here.
    public var verificationKey: VerificationKey? { nil }
}

extension RemoteSigningService {
    /// Signs claims as a JWT.
    ///
    /// ```swift
    /// let token = try await cloudKey.sign(claims)
    /// ```
    ///
    /// - Parameters:
    ///   - claims: The claims, which must encode as a JSON object. Dates are encoded as seconds since 1970.
    ///   - header: Members of the header besides `alg` and `kid`. The default `typ` is `JWT`.
    /// - Returns: The token.
    /// - Throws: ``TokenError`` as ``JWTGenerator/token()`` does, `signingFailed` also for a signature that the service's own
    ///   public key doesn't verify; and what the service throws, unchanged.
    public func sign(_ claims: some Encodable, header: JSONObject = [:]) async throws -> String {
        let content = try JWTGenerator.content(header, claims).get()
        let header = try JWTGenerator.header(
            content.header ?? JWTGenerator.plainHeader,
            signedBy: SignerIdentity(self)
        )
        var input = EncodedHeader.of(header)
        Base64URL.encode(content.payload.bytes.span, into: &input)
        return CompactToken.text(input, signature: try await checkedSignature(for: input))
    }
}

/// What a remote signing service gets to sign.
public struct RemoteMessageForm: Hashable, Sendable {
    private enum Wrapped { case signingInput, digest }
    private let wrapped: Wrapped

    private init(_ wrapped: Wrapped) { self.wrapped = wrapped }

    /// The JWS signing input, which the service hashes itself.
    public static var signingInput: Self { Self(.signingInput) }

    /// The digest of the signing input, for services that have to be spared large messages.
    ///
    /// Not possible with HMAC and EdDSA, which don't sign a digest.
    public static var digest: Self { Self(.digest) }

    var isDigest: Bool { wrapped == .digest }
}

/// A signature as a remote service gives it.
public struct RemoteSignature: Sendable {
    enum Wrapped: Sendable {
        case raw([UInt8])
        case der([UInt8])
    }

    let wrapped: Wrapped

    /// As JWS has it: for ECDSA `r ‖ s`, both padded to the curve's size, and for all others the signature's octets.
    ///
    /// - Parameter signature: The octets.
    /// - Returns: The signature.
    public static func raw(_ signature: some Sequence<UInt8>) -> Self { Self(wrapped: .raw(Array(signature))) }

    /// The DER structure of two integers, in which many services give ECDSA signatures.
    ///
    /// - Parameter signature: The octets.
    /// - Returns: The signature.
    public static func der(_ signature: some Sequence<UInt8>) -> Self { Self(wrapped: .der(Array(signature))) }
}
