internal import OpenSSLCrypto

/// The parts of a JWS in a JSON serialization
/// ([RFC 7515 §7.2](https://www.rfc-editor.org/rfc/rfc7515#section-7.2)), general or flattened,
/// well formed but not verified.
///
/// One malformed signature makes the whole text malformed, because other parsers could read the
/// text differently.
struct JSONToken {
    let payload: String?
    let payloadEncoding: JWSPayloadEncoding
    let signatures: [JSONTokenSignature]

    init(_ text: [UInt8], limits: JWSLimits) throws(TokenError) {
        let members = try Self.object(in: text, limits.document)
        // RFC 7516 §9 uses these members to tell JWE from JWS. Parsers would disagree on a text
        // with both.
        for name in ["ciphertext", "recipients"] where members[name] != nil {
            throw TokenError(.malformedToken, "the JSON has “\(name)”, so it's a JWE; use JWEDecrypter")
        }
        payload = try members.string("payload")
        let entries = try members.entries(
            "signature",
            insteadOf: ["protected", "header", "signature"],
            limits.signatureCount
        )
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
        let encoding = signatures[0].payloadEncoding
        guard signatures.allSatisfy({ $0.payloadEncoding == encoding }) else {
            throw TokenError(.malformedToken, "the signatures disagree on “b64”, the encoding of the payload")
        }
        self.signatures = signatures
        payloadEncoding = encoding
    }

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

    static func object(in text: [UInt8], _ limits: JSONLimits, _ part: String = "text") throws(TokenError) -> JSONObject
    {
        do throws(TokenError) {
            return try JSONObject(parsing: text, limits: limits)
        } catch {
            let code: TokenError.Code = error.code == .tooLarge ? .tooLarge : .malformedToken
            throw TokenError(code, "the \(part) isn't a valid JSON object: \(error.message)", cause: error)
        }
    }
}

extension JSONObject {
    /// Returns the elements of an array, at least one, or the whole object in the flattened form,
    /// which has other members instead.
    func entries(
        _ entry: String,
        insteadOf others: [String],
        _ limit: Int
    ) throws(TokenError) -> [JSONObject] {
        guard let value = self[entry + "s"] else { return [self] }
        for name in others where self[name] != nil {
            throw TokenError(
                .malformedToken,
                "the JSON has both “\(entry)s” and “\(name)”; use either the general or the flattened form"
            )
        }
        guard let elements = value.array, !elements.isEmpty else {
            let found = value.array == nil ? value.kind : "an empty one"
            throw TokenError(.malformedToken, "“\(entry)s” must be a non-empty array, not \(found)")
        }
        guard elements.count <= limit else {
            throw TokenError(.tooLarge, "\(elements.count) \(entry)s exceed the limit of \(limit)")
        }
        return try elements.enumerated().map { index, element throws(TokenError) in
            guard let object = element.object else {
                throw TokenError(.malformedToken, "\(entry) \(index) must be an object, not \(element.kind)")
            }
            return object
        }
    }

    func header(_ name: String) throws(TokenError) -> JSONObject {
        guard let value = self[name] else { return [:] }
        guard let header = value.object else {
            throw TokenError(.malformedToken, "“\(name)” must be an object, not \(value.kind)")
        }
        return header
    }

    func string(_ name: String, _ place: String = "") throws(TokenError) -> String? {
        guard let value = self[name] else { return nil }
        guard let string = value.string else {
            throw TokenError(.malformedToken, "“\(name)”\(place) must be a string, not \(value.kind)")
        }
        return string
    }
}

struct JSONTokenSignature {
    /// Empty if there isn't one.
    let protectedText: String
    let protectedHeader: JSONObject
    let unprotectedHeader: JSONObject
    let payloadEncoding: JWSPayloadEncoding
    let signature: [UInt8]

    /// Ignores unknown members, as [RFC 7515
    /// §7.2.1](https://www.rfc-editor.org/rfc/rfc7515#section-7.2.1) requires.
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

    func header(understanding extensions: Set<String>) throws(TokenError) -> ProtectedHeader {
        let critical = CriticalExtensions.names(in: protectedHeader)
        for name in ["alg", "crit", "b64"] + critical where unprotectedHeader[name] != nil {
            throw TokenError(
                .unprotectedParameter,
                "\(TokenError.shown(name)) is in the unprotected header, where anyone can change it"
            )
        }
        var header = try ProtectedHeader(protectedHeader)
        try header.checkCriticalMembers(understanding: extensions)
        if header.keyID == nil { header.keyID = try ProtectedHeader.string("kid", in: unprotectedHeader) }
        return header
    }
}
