/// AES in Galois/Counter Mode
/// ([NIST SP 800-38D](https://doi.org/10.6028/NIST.SP.800-38D)) with 96-bit initialization vectors
/// and 128-bit tags.
enum GaloisCounterMode {
    private static let tagSize = 16

    /// Appends the ciphertext to the output and returns the tag.
    @_lifetime(output: copy output)
    static func seal(
        _ plaintext: RawSpan,
        _ context: RawSpan,
        _ cipher: Cipher,
        _ key: RawSpan,
        _ vector: [UInt8],
        into output: inout OutputSpan<UInt8>
    ) throws(CryptoError) -> [UInt8] {
        let operation = try CipherContext(cipher, key: key, vector: vector, isEncrypting: true)
        guard operation.authenticate(context), operation.update(plaintext, into: &output),
            operation.finish(into: &output), let tag = operation.tag(count: tagSize)
        else {
            throw CryptoError(failed: "EVP_EncryptUpdate", "\(cipher.name.rawValue) encryption failed")
        }
        return tag
    }

    /// Decrypts a text in place and returns the size of the plaintext, or `nil` if the tag isn't
    /// valid; the caller must then clear the text, because OpenSSL writes it before comparing tags.
    @_lifetime(text: copy text)
    static func open(
        _ text: inout MutableSpan<UInt8>,
        _ vector: [UInt8],
        _ tag: [UInt8],
        _ context: RawSpan,
        _ cipher: Cipher,
        _ key: RawSpan
    ) throws(CryptoError) -> Int? {
        let operation = try CipherContext(cipher, key: key, vector: vector, isEncrypting: false)
        guard operation.setTag(tag), operation.authenticate(context) else {
            throw CryptoError(failed: "EVP_DecryptUpdate", "\(cipher.name.rawValue) decryption failed")
        }
        return operation.decrypt(&text)
    }
}
