internal import COpenSSL

/// Authenticated encryption with AES-256 in Galois/Counter Mode
/// ([NIST SP 800-38D](https://doi.org/10.6028/NIST.SP.800-38D)) and a random nonce per message.
///
/// Don't encrypt more than 2³² messages with one key. Beyond that, random nonces may repeat.
package struct AESGCM: Sendable {
    private static let nonceSize = 12
    private static let tagSize = 16

    private let key: SecretBytes

    /// Creates a cipher with a key.
    ///
    /// - Parameter key: The key, 32 bytes.
    /// - Throws: ``CryptoError/Code/invalidArgument`` for any other size.
    package init(key: SecretBytes) throws(CryptoError) {
        guard key.count == 32 else {
            throw CryptoError(.invalidArgument, "AES-256-GCM requires a key of 32 bytes, not \(key.count)")
        }
        self.key = key
    }

    /// Encrypts a message.
    ///
    /// - Parameters:
    ///   - plaintext: The message.
    ///   - context: Additional data to authenticate. The result doesn't contain it.
    /// - Returns: The nonce, the ciphertext and the tag, concatenated.
    /// - Throws: ``CryptoError/Code/openSSL`` or ``CryptoError/Code/randomUnavailable``.
    package func seal(_ plaintext: [UInt8], authenticating context: [UInt8]) throws(CryptoError) -> [UInt8] {
        try seal(plaintext, authenticating: context, nonce: SecureRandom.bytes(count: Self.nonceSize))
    }

    /// Encrypts a message with a nonce that must be unique for the key.
    func seal(
        _ plaintext: [UInt8],
        authenticating context: [UInt8],
        nonce: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        let cipher = try CipherContext(key: key, nonce: nonce, isEncrypting: true)
        guard cipher.authenticate(context), let text = cipher.update(plaintext), cipher.finish(),
            let tag = cipher.tag(count: Self.tagSize)
        else { throw CryptoError(failed: "EVP_EncryptUpdate", "AES-256-GCM encryption failed") }
        return nonce + text + tag
    }

    /// Decrypts a message.
    ///
    /// - Parameters:
    ///   - sealed: The result of ``seal(_:authenticating:)``.
    ///   - context: The additional data that was authenticated.
    /// - Returns: The message, or `nil` if the ciphertext, the context or the key differs.
    /// - Throws: ``CryptoError/Code/openSSL`` if OpenSSL fails.
    package func open(_ sealed: [UInt8], authenticating context: [UInt8]) throws(CryptoError) -> [UInt8]? {
        guard sealed.count >= Self.nonceSize + Self.tagSize else { return nil }
        let nonce = Array(sealed.prefix(Self.nonceSize))
        let cipher = try CipherContext(key: key, nonce: nonce, isEncrypting: false)
        let text = Array(sealed.dropFirst(Self.nonceSize).dropLast(Self.tagSize))
        guard cipher.authenticate(context), let plaintext = cipher.update(text),
            cipher.setTag(Array(sealed.suffix(Self.tagSize)))
        else { throw CryptoError(failed: "EVP_DecryptUpdate", "AES-256-GCM decryption failed") }
        guard cipher.finish() else {
            OpenSSLLibrary.clearErrors()
            return nil
        }
        return plaintext
    }
}

/// One encryption or decryption: the owner of an `EVP_CIPHER_CTX`.
@safe private final class CipherContext {
    private let pointer: OpaquePointer

    init(key: SecretBytes, nonce: [UInt8], isEncrypting: Bool) throws(CryptoError) {
        OpenSSLLibrary.prepare()
        OpenSSLLibrary.clearErrors()
        guard let pointer = unsafe EVP_CIPHER_CTX_new() else {
            throw CryptoError(failed: "EVP_CIPHER_CTX_new", "AES-256-GCM isn't available")
        }
        unsafe self.pointer = pointer
        // 12 bytes is OpenSSL's default nonce size for this mode.
        guard nonce.count == 12 else { throw CryptoError(.invalidArgument, "AES-256-GCM requires a 12-byte nonce") }
        let status = key.withBytes { key in
            unsafe key.withUnsafeBytes { key in
                unsafe nonce.withUnsafeBufferPointer { nonce in
                    unsafe EVP_CipherInit_ex(
                        pointer,
                        EVP_aes_256_gcm(),
                        nil,
                        key.baseAddress?.assumingMemoryBound(to: UInt8.self),
                        nonce.baseAddress,
                        isEncrypting ? 1 : 0
                    )
                }
            }
        }
        guard status == 1 else { throw CryptoError(failed: "EVP_CipherInit_ex", "AES-256-GCM isn't available") }
    }

    deinit {
        unsafe EVP_CIPHER_CTX_free(pointer)
    }

    func authenticate(_ context: [UInt8]) -> Bool {
        guard !context.isEmpty else { return true }
        guard context.count <= Int(Int32.max) else { return false }
        var count: Int32 = 0
        return unsafe EVP_CipherUpdate(pointer, nil, &count, context, Int32(context.count)) == 1
    }

    func update(_ text: [UInt8]) -> [UInt8]? {
        guard !text.isEmpty else { return [] }
        guard text.count <= Int(Int32.max) else { return nil }
        var output = [UInt8](repeating: 0, count: text.count)
        var count: Int32 = 0
        guard unsafe EVP_CipherUpdate(pointer, &output, &count, text, Int32(text.count)) == 1, Int(count) == text.count
        else { return nil }
        return output
    }

    func finish() -> Bool {
        var rest = [UInt8](repeating: 0, count: 16)
        var count: Int32 = 0
        return unsafe EVP_CipherFinal_ex(pointer, &rest, &count) == 1
    }

    func tag(count: Int) -> [UInt8]? {
        var tag = [UInt8](repeating: 0, count: count)
        let status = unsafe tag.withUnsafeMutableBytes { tag in
            unsafe EVP_CIPHER_CTX_ctrl(pointer, EVP_CTRL_AEAD_GET_TAG, Int32(count), tag.baseAddress)
        }
        return status == 1 ? tag : nil
    }

    func setTag(_ tag: [UInt8]) -> Bool {
        var tag = tag
        return unsafe tag.withUnsafeMutableBytes { tag in
            unsafe EVP_CIPHER_CTX_ctrl(pointer, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), tag.baseAddress) == 1
        }
    }
}
