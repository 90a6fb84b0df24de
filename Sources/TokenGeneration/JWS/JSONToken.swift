internal import OpenSSLCrypto

/// The parts of a JWS in a JSON serialization ([RFC 7515 §7.2](https://www.rfc-editor.org/rfc/rfc7515#section-7.2)), general
/// or flattened: well formed, and not believed.
///
/// What breaks the form of one signature makes the whole text malformed, for other readers could see another text in it.
struct JSONToken {
    /// The payload as it stands in the JSON, or `nil` if it is detached.
    let payload: String?
    /// How the payload stands there, on which all signatures agree.
    let payloadEncoding: JWSPayloadEncoding
    /// At least one.
    let signatures: [JSONTokenSignature]

    /// Reads the parts.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    init(_ text: [UInt8], limits: JWSLimits) throws(TokenError) {
        let members = try Self.object(in: text, limits.document)
        // RFC 7516 §9 tells JWS and JWE apart by these: a text that has both would be read differently by different readers.
        for name in ["ciphertext", "recipients"] where members[name] != nil {
            throw TokenError(.malformedToken, "the JSON has “\(name)”, so it is a JWE, which is another thing")
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
            throw TokenError(.malformedToken, "“signatures” is empty: nobody has signed this")
        }
        guard signatures.allSatisfy({ $0.payloadEncoding == encoding }) else {
            throw TokenError(.malformedToken, "the signatures do not agree on “b64”, on how the payload is to be read")
        }
        self.signatures = signatures
        payloadEncoding = encoding
    }

    /// The payload's octets, or `nil` if it is detached.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken`.
    func payloadOctets() throws(TokenError) -> [UInt8]? {
        guard let payload else { return nil }
        switch payloadEncoding {
        case .base64url: return try JSONTokenSignature.decode(payload, "payload")
        case .unencoded:
            guard UnencodedText.isReadable(payload) else {
                throw TokenError(.malformedToken, "an unencoded payload has code points that never are characters")
            }
            return Array(payload.utf8)
        }
    }

    /// Reads one JSON object.
    static func object(in text: [UInt8], _ limits: JSONLimits, _ part: String = "text") throws(TokenError) -> JSONObject
    {
        do throws(TokenError) {
            return try JSONObject(parsing: text, limits: limits)
        } catch {
            let code: TokenError.Code = error.code == .tooLarge ? .tooLarge : .malformedToken
            throw TokenError(code, "the \(part) is not what it must be, a JSON object: \(error.message)", cause: error)
        }
    }

    /// The objects that hold the signatures: the elements of `signatures`, or the whole in the flattened form.
    private static func entries(in members: JSONObject, _ limits: JWSLimits) throws(TokenError) -> [JSONObject] {
        guard let signatures = members["signatures"] else { return [members] }
        for name in ["protected", "header", "signature"] where members[name] != nil {
            throw TokenError(
                .malformedToken,
                "the JSON has “signatures” and “\(name)”, so it is general and flattened at once"
            )
        }
        guard let elements = signatures.array else {
            throw TokenError(.malformedToken, "“signatures” must be an array, not \(signatures.kind)")
        }
        guard elements.count <= limits.signatureCount else {
            throw TokenError(.tooLarge, "there are \(elements.count) signatures, the limit is \(limits.signatureCount)")
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
    /// A member that must be a string if it is there.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken`.
    func string(_ name: String) throws(TokenError) -> String? {
        guard let value = self[name] else { return nil }
        guard let string = value.string else {
            throw TokenError(.malformedToken, "“\(name)” must be a string, not \(value.kind)")
        }
        return string
    }
}
