internal import OpenSSLCrypto

/// An SD-JWT, or an SD-JWT with a key binding (SD-JWT+KB), ready to be sent
/// ([RFC 9901 §4](https://www.rfc-editor.org/rfc/rfc9901#section-4)).
///
/// An ``SDJWTIssuer`` creates one for a holder, and an ``SDJWTHolder`` creates one for a verifier.
/// Receivers pass the text to an ``SDJWTVerifier``.
public struct SDJWT: Sendable {
    /// The issuer-signed JWT, a compact JWS.
    let issuerJWT: String
    /// The other members of the unprotected header, which only a JSON serialization has.
    private(set) var unprotectedHeader: JSONObject = [:]
    /// The disclosures, as the issuer encoded them.
    let disclosures: [String]
    /// The key binding JWT, or `nil`.
    var keyBindingJWT: String?

    /// The compact serialization, which ends with `~` unless there is a key binding.
    public var compact: String { boundText + (keyBindingJWT ?? "") }

    /// Returns the flattened JSON serialization
    /// ([RFC 9901 §8.2](https://www.rfc-editor.org/rfc/rfc9901#section-8.2)).
    ///
    /// - Returns: The JSON object.
    public func flattenedJSON() -> JSONObject {
        let parts = issuerJWT.split(separator: ".", omittingEmptySubsequences: false).map {
            JSONValue.string(String($0))
        }
        var header = unprotectedHeader
        header["disclosures"] = .array(disclosures.map(JSONValue.string))
        header["kb_jwt"] = keyBindingJWT.map(JSONValue.string)
        var object: JSONObject = ["header": .object(header)]
        for (name, part) in zip(["protected", "payload", "signature"], parts) { object[name] = part }
        return object
    }
}

extension SDJWT: Redacted {
    /// The number of disclosures, but no content.
    public var description: String {
        "SDJWT(\(disclosures.count) disclosures\(keyBindingJWT == nil ? "" : ", key binding"))"
    }
}

extension SDJWT {
    private static let separator = UInt8(ascii: "~")

    /// The text that a key binding signs: everything before it, including the last `~`
    /// ([RFC 9901 §4.3.1](https://www.rfc-editor.org/rfc/rfc9901#section-4.3.1)).
    var boundText: String {
        ([issuerJWT] + disclosures).map { "\($0)~" }.joined()
    }

    /// Separates the parts of a compact serialization.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken`, `malformedDisclosure` or
    ///   `tooLarge`.
    init(compact text: String, limits: SDJWTLimits) throws(TokenError) {
        try limits.check(size: text.utf8.count)
        let bytes = Array(text.utf8)
        guard bytes.first != UInt8(ascii: "{") else {
            throw TokenError(.malformedToken, "this is JSON, not a compact SD-JWT; verify it as JSON")
        }
        var separators: [Int] = []
        var start = 0
        while let end = bytes.span.firstOffset(of: Self.separator, from: start) {
            // The first one ends the issuer-signed JWT.
            try limits.check(disclosureCount: separators.count)
            separators.append(end)
            start = end + 1
        }
        guard let first = separators.first else {
            throw TokenError(
                .malformedToken,
                "this isn't an SD-JWT, which has a “~” after the signed token; use JWTVerifier to verify a plain token"
            )
        }
        var disclosures: [String] = []
        for (previous, end) in zip(separators, separators.dropFirst()) {
            try limits.check(disclosureSize: end - previous - 1)
            guard end > previous + 1 else {
                throw TokenError(.malformedDisclosure, "disclosure \(disclosures.count) is empty")
            }
            disclosures.append(String(decoding: bytes[(previous + 1)..<end], as: UTF8.self))
        }
        self.init(
            issuerJWT: String(decoding: bytes[..<first], as: UTF8.self),
            disclosures: disclosures,
            keyBindingJWT: start < bytes.count ? String(decoding: bytes[start...], as: UTF8.self) : nil
        )
    }

    /// Takes the parts from a JSON serialization, with one of its signatures for the compact form
    /// ([RFC 9901 §8.1](https://www.rfc-editor.org/rfc/rfc9901#section-8.1)).
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken`, `malformedDisclosure`,
    ///   `criticalHeaderUnsupported` or `tooLarge`.
    init(_ token: JSONToken, signature index: Int = 0, limits: SDJWTLimits) throws(TokenError) {
        guard let payload = token.payload else {
            throw TokenError(.malformedToken, "the JSON has no “payload”")
        }
        guard token.payloadEncoding == .base64url else {
            throw TokenError(.criticalHeaderUnsupported, "the payload of an SD-JWT must be encoded; remove “b64”")
        }
        for signature in token.signatures.dropFirst() {
            for name in ["disclosures", "kb_jwt"] where signature.unprotectedHeader[name] != nil {
                throw TokenError(.malformedToken, "“\(name)” is allowed only in the first unprotected header")
            }
        }
        let first = token.signatures[0].unprotectedHeader
        let signature = token.signatures[index]
        var header = signature.unprotectedHeader
        header["disclosures"] = nil
        header["kb_jwt"] = nil
        self.init(
            issuerJWT: "\(signature.protectedText).\(payload).\(Base64URL.encode(signature.signature))",
            unprotectedHeader: header,
            disclosures: try Self.disclosures(in: first, limits),
            keyBindingJWT: try first.string("kb_jwt")
        )
    }

    private static func disclosures(
        in header: JSONObject,
        _ limits: SDJWTLimits
    ) throws(TokenError) -> [String] {
        guard let value = header["disclosures"] else { return [] }
        guard let elements = value.array else {
            throw TokenError(.malformedToken, "“disclosures” must be an array, not \(value.kind)")
        }
        try limits.check(disclosureCount: elements.count)
        var disclosures: [String] = []
        for (index, element) in elements.enumerated() {
            guard let text = element.string, !text.isEmpty else {
                throw TokenError(.malformedDisclosure, "disclosure \(index) isn't a text")
            }
            try limits.check(disclosureSize: text.utf8.count)
            disclosures.append(text)
        }
        return disclosures
    }
}
