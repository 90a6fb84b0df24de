/// One who signs a JWS that is made with ``JWSGenerator/makeGeneralJSON(payload:payloadEncoding:placement:signers:)``: a
/// remote service or one of this process, and the headers that go with its signature.
public struct RemoteJWSSigner: Sendable {
    /// Members of the protected header besides `alg` and `kid`.
    public let header: JSONObject
    /// Members of the unprotected header, as ``JWSSigner/unprotectedHeader``.
    public let unprotectedHeader: JSONObject

    private let service: Service

    private enum Service: Sendable {
        case remote(any RemoteSigningService)
        case local(any SigningService)
    }

    /// Makes a signer of a remote service.
    ///
    /// - Parameters:
    ///   - remoteSigningService: What signs.
    ///   - header: Members of the protected header besides `alg` and `kid`.
    ///   - unprotectedHeader: Members of the unprotected header. If `kid` is among them, it is not in the protected header.
    public init(
        remoteSigningService: any RemoteSigningService,
        header: JSONObject = [:],
        unprotectedHeader: JSONObject = [:]
    ) {
        service = .remote(remoteSigningService)
        self.header = header
        self.unprotectedHeader = unprotectedHeader
    }

    /// Makes a signer of this process, for a JWS that has remote signers, too.
    ///
    /// - Parameter signer: The signer.
    public init(_ signer: JWSSigner) {
        service = .local(signer.signingService)
        header = signer.header
        unprotectedHeader = signer.unprotectedHeader
    }
}

extension RemoteJWSSigner {
    /// What its headers say of the signer.
    var identity: SignerIdentity {
        switch service {
        case .remote(let service): SignerIdentity(service)
        case .local(let service): SignerIdentity(service)
        }
    }

    /// Signs, and checks the signature as far as that is possible.
    ///
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm`, `algorithmMismatch` or `signingFailed`, and what the
    ///   service throws.
    func checkedSignature(for input: [UInt8]) async throws -> [UInt8] {
        switch service {
        case .remote(let service): try await service.checkedSignature(for: input)
        case .local(let service): try service.checkedSignature(for: input)
        }
    }
}
