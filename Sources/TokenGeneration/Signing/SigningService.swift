public import Foundation

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
