internal import OpenSSLCrypto

/// The three parts of a compact JWS
/// ([RFC 7515 §7.1](https://www.rfc-editor.org/rfc/rfc7515#section-7.1)), located but not verified.
struct CompactToken {
    // A copy, because threads that share the string would contend for its reference count.
    private let bytes: [UInt8]
    private let headerEnd: Int
    private let payloadEnd: Int
    private let limits: JWSLimits

    /// Doesn't copy the parts.
    init(_ token: String, limits: JWSLimits) throws(TokenError) {
        let size = token.utf8.count
        guard size <= limits.size else {
            throw TokenError(.tooLarge, "the token has \(size) bytes, but the limit is \(limits.size)")
        }
        let bytes = Array(token.utf8)
        let dot = UInt8(ascii: ".")
        guard
            let headerEnd = bytes.span.firstOffset(of: dot, from: 0),
            let payloadEnd = bytes.span.firstOffset(of: dot, from: headerEnd + 1),
            bytes.span.firstOffset(of: dot, from: payloadEnd + 1) == nil
        else {
            throw Self.otherThing(bytes)
        }
        self.bytes = bytes
        self.limits = limits
        self.headerEnd = headerEnd
        self.payloadEnd = payloadEnd
    }

    func header() throws(TokenError) -> ProtectedHeader {
        try ProtectedHeader(limits.protectedHeader(in: bytes.span.extracting(first: headerEnd)))
    }

    var headerText: [UInt8] { Array(bytes[..<headerEnd]) }

    func hasHeader(_ text: [UInt8]) -> Bool {
        headerEnd == text.count && bytes.span.extracting(first: headerEnd).isEqual(to: text.span)
    }

    func payload() throws(TokenError) -> [UInt8] {
        try decode(headerEnd + 1..<payloadEnd, "payload")
    }

    func payload(_ encoding: JWSPayloadEncoding) throws(TokenError) -> [UInt8] {
        switch encoding {
        case .base64url: return try payload()
        case .unencoded:
            let octets = Array(bytes[(headerEnd + 1)..<payloadEnd])
            guard octets.allSatisfy(Self.isAllowedUnencoded) else {
                throw TokenError(.malformedToken, "an unencoded payload of a compact JWS must be printable ASCII")
            }
            return octets
        }
    }

    /// [RFC 7797 §5.2](https://www.rfc-editor.org/rfc/rfc7797#section-5.2).
    static func isAllowedUnencoded(_ octet: UInt8) -> Bool {
        (0x20...0x7E).contains(octet) && octet != UInt8(ascii: ".")
    }

    /// The payload is detached or empty.
    var hasEmptyPayload: Bool { payloadEnd == headerEnd + 1 }

    func signingInput(with detachedPayload: [UInt8], _ encoding: JWSPayloadEncoding) -> [UInt8] {
        SigningInput.make(bytes[..<headerEnd], detachedPayload, encoding)
    }

    func claims(in payload: [UInt8]) throws(TokenError) -> JSONObject {
        try limits.claims(in: payload)
    }

    func signature() throws(TokenError) -> [UInt8] {
        do throws(TokenError) {
            return try decode(payloadEnd + 1..<bytes.count, "signature")
        } catch {
            throw bytes[payloadEnd...].contains(UInt8(ascii: "~")) ? Self.otherThing(bytes) : error
        }
    }

    /// [RFC 7515 §5.2](https://www.rfc-editor.org/rfc/rfc7515#section-5.2).
    func isSigned(by key: VerificationKey, with signature: [UInt8]) -> Bool {
        key.isValidSignature(signature.span.octets, for: bytes.span.octets.extracting(first: payloadEnd))
    }

    func signer(among keys: [VerificationKey]) throws(TokenError) -> Int? {
        let signature = try signature()
        return keys.firstIndex { isSigned(by: $0, with: signature) }
    }

    private static func otherThing(_ bytes: [UInt8]) -> TokenError {
        if bytes.first == UInt8(ascii: "{") {
            return TokenError(.malformedToken, "this is JSON, not a compact token; use JWSVerifier to verify JSON")
        }
        if bytes.contains(UInt8(ascii: "~")) {
            return TokenError(.malformedToken, "this is an SD-JWT, not a plain token; use SDJWTVerifier")
        }
        let segments = bytes.count { $0 == UInt8(ascii: ".") } + 1
        let hint = segments == 5 ? " (a token with 5 segments is an encrypted token, a JWE; use JWEDecrypter)" : ""
        return TokenError(.malformedToken, "a signed token has 3 segments, not \(segments)\(hint)")
    }

