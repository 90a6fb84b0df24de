/// Key wrapping with AES and the default initial value
/// ([RFC 3394](https://www.rfc-editor.org/rfc/rfc3394)), without padding.
package struct AESKeyWrap: Sendable {
    private let cipher: Cipher
    private let key: SecretBytes

    package static let overhead = 8

    /// The key has 16, 24 or 32 bytes; any other size is an `invalidArgument`.
    package init(key: SecretBytes) throws(CryptoError) {
        let name: Cipher.Name =
            switch key.count {
            case 16: .aes128Wrap
            case 24: .aes192Wrap
            case 32: .aes256Wrap
            default:
                throw CryptoError(
                    .invalidArgument,
                    "An AES key wrap requires a key of 16, 24 or 32 bytes, not \(key.count)"
                )
            }
        cipher = try Cipher.fetched(name)
        self.key = key
    }

    /// The secret's size must be a multiple of 8 bytes and at least 16.
    package func wrap(_ secret: SecretBytes) throws(CryptoError) -> [UInt8] {
        guard secret.count >= 16, secret.count.isMultiple(of: 8) else {
            throw CryptoError(.invalidArgument, "Can't wrap a key of \(secret.count) bytes")
        }
        let operation = try context(isEncrypting: true)
        var isWrapped = false
        let wrapped = [UInt8](capacity: secret.count + 2 * Self.overhead) { output in
            isWrapped = secret.withBytes { operation.update($0, into: &output) } && operation.finish(into: &output)
        }
        guard isWrapped, wrapped.count == secret.count + Self.overhead else {
            throw CryptoError(failed: "EVP_EncryptUpdate", "\(cipher.name.rawValue) failed")
        }
        return wrapped
    }

    /// Returns `nil` if the key was wrapped with another key, was changed or has an impossible
    /// size; OpenSSL itself accepts an empty one.
    package func unwrap(_ wrapped: [UInt8]) throws(CryptoError) -> SecretBytes? {
        guard wrapped.count >= 16 + Self.overhead, wrapped.count.isMultiple(of: 8) else { return nil }
        let operation = try context(isEncrypting: false)
        var isUnwrapped = false
        let secret = SecretBytes(capacity: wrapped.count + Self.overhead) { output in
            // Both calls, so that a wrong key takes the same work as the right one.
            let isUpdated = wrapped.withBytes { operation.update($0, into: &output) }
            let isFinished = operation.finish(into: &output)
            isUnwrapped = isUpdated && isFinished
            if !isUnwrapped { output.clear() }
        }
        OpenSSLLibrary.clearErrors()
        return isUnwrapped && secret.count == wrapped.count - Self.overhead ? secret : nil
    }

    private func context(isEncrypting: Bool) throws(CryptoError) -> CipherContext {
        try key.withBytes { key throws(CryptoError) in
            try CipherContext(cipher, key: key, vector: nil, isEncrypting: isEncrypting)
        }
    }
}
