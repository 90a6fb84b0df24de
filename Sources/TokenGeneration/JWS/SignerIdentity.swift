/// The header parameters that identify a signer: `alg`, and `kid` if the signer has one.
struct SignerIdentity: Sendable {
    let algorithm: JWSAlgorithm
    let keyID: String?

    init(_ service: any SigningService) {
        algorithm = service.algorithm
        keyID = service.keyID
    }

    init(_ service: any RemoteSigningService) {
        algorithm = service.algorithm
        keyID = service.keyID
    }

    /// Writes `alg` into a header.
    ///
    /// - Throws: ``TokenError`` with the code `algorithmMismatch` if the header has a different
    ///   value.
    func writeAlgorithm(into header: inout JSONObject) throws(TokenError) {
        try Self.write("alg", algorithm.rawValue, into: &header)
    }

    /// Writes `kid` into a header, if the signer has a key ID.
    ///
    /// - Throws: ``TokenError`` with the code `algorithmMismatch` if the header has a different
    ///   value.
    func writeKeyID(into header: inout JSONObject) throws(TokenError) {
        if let keyID { try Self.write("kid", keyID, into: &header) }
    }

    private static func write(_ name: String, _ value: String, into header: inout JSONObject) throws(TokenError) {
        guard let stated = header[name] else {
            header[name] = .string(value)
            return
        }
        guard stated == .string(value) else {
            throw TokenError(
                .algorithmMismatch,
                "“\(name)” of the header contradicts the signing service, which has \(TokenError.shown(value)); omit it"
            )
        }
    }
}
