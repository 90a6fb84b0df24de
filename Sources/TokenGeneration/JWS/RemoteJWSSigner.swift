/// A remote or local signer of a JWS, and the headers of its signature.
///
/// Use it with ``JWSGenerator/makeGeneralJSON(payload:payloadEncoding:placement:signers:)``.
public struct RemoteJWSSigner: Sendable {
    let header: JSONObject
    let unprotectedHeader: JSONObject
    private let service: Service

    private enum Service: Sendable {
        case remote(any RemoteSigningService)
        case local(any SigningService)
    }

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

extension RemoteJWSSigner {
    /// The values of `alg` and `kid` for the headers.
    var identity: SignerIdentity {
        switch service {
        case .remote(let service): SignerIdentity(service)
        case .local(let service): SignerIdentity(service)
        }
    }

    /// Signs an input and checks the signature as far as possible.
    ///
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm`, `algorithmMismatch` or
    ///   `signingFailed`, and the service's own errors.
    func checkedSignature(for input: [UInt8]) async throws -> [UInt8] {
        switch service {
        case .remote(let service): try await service.checkedSignature(for: input)
        case .local(let service): try service.checkedSignature(for: input)
        }
    }
}
