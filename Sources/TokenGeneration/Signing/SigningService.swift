public import Foundation
internal import OpenSSLCrypto

/// A signer of tokens: a ``SigningKey``, a device, an agent or a test double.
///
/// ```swift
/// struct HardwareSigner: SigningService {
///     let algorithm = JWSAlgorithm.es256
///     func sign(data: Data) throws -> Data { try device.rawSignature(over: data) }
/// }
/// ```
///
/// ``JWTGenerator`` writes ``algorithm`` and ``keyID`` into the header and requests one signature
/// per token.
public protocol SigningService: Sendable {
    /// The algorithm that the service signs with.
    var algorithm: JWSAlgorithm { get }
    /// The ID that verifiers know the key by, or `nil`, the default.
    var keyID: String? { get }

    /// Signs data.
    ///
    /// For ECDSA, the result is `r ‖ s`, each padded to the curve's size
    /// ([RFC 7518 §3.4](https://www.rfc-editor.org/rfc/rfc7518#section-3.4)), not the DER structure
    /// that many devices return.
    ///
    /// - Parameter data: The JWS signing input
    ///   ([RFC 7515 §5.1](https://www.rfc-editor.org/rfc/rfc7515#section-5.1)).
    /// - Returns: The JWS signature.
    /// - Throws: Any error that prevents signing. It reaches the caller of ``JWTGenerator/token()``
    ///   unchanged.
    func sign(data: Data) throws -> Data
}

extension SigningService {
    /// The default key ID, `nil`.
    public var keyID: String? { nil }

    /// Signs claims as a JWT.
    ///
    /// ```swift
    /// let token = try key.sign(claims)
    /// ```
    ///
    /// - Parameters:
    ///   - claims: The claims, which must encode as a JSON object. Dates are encoded as seconds
    ///     since 1970.
    ///   - header: Members of the header in addition to `alg` and `kid`. The default `typ` is
    ///     `JWT`.
    /// - Returns: The token.
    /// - Throws: ``TokenError`` as ``JWTGenerator/token()`` does, and the service's own errors.
    public func sign(_ claims: some Encodable, header: JSONObject = [:]) throws -> String {
        try JWTGenerator(header: header, claims: claims, signingService: self).token()
    }
}

extension SigningKey: SigningService, LocalSigningService {
    package var key: SigningKey { self }

    /// Signs data with the key's algorithm.
    ///
    /// - Throws: ``TokenError`` with the code `signingFailed`.
    public func sign(data: Data) throws -> Data {
        Data(try signature(for: data.bytes))
    }
}

/// A service whose key is in this process: its signatures need no check.
package protocol LocalSigningService: SigningService {
    var key: SigningKey { get }
}

extension SigningService {
    var localKey: SigningKey? { (self as? any LocalSigningService)?.key }

    /// Rejects a result that can't be a signature of the service's algorithm.
    package func checkedSignature(for input: [UInt8]) throws -> [UInt8] {
        try checkedSignature(for: input, with: localKey)
    }

    func checkedSignature(for input: [UInt8], with localKey: SigningKey?) throws -> [UInt8] {
        if let localKey { return try localKey.signature(for: input.span.octets) }
        let signature = Array(try sign(data: Data(input)))
        try check(signature, for: input)
        return signature
    }

    private func check(_ signature: [UInt8], for input: [UInt8]) throws(TokenError) {
        let algorithm = algorithm
        guard !signature.isEmpty else {
            throw TokenError(.signingFailed, "the signing service returned an empty signature")
        }
        // Accepts the output of a test double that echoes its input. No verifier accepts it as a
        // signature.
        guard let size = algorithm.details?.signatureSize, signature.count != size, signature != input else { return }
        let isDER = signature.first == 0x30 && signature.count <= size + 9
        throw TokenError(
            .signingFailed,
            isDER
                ? "the signing service returned a DER structure; \(algorithm) needs r ‖ s, each padded to \(size / 2) bytes"
                : "the signing service returned \(signature.count) bytes; an \(algorithm) signature has \(size)"
        )
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
public struct ES256SigningService: SigningService, LocalSigningService {
    package let key: SigningKey

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

    /// Signs data with ES256.
    ///
    /// - Throws: ``TokenError`` with the code `signingFailed`.
    public func sign(data: Data) throws -> Data {
        try key.sign(data: data)
    }
}

package enum AnySigningService: Sendable {
    case local(any SigningService)
    case remote(any RemoteSigningService)

    package var algorithm: JWSAlgorithm {
        switch self {
        case .local(let service): service.algorithm
        case .remote(let service): service.algorithm
        }
    }

    package var keyID: String? {
        switch self {
        case .local(let service): service.keyID
        case .remote(let service): service.keyID
        }
    }

    package var verificationKey: VerificationKey? {
        switch self {
        case .local(let service): service.localKey?.verificationKey
        case .remote(let service): service.verificationKey
        }
    }

    /// Checks the signature as far as possible.
    package func checkedSignature(for input: [UInt8]) async throws -> [UInt8] {
        switch self {
        case .local(let service): try service.checkedSignature(for: input)
        case .remote(let service): try await service.checkedSignature(for: input)
        }
    }

    func writeAlgorithm(into header: inout JSONObject) throws(TokenError) {
        try header.state("alg", algorithm.rawValue, by: "the signing service")
    }

    func writeKeyID(into header: inout JSONObject) throws(TokenError) {
        if let keyID { try header.state("kid", keyID, by: "the signing service") }
    }
}

extension JSONObject {
    mutating func state(_ name: String, _ value: String, by owner: String) throws(TokenError) {
        guard self[name] == nil || self[name] == .string(value) else {
            throw TokenError(
                .algorithmMismatch,
                "“\(name)” of the header contradicts \(owner), which has \(TokenError.shown(value)); omit it"
            )
        }
        self[name] = .string(value)
    }
}
