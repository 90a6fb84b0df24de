internal import COpenSSL

/// The decryption of private keys.
enum PrivateKeyDecryption {
    /// Decrypts the contents of an encrypted block.
    static func contents(of block: PEMBlock, password: SecretBytes?) throws(CryptoError) -> SecretBytes {
        let name = "The private key in line \(block.line)"
        guard block.header.isEmpty else { return try legacy(block, password: checked(password, name)) }
        return try block.contents.withBytes { der throws(CryptoError) in
            try contents(ofPKCS8: der, password: password, name)
        }
    }

    /// Decrypts an EncryptedPrivateKeyInfo ([RFC 5958
    /// §3](https://www.rfc-editor.org/rfc/rfc5958#section-3)); `name` is for error messages.
    static func contents(
        ofPKCS8 der: RawSpan,
        password: SecretBytes?,
        _ name: String = "The private key"
    ) throws(CryptoError) -> SecretBytes {
        let password = try checked(password, name)
        var cost = KeyDerivationCost()
        try cost.add(encryptedKey: der)
        OpenSSLLibrary.prepareAndClearErrors()
        // Successful decoding may still queue errors, which other code on this thread could mistake
        // for its own.
        defer { OpenSSLLibrary.clearErrors() }
        let encrypted = unsafe der.decoded { unsafe d2i_X509_SIG(nil, $0, $1) }.object
        defer { unsafe X509_SIG_free(encrypted) }
        guard unsafe encrypted != nil else {
            throw CryptoError(.malformedKey, failed: "d2i_X509_SIG", "Can't decode the encrypted private key")
        }
        let key = unsafe password.withPassword { unsafe PKCS8_decrypt(encrypted, $0, $1) }
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(key) }
        guard unsafe key != nil else { throw failure("PKCS8_decrypt") }
        return try unsafe SecretBytes(encodedBy: { unsafe i2d_PKCS8_PRIV_KEY_INFO(key, $0) })
            .orThrow(.malformedKey, failed: "i2d_PKCS8_PRIV_KEY_INFO", "Can't decode the decrypted private key")
    }

    /// Returns the error for decrypted data that isn't a key; 1 in 256 wrong passwords gives valid
    /// padding.
    static func notAKey(_ name: String) -> CryptoError {
        CryptoError(
            .incorrectPassword,
            "\(name) decrypts to invalid data; the password is wrong or the key is damaged"
        )
    }

    private static func checked(_ password: SecretBytes?, _ name: String) throws(CryptoError) -> SecretBytes {
        guard let password else {
            throw CryptoError(.passwordRequired, "\(name) is encrypted: a password is needed")
        }
        guard password.count <= maximumPasswordSize else {
            throw CryptoError(
                .invalidArgument,
                "The password has \(password.count) bytes, but the limit is \(maximumPasswordSize)"
            )
        }
        return password
    }

    /// The limit of OpenSSL's legacy method, applied to both methods for consistency.
    static let maximumPasswordSize = Int(PEM_BUFSIZE)

    /// Decrypts a block whose header states the cipher, as written by `openssl ec -aes256`.
    private static func legacy(_ block: PEMBlock, password: SecretBytes) throws(CryptoError) -> SecretBytes {
        OpenSSLLibrary.prepareAndClearErrors()
        defer { OpenSSLLibrary.clearErrors() }
        var header = Array(block.header.utf8CString)
        var cipher = unsafe EVP_CIPHER_INFO()
        let isRead = unsafe header.withUnsafeMutableBufferPointer { header in
            unsafe PEM_get_EVP_CIPHER_INFO(header.baseAddress, &cipher) == 1
        }
        guard isRead, unsafe cipher.cipher != nil else {
            let errors = OpenSSLLibrary.drainedErrors()
            throw CryptoError(
                errors.contains(where: \.isUnsupported) ? .openSSL : .malformedKey,
                failed: "PEM_get_EVP_CIPHER_INFO",
                "The header after line \(block.line) doesn't state how the private key is encrypted",
                errors: errors
            )
        }
        return try SecretBytes(capacity: block.contents.count) { output throws(CryptoError) in
            block.contents.withBytes { output.append($0) }
            let isDecrypted = unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount in
                var size = initializedCount
                let status = password.withBytes { password in
                    unsafe password.withUnsafeBytes { password in
                        var password = unsafe password
                        return unsafe PEM_do_header(&cipher, buffer.baseAddress, &size, copyPassword, &password)
                    }
                }
                guard status == 1, (0...initializedCount).contains(size) else { return false }
                initializedCount = size
                return true
            }
            guard isDecrypted else { throw failure("PEM_do_header") }
        }
    }

    private static func failure(_ function: StaticString) -> CryptoError {
        let errors = OpenSSLLibrary.drainedErrors()
        guard !errors.contains(where: \.isUnsupported) else {
            return CryptoError(
                failed: function,
                "This OpenSSL doesn't support the private key's encryption or its cost; encrypt it again, "
                    + "for example with “openssl pkcs8 -topk8”",
                errors: errors
            )
        }
        return CryptoError(
            .incorrectPassword,
            failed: function,
            "Can't decrypt the private key; the password is wrong or the key is damaged",
            errors: errors
        )
    }
}

/// Passes the password to OpenSSL, which would otherwise prompt on the terminal.
private func copyPassword(
    to buffer: UnsafeMutablePointer<CChar>?,
    size: Int32,
    isForWriting: Int32,
    context: UnsafeMutableRawPointer?
) -> Int32 {
    guard
        let buffer = unsafe buffer,
        let password = unsafe context?.assumingMemoryBound(to: UnsafeRawBufferPointer.self).pointee,
        password.count <= size
    else { return -1 }
    unsafe UnsafeMutableRawBufferPointer(start: buffer, count: Int(size)).copyBytes(from: password)
    return Int32(password.count)
}
