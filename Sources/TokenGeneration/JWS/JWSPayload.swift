internal import FoundationEssentials

struct JWSPayload: Sendable {
    private let octets: [UInt8]
    private let encoding: JWSPayloadEncoding

    init(_ payload: Data, _ encoding: JWSPayloadEncoding) {
        octets = Array(payload)
        self.encoding = encoding
    }

    struct UnsignedPart: Sendable {
        let protectedText: [UInt8]
        let unprotectedHeader: JSONObject
        let input: [UInt8]
    }

    func part(of signer: RemoteJWSSigner) throws(TokenError) -> UnsignedPart {
        let protectedHeader = try protectedHeader(signer.header, signer.unprotectedHeader, of: signer.signingService)
        var text: [UInt8] = []
        Base64URL.encode(protectedHeader.serializedBytes().span, into: &text)
        return UnsignedPart(
            protectedText: text,
            unprotectedHeader: signer.unprotectedHeader,
            input: SigningInput.make(text, octets, encoding)
        )
    }

    private func protectedHeader(
        _ header: JSONObject,
        _ unprotectedHeader: JSONObject,
        of service: any SigningService
    ) throws(TokenError) -> JSONObject {
        var header = header
        let isUnprotected = unprotectedHeader["kid"] != nil
        try header.state(service.algorithm, isUnprotected ? nil : service.keyID)
        if isUnprotected, let keyID = service.keyID {
            // Only checks that the unprotected header has the right one.
            var other = unprotectedHeader
            try other.state("kid", keyID, by: "the signing service")
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
        return header
    }

    func checkCompact(_ placement: JWSPayloadPlacement, unprotectedHeader: JSONObject) throws(TokenError) {
        guard unprotectedHeader.isEmpty else {
            throw TokenError(.unencodableContent, "a compact JWS has no unprotected header")
        }
        guard placement == .attached, encoding == .unencoded else { return }
        guard octets.allSatisfy(CompactToken.isAllowedUnencoded) else {
            throw TokenError(
                .unencodableContent,
                "an unencoded payload of a compact JWS must be printable ASCII without a period; detach it"
            )
        }
    }

    func compact(_ placement: JWSPayloadPlacement, _ part: UnsignedPart, _ signature: [UInt8]) -> String {
        let beginning = placement == .attached ? part.input : part.protectedText + [UInt8(ascii: ".")]
        return CompactToken.text(beginning, signature: signature)
    }

    func member(_ placement: JWSPayloadPlacement) throws(TokenError) -> JSONValue? {
        switch (placement, encoding) {
        case (.detached, _): return nil
        case (.attached, .base64url): return .base64URL(octets)
        case (.attached, .unencoded):
            // RFC 7797 §5.3 requires assigned code points.
            guard let text = String(validating: octets, as: UTF8.self),
                text.unicodeScalars.allSatisfy({ $0.isASCII || $0.properties.generalCategory != .unassigned })
            else {
                throw TokenError(
                    .unencodableContent,
                    "an unencoded payload in JSON must be UTF-8 text of assigned code points; detach it"
                )
            }
            return .string(text)
        }
    }

    static func flattenedJSON(_ payload: JSONValue?, _ part: UnsignedPart, _ signature: [UInt8]) -> JSONObject {
        var object: JSONObject = ["protected": .string(String(decoding: part.protectedText, as: UTF8.self))]
        if !part.unprotectedHeader.isEmpty { object["header"] = .object(part.unprotectedHeader) }
        object["signature"] = .base64URL(signature)
        object["payload"] = payload
        return object
    }

    static func generalJSON(_ payload: JSONValue?, _ signatures: [(UnsignedPart, [UInt8])]) -> JSONObject {
        var object: JSONObject = [:]
        object["payload"] = payload
        object["signatures"] = .array(signatures.map { .object(flattenedJSON(nil, $0, $1)) })
        return object
    }
}

/// The encoding of the payload in a JWS and in its signing input.
public enum JWSPayloadEncoding: Sendable, Hashable {
    /// The payload is encoded in base64url, as usual
    /// ([RFC 7515 §3](https://www.rfc-editor.org/rfc/rfc7515#section-3)).
    case base64url
    /// The payload isn't encoded, and `b64` is `false` in the header
    /// ([RFC 7797](https://www.rfc-editor.org/rfc/rfc7797)).
    ///
    /// In a compact JWS, the payload must be detached or be printable ASCII without a period. In a
    /// JSON serialization, it must be detached or be UTF-8 text. JWTs don't support this encoding.
    case unencoded

    /// Reads the encoding from a protected header.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken` if `b64` isn't a Boolean.
    init(_ header: JSONObject) throws(TokenError) {
        switch header["b64"] {
        case nil, true: self = .base64url
        case false: self = .unencoded
        case let other?: throw TokenError(.malformedToken, "“b64” of the header must be a Boolean, not \(other.kind)")
        }
    }
}

/// The location of a JWS's payload.
public enum JWSPayloadPlacement: Sendable, Hashable {
    /// The JWS contains the payload.
    case attached
    /// The payload is transferred separately, and the verifier must have it
    /// ([RFC 7515 Appendix F](https://www.rfc-editor.org/rfc/rfc7515#appendix-F)).
    case detached
}
