/// A signing service in this process or behind a network.
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

    /// The public key, if the service knows it.
    package var verificationKey: VerificationKey? {
        switch self {
        case .local(let service): service.localKey?.verificationKey
        case .remote(let service): service.verificationKey
        }
    }

    /// Signs an input and checks the signature as far as possible.
    ///
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm`, `algorithmMismatch` or
    ///   `signingFailed`, and the service's own errors.
    package func checkedSignature(for input: [UInt8]) async throws -> [UInt8] {
        switch self {
        case .local(let service): try service.checkedSignature(for: input)
        case .remote(let service): try await service.checkedSignature(for: input)
        }
    }
}

extension AnySigningService {
    /// Writes `alg` into a header.
    ///
    /// - Throws: ``TokenError`` with the code `algorithmMismatch` if the header has a different
    ///   value.
    func writeAlgorithm(into header: inout JSONObject) throws(TokenError) {
        try header.state("alg", algorithm.rawValue, by: "the signing service")
    }

    /// Writes `kid` into a header, if the signer has a key ID.
    ///
    /// - Throws: ``TokenError`` with the code `algorithmMismatch` if the header has a different
    ///   value.
    func writeKeyID(into header: inout JSONObject) throws(TokenError) {
        if let keyID { try header.state("kid", keyID, by: "the signing service") }
    }
}

extension JSONObject {
    /// Sets a parameter of a header to the value that an owner has for it.
    ///
    /// - Throws: ``TokenError`` with the code `algorithmMismatch` if the header has a different
    ///   value.
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
