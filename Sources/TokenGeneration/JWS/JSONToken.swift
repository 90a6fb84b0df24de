internal import OpenSSLCrypto

/// The parts of a JWS in a JSON serialization
/// ([RFC 7515 §7.2](https://www.rfc-editor.org/rfc/rfc7515#section-7.2)), general or flattened,
/// well formed but not verified.
///
/// One malformed signature makes the whole text malformed, because other parsers could read the
/// text differently.
struct JSONToken {
    /// The payload as it is in the JSON, or `nil` if it is detached.
    let payload: String?
    /// The encoding of the payload, which is the same for all signatures.
    let payloadEncoding: JWSPayloadEncoding
    /// The signatures, at least one.
    let signatures: [JSONTokenSignature]

    /// Parses a JSON serialization.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    init(_ text: [UInt8], limits: JWSLimits) throws(TokenError) {
        let members = try Self.object(in: text, limits.document)
        // RFC 7516 §9 uses these members to tell JWE from JWS. Parsers would disagree on a text
        // with both.
        for name in ["ciphertext", "recipients"] where members[name] != nil {
            throw TokenError(.malformedToken, "the JSON has “\(name)”, so it's a JWE; use JWEDecrypter")
        }
        payload = try members.string("payload")
        let entries = try Self.entries(in: members, limits)
        var signatures: [JSONTokenSignature] = []
        signatures.reserveCapacity(entries.count)
        for (index, entry) in entries.enumerated() {
            do throws(TokenError) {
                signatures.append(try JSONTokenSignature(entry, limits))
            } catch {
                guard entries.count > 1 else { throw error }
                throw TokenError(error.code, "in signature \(index): \(error.message)", cause: error)
            }
        }
        guard let encoding = signatures.first?.payloadEncoding else {
            throw TokenError(.malformedToken, "“signatures” is empty")
        }
        guard signatures.allSatisfy({ $0.payloadEncoding == encoding }) else {
            throw TokenError(.malformedToken, "the signatures disagree on “b64”, the encoding of the payload")
        }
        self.signatures = signatures
        payloadEncoding = encoding
    }

    /// Returns the payload's bytes, or `nil` if the payload is detached.
    func payloadOctets() throws(TokenError) -> [UInt8]? {
        guard let payload else { return nil }
        switch payloadEncoding {
        case .base64url: return try Base64URL.decode(payload.utf8.span, "payload")
        case .unencoded:
            // A code point that is unassigned in this Unicode version may be assigned in the
            // sender's newer version. Only noncharacters are never assigned (RFC 7797 §5.3).
            guard payload.unicodeScalars.allSatisfy({ $0.isASCII || !$0.properties.isNoncharacterCodePoint }) else {
                throw TokenError(.malformedToken, "an unencoded payload contains noncharacters")
            }
            return Array(payload.utf8)
        }
    }

    /// Parses a JSON object.
    static func object(in text: [UInt8], _ limits: JSONLimits, _ part: String = "text") throws(TokenError) -> JSONObject
    {
        do throws(TokenError) {
            return try JSONObject(parsing: text, limits: limits)
        } catch {
            let code: TokenError.Code = error.code == .tooLarge ? .tooLarge : .malformedToken
            throw TokenError(code, "the \(part) isn't a valid JSON object: \(error.message)", cause: error)
        }
    }

    /// Returns the objects that hold the signatures: the elements of `signatures`, or the whole
    /// object in the flattened form.
    private static func entries(in members: JSONObject, _ limits: JWSLimits) throws(TokenError) -> [JSONObject] {
        guard let signatures = members["signatures"] else { return [members] }
        for name in ["protected", "header", "signature"] where members[name] != nil {
            throw TokenError(
                .malformedToken,
                "the JSON has both “signatures” and “\(name)”; use either the general or the flattened form"
            )
        }
        guard let elements = signatures.array else {
            throw TokenError(.malformedToken, "“signatures” must be an array, not \(signatures.kind)")
        }
        guard elements.count <= limits.signatureCount else {
            throw TokenError(.tooLarge, "\(elements.count) signatures exceed the limit of \(limits.signatureCount)")
        }
        var entries: [JSONObject] = []
        for (index, element) in elements.enumerated() {
            guard let object = element.object else {
                throw TokenError(.malformedToken, "signature \(index) must be an object, not \(element.kind)")
            }
            entries.append(object)
        }
        return entries
    }
}

extension JSONObject {
    /// Returns an optional member that must be an object.
    func header(_ name: String) throws(TokenError) -> JSONObject {
        guard let value = self[name] else { return [:] }
        guard let header = value.object else {
            throw TokenError(.malformedToken, "“\(name)” must be an object, not \(value.kind)")
        }
        return header
    }

    /// Returns an optional member that must be a string.
    func string(_ name: String) throws(TokenError) -> String? {
        guard let value = self[name] else { return nil }
        guard let string = value.string else {
            throw TokenError(.malformedToken, "“\(name)” must be a string, not \(value.kind)")
        }
        return string
    }
}
