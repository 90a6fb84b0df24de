internal import FoundationEssentials
internal import OpenSSLCrypto

/// The parts of a JWE in any serialization, decoded but not decrypted
/// ([RFC 7516 §7](https://www.rfc-editor.org/rfc/rfc7516#section-7)).
struct EncryptedToken: Sendable {
    struct Recipient: Sendable {
        /// Not protected; empty in a compact JWE.
        let header: JSONObject
        let encryptedKey: [UInt8]
    }

    let protectedText: [UInt8]
    let protectedHeader: JSONObject
    /// Not protected.
    let sharedHeader: JSONObject
    let recipients: [Recipient]
    let vector: [UInt8]
    /// Decrypted in place.
    var ciphertext: Data
    let tag: [UInt8]
    let additionalData: (octets: [UInt8], text: [UInt8])?

    /// [RFC 7516 §5.1](https://www.rfc-editor.org/rfc/rfc7516#section-5.1), step 14, with the
    /// received texts, because another encoding of the same header would have another tag.
    var authenticatedData: [UInt8] {
        Self.authenticatedData(protectedText, additionalData: additionalData?.text)
    }

    static func authenticatedData(_ protectedText: [UInt8], additionalData: [UInt8]?) -> [UInt8] {
        additionalData.map { protectedText + [UInt8(ascii: ".")] + $0 } ?? protectedText
    }

    init(compact: String, limits: JWELimits) throws(TokenError) {
        let size = compact.utf8.count
        guard size <= limits.size else {
            throw TokenError(.tooLarge, "the token has \(size) bytes, but the limit is \(limits.size)")
        }
        let text = compact.utf8.span
        guard let dots = Self.dots(in: text) else { throw Self.otherThing(Array(compact.utf8)) }
        do throws(TokenError) {
            try self.init(text, dots, limits)
        } catch {
            // With more segments, the ciphertext seems to contain a period.
            guard compact.utf8.count(where: { $0 == UInt8(ascii: ".") }) == 4 else {
                throw Self.otherThing(Array(compact.utf8))
            }
            throw error
        }
    }

    private init(
        _ text: Span<UInt8>,
        _ dots: [Int],
        _ limits: JWELimits
    ) throws(TokenError) {
        protectedText = (0..<dots[0]).map { text[$0] }
        protectedHeader = try limits.header.protectedHeader(in: text.extracting(first: dots[0]))
        sharedHeader = [:]
        additionalData = nil
        let encryptedKey = text.extracting(dots[0] + 1..<dots[1])
        try Self.check(encryptedKeyText: encryptedKey.count)
        recipients = [Recipient(header: [:], encryptedKey: try Base64URL.decode(encryptedKey, "encrypted key"))]
        vector = try Base64URL.decode(text.extracting(dots[1] + 1..<dots[2]), "initialization vector")
        ciphertext = try Base64URL.decoding("ciphertext") { () throws(TokenError) in
            try Base64URL.data(text.extracting(dots[2] + 1..<dots[3]))
        }
        tag = try Base64URL.decode(text.extracting((dots[3] + 1)...), "tag")
    }

    /// Returns the first three periods and the last one; the ciphertext, usually the longest
    /// segment, isn't searched: decoding it rejects periods.
    private static func dots(in text: Span<UInt8>) -> [Int]? {
        var dots: [Int] = []
        while dots.count < 3 {
            guard let dot = text.firstOffset(of: UInt8(ascii: "."), from: (dots.last ?? -1) + 1) else { return nil }
            dots.append(dot)
        }
        var last = text.count - 1
        while last > dots[2], text[last] != UInt8(ascii: ".") { last -= 1 }
        return last > dots[2] ? dots + [last] : nil
    }

