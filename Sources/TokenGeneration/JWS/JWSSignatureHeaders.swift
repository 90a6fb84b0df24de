/// The headers that go with one signature of a JWS that is being made.
struct JWSSignatureHeaders: Sendable {
    /// The protected header, complete.
    let protectedHeader: JSONObject
    /// The unprotected header; none if it is empty.
    let unprotectedHeader: JSONObject

    /// Completes the headers that the caller gave.
    ///
    /// - Throws: ``TokenError`` with the code `algorithmMismatch`, `unprotectedParameter` or `unencodableContent`.
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
            // It stands there already: that it is the right one is all that there is to see to.
            var other = unprotectedHeader
            try signer.writeKeyID(into: &other)
        }
        guard header["b64"] == nil else {
            throw TokenError(.unencodableContent, "the header has “b64”: state the payload's encoding instead")
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
            throw TokenError(.unprotectedParameter, "“\(name)” must not stand in the unprotected header")
        }
        for member in unprotectedHeader where header[member.name] != nil {
            let name = TokenError.shown(member.name)
            throw TokenError(.unencodableContent, "\(name) stands in the protected and in the unprotected header")
        }
        protectedHeader = header
        self.unprotectedHeader = unprotectedHeader
    }
}
