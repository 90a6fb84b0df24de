/// A remote or local signer of a JWS, and the headers of its signature.
///
/// Use it with ``JWSGenerator/makeGeneralJSON(payload:payloadEncoding:placement:signers:)``.
public struct RemoteJWSSigner: Sendable {
    let header: JSONObject
    let unprotectedHeader: JSONObject
    let service: AnySigningService

    /// Creates a signer that uses a remote service.
    ///
    /// - Parameters:
    ///   - remoteSigningService: The service that signs.
    ///   - header: Members of the protected header in addition to `alg` and `kid`.
    ///   - unprotectedHeader: Members of the unprotected header, as for a ``JWSSigner``.
    public init(
        remoteSigningService: any RemoteSigningService,
        header: JSONObject = [:],
        unprotectedHeader: JSONObject = [:]
    ) {
        service = .remote(remoteSigningService)
        self.header = header
        self.unprotectedHeader = unprotectedHeader
    }

    /// Creates a local signer, for a JWS that also has remote signers.
    ///
    /// - Parameter signer: The signer.
    public init(_ signer: JWSSigner) {
        service = .local(signer.signingService)
        header = signer.header
        unprotectedHeader = signer.unprotectedHeader
    }
}
