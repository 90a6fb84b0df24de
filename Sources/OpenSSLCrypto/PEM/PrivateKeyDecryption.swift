internal import COpenSSL

/// Decrypts private keys.
enum PrivateKeyDecryption {
    /// Decrypts the contents of a block.
    ///
    /// - Parameters:
    ///   - block: An encrypted block.
    ///   - password: The password, if there is one.
    /// - Returns: The DER encoding of the key.
    /// - Throws: ``CryptoError/Code/passwordRequired``, ``CryptoError/Code/incorrectPassword``,
    ///   ``CryptoError/Code/invalidArgument``, ``CryptoError/Code/malformedKey``, ``CryptoError/Code/openSSL``.
    static func contents(of block: PEMBlock, password: SecretBytes?) throws(CryptoError) -> SecretBytes {
        guard block.header.isEmpty else {
            return try legacy(block, password: checked(password, "The private key in line \(block.line)"))
        }
        return try block.contents.withBytes { bytes throws(CryptoError) in
            try contents(ofPKCS8: bytes, password: password, "The private key in line \(block.line)")
        }
    }

    /// Decrypts an EncryptedPrivateKeyInfo ([RFC 5958 §3](https://www.rfc-editor.org/rfc/rfc5958#section-3)).
    ///
    /// - Parameters:
    ///   - der: The EncryptedPrivateKeyInfo.
    ///   - password: The password, if there is one.
    ///   - name: What it is, for the error.
    /// - Returns: The PrivateKeyInfo.
    /// - Throws: As ``contents(of:password:)``.
    static func contents(
        ofPKCS8 der: RawSpan,
        password: SecretBytes?,
        _ name: String = "The private key"
    ) throws(CryptoError) -> SecretBytes {
        try pkcs8(der, password: checked(password, name))
    }

    /// What to tell where a decrypted text is no key: one wrong password in 256 leaves what looks like one.
    static func notAKey(_ name: String) -> CryptoError {
        CryptoError(
            .incorrectPassword,
            "\(name) decrypts to something else: the password is wrong or the key is damaged"
        )
    }

    private static func checked(_ password: SecretBytes?, _ name: String) throws(CryptoError) -> SecretBytes {
        guard let password else {
            throw CryptoError(.passwordRequired, "\(name) is encrypted: a password is needed")
        }
        guard password.count <= maximumPasswordSize else {
            throw CryptoError(
                .invalidArgument,
                "The password has \(password.count) octets: at most \(maximumPasswordSize) are possible"
            )
        }
        return password
    }

    /// OpenSSL's older method takes no more, so neither does the other.
    static let maximumPasswordSize = Int(PEM_BUFSIZE)

    private static func pkcs8(_ der: RawSpan, password: SecretBytes) throws(CryptoError) -> SecretBytes {
        var cost = KeyDerivationCost()
        try cost.add(encryptedKey: der)
        OpenSSLLibrary.prepare()
        OpenSSLLibrary.clearErrors()
        // Decoding may succeed and still leave errors behind, which other users of the thread would take for theirs.
        defer { OpenSSLLibrary.clearErrors() }
        let encrypted = unsafe der.withUnsafeBytes { bytes in
            var start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return unsafe d2i_X509_SIG(nil, &start, bytes.count)
        }
        defer { unsafe X509_SIG_free(encrypted) }
        guard unsafe encrypted != nil else {
            throw CryptoError(.malformedKey, failed: "d2i_X509_SIG", "The encrypted private key can't be read")
        }
        let key = unsafe password.withBytes { password in
            unsafe password.withUnsafeBytes { password in
                unsafe PKCS8_decrypt(
                    encrypted,
                    password.baseAddress?.assumingMemoryBound(to: CChar.self),
                    Int32(password.count)
                )
            }
        }
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(key) }
        guard unsafe key != nil else { throw failure("PKCS8_decrypt") }
        let size = unsafe i2d_PKCS8_PRIV_KEY_INFO(key, nil)
        guard size > 0 else {
            throw CryptoError(
                .malformedKey,
                failed: "i2d_PKCS8_PRIV_KEY_INFO",
                "The decrypted private key can't be read"
            )
        }
        return SecretBytes(capacity: Int(size)) { output in
            unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount in
                var start = buffer.baseAddress
                initializedCount = Int(max(unsafe i2d_PKCS8_PRIV_KEY_INFO(key, &start), 0))
            }
        }
    }

    /// Decrypts a block whose header says how, as `openssl ec -aes256` writes.
    private static func legacy(_ block: PEMBlock, password: SecretBytes) throws(CryptoError) -> SecretBytes {
        OpenSSLLibrary.prepare()
        OpenSSLLibrary.clearErrors()
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
                "The header after line \(block.line) does not say how the private key is encrypted",
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
                "The private key is encrypted by a method or at a cost that this OpenSSL does not offer: encrypt it again, "
                    + "for example with “openssl pkcs8 -topk8”",
                errors: errors
            )
        }
        return CryptoError(
            .incorrectPassword,
            failed: function,
            "The private key does not decrypt: the password is wrong or the key is damaged",
            errors: errors
        )
    }
}

/// Hands the password to OpenSSL; without such a function it would ask on the terminal.
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
