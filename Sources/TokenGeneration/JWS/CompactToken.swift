internal import OpenSSLCrypto

/// The three parts of a compact JWS ([RFC 7515 §7.1](https://www.rfc-editor.org/rfc/rfc7515#section-7.1)), found but not
/// believed.
struct CompactToken {
    private let bytes: [UInt8]
    private let headerEnd: Int
    private let payloadEnd: Int

    /// Finds the parts, without copying them apart.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    init(_ token: String, maximumSize: Int) throws(TokenError) {
        let size = token.utf8.count
        guard size <= maximumSize else {
            throw TokenError(.tooLarge, "the token has \(size) bytes, the limit is \(maximumSize)")
        }
        let bytes = Array(token.utf8)
        let dot = UInt8(ascii: ".")
        guard
            let headerEnd = bytes.firstIndex(of: dot),
            let payloadEnd = bytes[(headerEnd + 1)...].firstIndex(of: dot),
            !bytes[(payloadEnd + 1)...].contains(dot)
        else {
            let segments = bytes.count { $0 == dot } + 1
            let hint = segments == 5 ? " (5 segments make an encrypted token, a JWE, which is another thing)" : ""
            throw TokenError(.malformedToken, "a signed token has 3 segments, this has \(segments)\(hint)")
        }
        self.bytes = bytes
        self.headerEnd = headerEnd
        self.payloadEnd = payloadEnd
    }

    /// Reads the header.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    func header() throws(TokenError) -> ProtectedHeader {
        let limits = JSONLimits.header
        // Checked before decoding, so that a huge header costs nothing.
        guard headerEnd <= (limits.size * 4 + 2) / 3 else {
            throw TokenError(.tooLarge, "the header has more than \(limits.size) bytes")
        }
        let json = try decode(0..<headerEnd, "header")
        return try ProtectedHeader(parse(json, limits: limits, "header"))
    }

    /// Decodes the payload's octets.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken`.
    func payload() throws(TokenError) -> [UInt8] {
        try decode(headerEnd + 1..<payloadEnd, "payload")
    }

    /// Reads claims out of the payload's octets.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    func claims(in payload: [UInt8], limits: JSONLimits? = nil) throws(TokenError) -> JSONObject {
        try parse(payload, limits: limits ?? JSONLimits(size: payload.count), "payload")
    }

    /// Decodes the signature's octets.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken`.
    func signature() throws(TokenError) -> [UInt8] {
        try decode(payloadEnd + 1..<bytes.count, "signature")
    }

    /// Whether a signature is a key's over the first two segments
    /// ([RFC 7515 §5.2](https://www.rfc-editor.org/rfc/rfc7515#section-5.2)).
    func isSigned(by key: VerificationKey, with signature: [UInt8]) -> Bool {
        signature.withBytes { signature in
            bytes.withBytes { bytes in
                key.isValidSignature(signature, for: bytes.extracting(first: payloadEnd))
            }
        }
    }

    private func decode(_ range: Range<Int>, _ part: String) throws(TokenError) -> [UInt8] {
        do throws(TokenError) {
            return try Base64URL.decode(bytes.span.extracting(range))
        } catch {
            throw TokenError(.malformedToken, "the \(part) is not base64url: \(error.message)")
        }
    }

    private func parse(_ json: [UInt8], limits: JSONLimits, _ part: String) throws(TokenError) -> JSONObject {
        do throws(TokenError) {
            return try JSONObject(parsing: json, limits: limits)
        } catch {
            let code: TokenError.Code = error.code == .tooLarge ? .tooLarge : .malformedToken
            throw TokenError(code, "the \(part) is not what it must be, a JSON object: \(error.message)", cause: error)
        }
    }
}