    init(json: [UInt8], limits: JWELimits) throws(TokenError) {
        let members = try JSONToken.object(in: json, limits.document)
        // RFC 7516 §9 uses these members to tell JWS from JWE. Parsers would disagree on a text
        // with both.
        for name in ["payload", "signatures", "signature"] where members[name] != nil {
            throw TokenError(.malformedToken, "the JSON has “\(name)”, so it's a JWS; use JWSVerifier to verify it")
        }
        let protected = try members.string("protected")
        guard protected != "" else {
            throw TokenError(.malformedToken, "“protected” is empty; omit it if the JWE has no protected header")
        }
        protectedText = Array((protected ?? "").utf8)
        protectedHeader =
            try protected.map { text throws(TokenError) in
                try limits.header.protectedHeader(in: text.utf8.span)
            } ?? [:]
        sharedHeader = try members.header("unprotected")
        recipients = try Self.recipients(in: members, limits)
        if let text = try members.string("aad") {
            additionalData = (try Base64URL.decode(text.utf8.span, "“aad”"), Array(text.utf8))
        } else {
            additionalData = nil
        }
        vector = try members.octets("iv")
        ciphertext = Data(try members.octets("ciphertext"))
        tag = try members.octets("tag")
    }

    private static func recipients(
        in members: JSONObject,
        _ limits: JWELimits
    ) throws(TokenError) -> [Recipient] {
        guard members["recipients"] != nil else { return [try Recipient(members)] }
        let entries = try members.entries("recipient", insteadOf: ["encrypted_key", "header"], limits.recipientCount)
        var recipients: [Recipient] = []
        for (index, entry) in entries.enumerated() {
            do throws(TokenError) {
                recipients.append(try Recipient(entry))
            } catch {
                throw TokenError(error.code, "in recipient \(index): \(error.message)", cause: error)
            }
        }
        return recipients
    }

    fileprivate static func check(encryptedKeyText count: Int) throws(TokenError) {
        guard count <= Base64URL.encodedSize(JWELimits.encryptedKeySize) else {
            throw TokenError(.tooLarge, "the encrypted key has more than \(JWELimits.encryptedKeySize) bytes")
        }
    }

    private static func otherThing(_ bytes: [UInt8]) -> TokenError {
        if bytes.first == UInt8(ascii: "{") {
            return TokenError(.malformedToken, "this is JSON, not a compact token; decrypt it with decrypt(json:)")
        }
        let segments = bytes.count { $0 == UInt8(ascii: ".") } + 1
        let hint = segments == 3 ? " (a token with 3 segments is signed; verify it with JWTVerifier)" : ""
        return TokenError(.malformedToken, "an encrypted token has 5 segments, not \(segments)\(hint)")
    }
}

extension EncryptedToken.Recipient {
    fileprivate init(_ members: JSONObject) throws(TokenError) {
        header = try members.header("header")
        let text = try members.string("encrypted_key") ?? ""
        try EncryptedToken.check(encryptedKeyText: text.utf8.count)
        encryptedKey = try Base64URL.decode(text.utf8.span, "encrypted key")
    }
}

extension JSONObject {
    fileprivate func octets(_ name: String) throws(TokenError) -> [UInt8] {
        guard let text = try string(name) else {
            throw TokenError(.malformedToken, "the JSON has no “\(name)”")
        }
        return try Base64URL.decode(text.utf8.span, "“\(name)”")
    }
}

/// The headers of a JWE, without its content and without any proof that they're authentic.
///
/// Anyone can write any JWE. Use this type only to inspect one, for example to find out which key
/// it needs. To make decisions, use ``JWEDecrypter``.
public struct UnverifiedJWE: Sendable {
    /// The protected header, as the unknown author of the JWE wrote it.
    public let unverifiedProtectedHeader: JSONObject
    /// The unprotected header that all recipients share.
    public let unprotectedHeader: JSONObject
    /// The unprotected headers of the recipients in order, at least one; empty objects in a compact
    /// JWE.
    public let recipientHeaders: [JSONObject]

    /// Parses a compact JWE.
    ///
    /// - Parameters:
    ///   - compact: The compact JWE.
    ///   - limits: The maximum size of the JWE.
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    public init(compact: String, limits: JWELimits = JWELimits()) throws(TokenError) {
        self.init(try EncryptedToken(compact: compact, limits: limits))
    }

    /// Parses a general or flattened JSON serialization.
    ///
    /// - Parameters:
    ///   - json: The JSON text.
    ///   - limits: The maximum size of the JWE.
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    public init(json: String, limits: JWELimits = JWELimits()) throws(TokenError) {
        self.init(try EncryptedToken(json: Array(json.utf8), limits: limits))
    }

    private init(_ token: EncryptedToken) {
        unverifiedProtectedHeader = token.protectedHeader
        unprotectedHeader = token.sharedHeader
        recipientHeaders = token.recipients.map(\.header)
    }
}
