public import Foundation

/// Something that signs tokens: a key of this process, or a device, agent or test double of yours.
///
/// ```swift
/// struct HardwareSigner: SigningService {
///     let algorithm = JWSAlgorithm.es256
///     func sign(data: Data) throws -> Data { try device.rawSignature(over: data) }
/// }
/// ```
///
/// ``JWTGenerator`` writes ``algorithm`` and ``keyID`` into the header and asks for one signature per token.
public protocol SigningService: Sendable {
    /// The algorithm the service signs with.
    var algorithm: JWSAlgorithm { get }
    /// The ID under which verifiers know the key, or `nil`. That is the default.
    var keyID: String? { get }

    /// Signs.
    ///
    /// For ECDSA the result is `r ‖ s`, both padded to the curve's size
    /// ([RFC 7518 §3.4](https://www.rfc-editor.org/rfc/rfc7518#section-3.4)), not the DER structure that many devices return.
    ///
    /// - Parameter data: The JWS signing input ([RFC 7515 §5.1](https://www.rfc-editor.org/rfc/rfc7515#section-5.1)).
    /// - Returns: The JWS signature.
    /// - Throws: Whatever keeps the service from signing; it reaches the caller of ``JWTGenerator/token`` unchanged.
    func sign(data: Data) throws -> Data
}

extension SigningService {
    /// No key ID.
    public var keyID: String? { nil }
}
