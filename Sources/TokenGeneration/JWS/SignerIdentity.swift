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
