internal import COpenSSL

extension TLSIdentity {
    /// The largest PKCS#12 file that is read, in octets.
    package static let maximumPKCS12Size = 1 << 20

    /// Reads a PKCS#12 file ([RFC 7292](https://www.rfc-editor.org/rfc/rfc7292)), such as a `.p12` or `.pfx`.
    ///
    /// It must have one private key and its certificate. The certificates of its issuers are sorted; those that have nothing
    /// to do with it are left out.
    ///
    /// - Parameters:
    ///   - pkcs12: The file's octets.
    ///   - password: The password; `nil` for a file that has none or an empty one.
    /// - Throws: ``CryptoError`` with the code `malformedCertificate` (no PKCS#12, or nothing of use in it),
    ///   `passwordRequired`, `incorrectPassword`, `openSSL` (an encryption that this OpenSSL does not offer), and what
    ///   ``PrivateKey/init(der:password:)`` and ``init(certificates:privateKey:)`` throw.
    package init(pkcs12: [UInt8], password: SecretBytes?) throws(CryptoError) {
        let file = try PKCS12File(pkcs12)
        let contents = try file.contents(password: password)
        try self.init(
            certificates: contents.chain(),
            privateKey: contents.privateKey()
        )
    }
}

/// A decoded file: the owner of a `PKCS12`.
@safe private struct PKCS12File: ~Copyable {
    private let pointer: OpaquePointer

    init(_ octets: [UInt8]) throws(CryptoError) {
        guard octets.count <= TLSIdentity.maximumPKCS12Size else {
            throw CryptoError(
                .malformedCertificate,
                "The PKCS#12 file has \(octets.count) octets: more than \(TLSIdentity.maximumPKCS12Size) are not read"
            )
        }
        OpenSSLLibrary.prepare()
        OpenSSLLibrary.clearErrors()
        let pointer = unsafe octets.withUnsafeBufferPointer { octets in
            var start = octets.baseAddress
            return unsafe d2i_PKCS12(nil, &start, octets.count)
        }
        guard let pointer = unsafe pointer else {
            throw CryptoError(.malformedCertificate, failed: "d2i_PKCS12", "The octets are no PKCS#12 file")
        }
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe PKCS12_free(pointer)
    }

    func contents(password: SecretBytes?) throws(CryptoError) -> PKCS12Contents {
        OpenSSLLibrary.clearErrors()
        defer { OpenSSLLibrary.clearErrors() }
        var key: OpaquePointer?
        var certificate: OpaquePointer?
        var others: OpaquePointer?
        let isRead =
            if let password {
                try Self.terminated(password).withBytes { password in
                    unsafe password.withUnsafeBytes { password in
                        let text = unsafe password.baseAddress?.assumingMemoryBound(to: CChar.self)
                        return unsafe PKCS12_parse(pointer, text, &key, &certificate, &others) == 1
                    }
                }
            } else {
                unsafe PKCS12_parse(pointer, nil, &key, &certificate, &others) == 1
            }
        let contents = unsafe PKCS12Contents(takingOwnershipOf: key, certificate, others)
        guard isRead else { throw Self.failure(hasPassword: password != nil) }
        return contents
    }

    /// The password as a C string.
    private static func terminated(_ password: SecretBytes) throws(CryptoError) -> SecretBytes {
        let hasZero = password.withBytes { bytes in bytes.byteOffsets.contains { bytes[$0] == 0 } }
        guard !hasZero, password.count <= PrivateKeyDecryption.maximumPasswordSize else {
            throw CryptoError(
                .incorrectPassword,
                "The password has a NUL or more than \(PrivateKeyDecryption.maximumPasswordSize) octets"
            )
        }
        return SecretBytes(capacity: password.count + 1) { output in
            password.withBytes { output.append($0) }
            output.append(0)
        }
    }

    private static func failure(hasPassword: Bool) -> CryptoError {
        let isAboutPassword = COpenSSL_is_pkcs12_mac_failure(ERR_peek_last_error()) == 1
        let errors = OpenSSLLibrary.drainedErrors()
        if isAboutPassword {
            return hasPassword
                ? CryptoError(
                    .incorrectPassword,
                    failed: "PKCS12_parse",
                    "The PKCS#12 file does not open: the password is wrong or the file is damaged",
                    errors: errors
                )
                : CryptoError(.passwordRequired, "The PKCS#12 file is encrypted: a password is needed")
        }
        guard errors.contains(where: \.isUnsupported) else {
            return CryptoError(
                .malformedCertificate,
                failed: "PKCS12_parse",
                "The PKCS#12 file can't be read",
                errors: errors
            )
        }
        return CryptoError(
            failed: "PKCS12_parse",
            "The PKCS#12 file is encrypted by a method that this OpenSSL does not offer: write it again with "
                + "“openssl pkcs12 -in OLD -legacy -nodes | openssl pkcs12 -export -out NEW”",
            errors: errors
        )
    }
}

/// What was in the file: the owner of a key, its certificate and others.
@safe private struct PKCS12Contents: ~Copyable {
    private let key: OpaquePointer?
    private let certificate: OpaquePointer?
    private let others: OpaquePointer?

    init(
        takingOwnershipOf key: OpaquePointer?,
        _ certificate: OpaquePointer?,
        _ others: OpaquePointer?
    ) {
        unsafe self.key = key
        unsafe self.certificate = certificate
        unsafe self.others = others
    }

    deinit {
        unsafe EVP_PKEY_free(key)
        unsafe X509_free(certificate)
        unsafe OPENSSL_sk_pop_free(others) { unsafe X509_free(OpaquePointer($0)) }
    }

    /// The key, checked like any other.
    func privateKey() throws(CryptoError) -> PrivateKey {
        guard let key = unsafe key else {
            throw CryptoError(.malformedCertificate, "The PKCS#12 file has no private key")
        }
        OpenSSLLibrary.clearErrors()
        let information = unsafe EVP_PKEY2PKCS8(key)
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(information) }
        let size = unsafe information == nil ? 0 : i2d_PKCS8_PRIV_KEY_INFO(information, nil)
        guard size > 0 else {
            throw CryptoError(.malformedKey, failed: "EVP_PKEY2PKCS8", "The PKCS#12 file's private key can't be read")
        }
        let der = SecretBytes(capacity: Int(size)) { output in
            unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount in
                var start = buffer.baseAddress
                initializedCount = Int(max(unsafe i2d_PKCS8_PRIV_KEY_INFO(information, &start), 0))
            }
        }
        return try der.withBytes { bytes throws(CryptoError) in try PrivateKey(der: bytes) }
    }

    /// The certificate, then those of its issuers as far as the file has them.
    func chain() throws(CryptoError) -> [Certificate] {
        guard var last = unsafe certificate else {
            throw CryptoError(.malformedCertificate, "The PKCS#12 file has no certificate of its private key")
        }
        var chain = [try unsafe Certificate(copying: last)]
        while chain.count < CertificateChain.maximumCount, let issuer = unsafe issuer(of: last) {
            unsafe last = issuer
            chain.append(try unsafe Certificate(copying: issuer))
        }
        return chain
    }

    private func issuer(of certificate: OpaquePointer) -> OpaquePointer? {
        for index in 0..<max(unsafe OPENSSL_sk_num(others), 0) {
            guard let other = unsafe OPENSSL_sk_value(others, index).map({ OpaquePointer($0) }) else { continue }
            // A root issued itself, and comes last.
            let isItself = unsafe X509_cmp(other, certificate) == 0
            if !isItself, unsafe X509_check_issued(other, certificate) == X509_V_OK { return unsafe other }
        }
        return nil
    }
}
