/// AES in CBC mode, authenticated with HMAC
/// ([RFC 7518 §5.2](https://www.rfc-editor.org/rfc/rfc7518#section-5.2)).
///
/// The first half of the key is the HMAC key, the second half the AES key. The tag is the first
/// half of the HMAC over the context, the initialization vector, the ciphertext and the size of the
/// context.
enum CBCWithHMAC {
    static func seal(
        _ plaintext: RawSpan,
        _ context: RawSpan,
        _ cipher: Cipher,
        _ hash: HashFunction,
        _ key: RawSpan,
        _ vector: [UInt8]
    ) throws(CryptoError) -> AuthenticatedCipher.Sealed {
        let half = key.byteCount / 2
        let operation = try CipherContext(
            cipher,
            key: key.extracting(half..<key.byteCount),
            vector: vector,
            isEncrypting: true
        )
        var isSealed = false
        let ciphertext = [UInt8](capacity: plaintext.byteCount + 16) { output in
            isSealed = operation.update(plaintext, into: &output) && operation.finish(into: &output)
        }
        guard isSealed else {
            throw CryptoError(failed: "EVP_EncryptUpdate", "\(cipher.name.rawValue) encryption failed")
        }
        let tag = try tag(context, vector, ciphertext, hash, key.extracting(0..<half))
        return AuthenticatedCipher.Sealed(vector: vector, ciphertext: ciphertext, tag: tag)
    }

    /// - Returns: `true` if the tag is valid. Otherwise nothing has been decrypted, so that the
    ///   padding can't reveal anything.
    static func open(
        _ sealed: AuthenticatedCipher.Sealed,
        _ context: RawSpan,
        _ cipher: Cipher,
        _ hash: HashFunction,
        _ key: RawSpan,
        into output: inout OutputSpan<UInt8>
    ) throws(CryptoError) -> Bool {
        let half = key.byteCount / 2
        let expected = try tag(context, sealed.vector, sealed.ciphertext, hash, key.extracting(0..<half))
        let isAuthentic = expected.withBytes { expected in
            sealed.tag.withBytes { ConstantTime.areEqual($0, expected) }
        }
        guard isAuthentic else { return false }
        let operation = try CipherContext(
            cipher,
            key: key.extracting(half..<key.byteCount),
            vector: sealed.vector,
            isEncrypting: false
        )
        let isDecrypted =
            sealed.ciphertext.withBytes { operation.update($0, into: &output) } && operation.finish(into: &output)
        if !isDecrypted {
            output.clear()
            OpenSSLLibrary.clearErrors()
        }
        return isDecrypted
    }

    private static func tag(
        _ context: RawSpan,
        _ vector: [UInt8],
        _ ciphertext: [UInt8],
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
