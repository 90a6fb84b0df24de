internal import OpenSSLCrypto

/// One signature of a JSON serialization, with its headers.
struct JSONTokenSignature {
    /// The encoded protected header, which the signature covers, or an empty string.
    let protectedText: String
    /// The members of the protected header, or an empty object.
    let protectedHeader: JSONObject
    /// The members of the unprotected header, or an empty object.
    let unprotectedHeader: JSONObject
    /// The encoding of the payload, as stated in the protected header.
    let payloadEncoding: JWSPayloadEncoding
    /// The signature's bytes.
    let signature: [UInt8]

    /// Reads the members of an entry and ignores unknown ones, as
    /// [RFC 7515 §7.2.1](https://www.rfc-editor.org/rfc/rfc7515#section-7.2.1) requires.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    init(_ entry: JSONObject, _ limits: JWSLimits) throws(TokenError) {
        let protected = try entry.string("protected")
        guard protected != "" else {
            throw TokenError(.malformedToken, "“protected” is empty; omit it if the JWS has no protected header")
        }
        protectedText = protected ?? ""
        protectedHeader = protected == nil ? [:] : try limits.protectedHeader(in: protectedText.utf8.span)
        unprotectedHeader = try entry.header("header")
        payloadEncoding = try JWSPayloadEncoding(protectedHeader)
        guard let text = try entry.string("signature") else {
            throw TokenError(.malformedToken, "the JSON has no “signature”")
        }
        signature = try Base64URL.decode(text.utf8.span, "signature")
        for member in unprotectedHeader where protectedHeader[member.name] != nil {
            throw TokenError(
                .malformedToken,
                "\(TokenError.shown(member.name)) is in both the protected and the unprotected header"
            )
        }
    }

    /// Returns the header to verify with: the protected header, and `kid` from either header.
    ///
    /// - Throws: ``TokenError`` with the code `unprotectedParameter`, `criticalHeaderUnsupported`
    ///   or `malformedToken`.
    func header(understanding extensions: Set<String>) throws(TokenError) -> ProtectedHeader {
        let critical = CriticalExtensions.names(in: protectedHeader)
        for name in ["alg", "crit", "b64"] + critical where unprotectedHeader[name] != nil {
            throw TokenError(
                .unprotectedParameter,
                "\(TokenError.shown(name)) is in the unprotected header, where anyone can change it"
            )
        }
        let header = try ProtectedHeader(protectedHeader)
        try header.checkCriticalMembers(understanding: extensions)
        guard header.keyID == nil else { return header }
        return header.naming(try ProtectedHeader.string("kid", in: unprotectedHeader))
    }
}
