/// The headers for one signature of a JWS that is to be signed.
struct JWSSignatureHeaders: Sendable {
    /// The complete protected header.
    let protectedHeader: JSONObject
    /// The unprotected header, which may be empty.
    let unprotectedHeader: JSONObject

    /// Completes the caller's headers.
    ///
    /// - Throws: ``TokenError`` with the code `algorithmMismatch`, `unprotectedParameter` or
    ///   `unencodableContent`.
    init(
        _ header: JSONObject,
        unprotected unprotectedHeader: JSONObject,
        of signer: SignerIdentity,
        _ encoding: JWSPayloadEncoding
    ) throws(TokenError) {
        var header = header
        try signer.writeAlgorithm(into: &header)
        if unprotectedHeader["kid"] == nil {
            try signer.writeKeyID(into: &header)
        } else {
            // The key ID is already in the unprotected header. Only check that it's the right one.
            var other = unprotectedHeader
            try signer.writeKeyID(into: &other)
        }
        guard header["b64"] == nil else {
            throw TokenError(.unencodableContent, "the header has “b64”; set the payload's encoding instead")
        }
        if encoding == .unencoded {
            header["b64"] = false
            header["crit"] = .array((header["crit"]?.array ?? []) + ["b64"])
        }
        do throws(TokenError) {
            _ = try ProtectedHeader(header)
            _ = try CriticalExtensions(of: header)
        } catch {
            throw TokenError(.unencodableContent, error.message, cause: error)
        }
        for name in ["alg", "crit", "b64"] where unprotectedHeader[name] != nil {
            throw TokenError(.unprotectedParameter, "“\(name)” must not be in the unprotected header")
        }
        for member in unprotectedHeader where header[member.name] != nil {
            let name = TokenError.shown(member.name)
            throw TokenError(.unencodableContent, "\(name) is in both the protected and the unprotected header")
        }
        protectedHeader = header
        self.unprotectedHeader = unprotectedHeader
    }
}
