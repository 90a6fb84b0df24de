/// AES in Galois/Counter Mode
/// ([NIST SP 800-38D](https://doi.org/10.6028/NIST.SP.800-38D)) with 96-bit initialization vectors
/// and 128-bit tags.
enum GaloisCounterMode {
    private static let tagSize = 16

    static func seal(
        _ plaintext: RawSpan,
        _ context: RawSpan,
        _ cipher: Cipher,
        _ key: RawSpan,
        _ vector: [UInt8]
    ) throws(CryptoError) -> AuthenticatedCipher.Sealed {
        let operation = try CipherContext(cipher, key: key, vector: vector, isEncrypting: true)
        var isSealed = false
        let ciphertext = [UInt8](capacity: plaintext.byteCount) { output in
            isSealed =
                operation.authenticate(context) && operation.update(plaintext, into: &output)
                && operation.finish(into: &output)
        }
        guard isSealed, ciphertext.count == plaintext.byteCount, let tag = operation.tag(count: tagSize) else {
            throw CryptoError(failed: "EVP_EncryptUpdate", "\(cipher.name.rawValue) encryption failed")
        }
        return AuthenticatedCipher.Sealed(vector: vector, ciphertext: ciphertext, tag: tag)
    }

    /// - Returns: `true` if the tag is valid. Otherwise the output is empty again: OpenSSL writes
    ///   the plaintext before it compares the tag.
    static func open(
        _ sealed: AuthenticatedCipher.Sealed,
        _ context: RawSpan,
        _ cipher: Cipher,
        _ key: RawSpan,
        into output: inout OutputSpan<UInt8>
    ) throws(CryptoError) -> Bool {
        let operation = try CipherContext(cipher, key: key, vector: sealed.vector, isEncrypting: false)
        let isRead =
            operation.setTag(sealed.tag) && operation.authenticate(context)
            && sealed.ciphertext.withBytes { operation.update($0, into: &output) }
        guard isRead else {
            output.clear()
            throw CryptoError(failed: "EVP_DecryptUpdate", "\(cipher.name.rawValue) decryption failed")
        }
        guard operation.finish(into: &output) else {
            output.clear()
            OpenSSLLibrary.clearErrors()
            return false
        }
        return true
    }
}
