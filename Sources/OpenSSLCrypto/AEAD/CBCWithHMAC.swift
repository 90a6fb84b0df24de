/// AES in CBC mode, authenticated with HMAC
/// ([RFC 7518 §5.2](https://www.rfc-editor.org/rfc/rfc7518#section-5.2)).
///
/// The first half of the key is the HMAC key, the second half the AES key. The tag is the first
/// half of the HMAC over the context, the initialization vector, the ciphertext and the size of the
/// context.
enum CBCWithHMAC {
    /// Appends the ciphertext to the output and returns the tag.
    @_lifetime(output: copy output)
    static func seal(
        _ plaintext: RawSpan,
        _ context: RawSpan,
        _ cipher: Cipher,
        _ hash: HashFunction,
        _ key: RawSpan,
        _ vector: [UInt8],
        into output: inout OutputSpan<UInt8>
    ) throws(CryptoError) -> [UInt8] {
        let half = key.byteCount / 2
        let operation = try CipherContext(
            cipher,
            key: key.extracting(half..<key.byteCount),
            vector: vector,
            isEncrypting: true
        )
        let start = output.count
        guard operation.update(plaintext, into: &output), operation.finish(into: &output) else {
            throw CryptoError(failed: "EVP_EncryptUpdate", "\(cipher.name.rawValue) encryption failed")
        }
        let ciphertext = output.span.octets.extracting(droppingFirst: start)
        return try tag(context, vector, ciphertext, hash, key.extracting(0..<half))
    }

    /// Decrypts a text in place and returns the size of the plaintext, or `nil` if the tag isn't
    /// valid; nothing has been decrypted then, so that the padding can't reveal anything.
    @_lifetime(text: copy text)
    static func open(
        _ text: inout MutableSpan<UInt8>,
        _ vector: [UInt8],
        _ tag: [UInt8],
        _ context: RawSpan,
        _ cipher: Cipher,
        _ hash: HashFunction,
        _ key: RawSpan
    ) throws(CryptoError) -> Int? {
        let half = key.byteCount / 2
        let expected = try Self.tag(context, vector, text.span.octets, hash, key.extracting(0..<half))
        let isAuthentic = expected.withBytes { expected in tag.withBytes { ConstantTime.areEqual($0, expected) } }
        guard isAuthentic else { return nil }
        let operation = try CipherContext(
            cipher,
            key: key.extracting(half..<key.byteCount),
            vector: vector,
            isEncrypting: false
        )
        return operation.decrypt(&text)
    }

    private static func tag(
        _ context: RawSpan,
        _ vector: [UInt8],
        _ ciphertext: RawSpan,
        _ hash: HashFunction,
        _ key: RawSpan
    ) throws(CryptoError) -> [UInt8] {
        // The size in bits, as 64 bits: a smaller type would let an attacker move bytes between the
        // context and the ciphertext.
        let bitCount = UInt64(context.byteCount) * 8
        let size = (0..<8).map { UInt8(truncatingIfNeeded: bitCount >> UInt64(56 - 8 * $0)) }
        var code = try MACContext.code(hash, key: key, of: context, vector, ciphertext, size)
        defer { code.clear() }
        return Array(code.prefix(code.count / 2))
    }
}