    private func decode(_ range: Range<Int>, _ part: String) throws(TokenError) -> [UInt8] {
        try Base64URL.decode(bytes.span.extracting(range), part)
    }

    static func text(_ signingInput: [UInt8], signature: [UInt8]) -> String {
        String(utf8Capacity: signingInput.count + 1 + Base64URL.encodedSize(signature.count)) { output in
            output.append(signingInput.span.octets)
            output.append(UInt8(ascii: "."))
            Base64URL.encode(signature.span, into: &output)
        }
    }
}

/// A token without a signature, whose claims anyone can have written.
///
/// Its `alg` is `none` ([RFC 7519 §6](https://www.rfc-editor.org/rfc/rfc7519#section-6)). It's
/// meant for tests and for protocols that protect tokens by other means. It's never the result of a
/// verification, and the verifiers of this package reject it.
///
/// - Warning: Don't base any decision on the content of an unsecured token.
public struct UnsecuredToken: Sendable {
    /// The header, which anyone can have written.
    public let unsecuredHeader: JSONObject
    /// The claims, which anyone can have written.
    public let unsecuredClaims: JSONObject

    /// Creates a token from claims.
    ///
    /// - Parameter claims: The claims.
    public init(claims: JSONObject) {
        unsecuredHeader = ["alg": "none", "typ": "JWT"]
        unsecuredClaims = claims
    }

    /// Parses a token that deliberately has no signature.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - maximumSize: The maximum size of the token in bytes. The default is 64 KiB.
    /// - Throws: ``TokenError`` with the code `malformedToken`, `tooLarge` or
    ///   `criticalHeaderUnsupported`; `algorithmMismatch` if `alg` isn't exactly `none`;
    ///   `signatureInvalid` if the token has a signature.
    public init(unsecured token: String, maximumSize: Int = 65_536) throws(TokenError) {
        let token = try CompactToken(token, limits: JWSLimits(size: maximumSize))
        let header = try token.header()
        guard header.algorithm.isExactly("none") else {
            throw TokenError(
                .algorithmMismatch,
                "“alg” of the header is \(TokenError.shown(header.algorithm)), but an unsecured token has “none”"
            )
        }
        try header.checkCriticalMembers()
        guard try token.signature().isEmpty else {
            throw TokenError(.signatureInvalid, "the token's “alg” is “none”, but the token has a signature")
        }
        unsecuredHeader = header.members
        unsecuredClaims = try token.claims(in: token.payload())
    }

    /// Returns the token, whose last segment is empty.
    ///
    /// - Returns: The compact token.
    public func serialized() -> String {
        let header = Base64URL.encode(unsecuredHeader.serializedBytes())
        return header + "." + Base64URL.encode(unsecuredClaims.serializedBytes()) + "."
    }
}

enum EncodedHeader {
    static func of(_ header: JSONObject) -> [UInt8] {
        let json = header.serializedBytes()
        var text: [UInt8] = []
        text.reserveCapacity(Base64URL.encodedSize(json.count) + 1)
        Base64URL.encode(json.span, into: &text)
        text.append(UInt8(ascii: "."))
        return text
    }

    static func plain(_ algorithm: JWSAlgorithm, _ keyID: String?) -> [UInt8] {
        var header: JSONObject = ["alg": .string(algorithm.rawValue), "typ": "JWT"]
        if let keyID { header["kid"] = .string(keyID) }
        return of(header)
    }
}

/// [RFC 7515 §5.1](https://www.rfc-editor.org/rfc/rfc7515#section-5.1), [RFC 7797
/// §3](https://www.rfc-editor.org/rfc/rfc7797#section-3), in one buffer.
enum SigningInput {
    static func make(
        _ header: some Collection<UInt8>,
        _ payload: [UInt8],
        _ encoding: JWSPayloadEncoding
    ) -> [UInt8] {
        var input: [UInt8] = []
        input.reserveCapacity(header.count + 1 + Base64URL.encodedSize(payload.count))
        input.append(contentsOf: header)
        input.append(UInt8(ascii: "."))
        switch encoding {
        case .unencoded: input.append(contentsOf: payload)
        case .base64url: Base64URL.encode(payload.span, into: &input)
        }
        return input
    }
}
