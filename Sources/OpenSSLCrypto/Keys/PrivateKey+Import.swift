extension PrivateKey {
    /// Reads the only key pair in a PEM text
    /// ([RFC 7468](https://www.rfc-editor.org/rfc/rfc7468)) of at most 64 KiB.
    ///
    /// The supported formats are PKCS#8 (`PRIVATE KEY`), encrypted PKCS#8
    /// (`ENCRYPTED PRIVATE KEY`), PKCS#1 (`RSA PRIVATE KEY`) and SEC 1 (`EC PRIVATE KEY`,
    /// optionally after an `EC PARAMETERS` block, which is ignored). The last two may be encrypted
    /// with OpenSSL's legacy method. Lines before the key are ignored; lines after it are rejected.
    ///
    /// The password of an encrypted key has at most 1024 bytes, and is ignored for other keys.
    /// OpenSSL never prompts for one.
    ///
    /// It throws `malformedKey`, `wrongKeyType` (a public key or an unsupported kind),
    /// `unsupportedCurve`, `pointNotOnCurve`, `invalidScalar`, `keyMismatch`, `weakKey`,
    /// `keyTooLarge`, `passwordRequired`, `incorrectPassword`, `invalidArgument` (password too
    /// long) or `openSSL` (unknown encryption).
    package init(pem: String, password: SecretBytes? = nil) throws(CryptoError) {
        let block = try PEMBlock.only(in: pem, skipping: "EC PARAMETERS")
        guard let format = Self.formats[block.label] else {
            throw CryptoError(
                .wrongKeyType,
                "Line \(block.line) starts a “\(block.label)” block, but a private key requires “PRIVATE KEY”, "
                    + "“ENCRYPTED PRIVATE KEY”, “EC PRIVATE KEY” or “RSA PRIVATE KEY”"
                    + (block.label == "OPENSSH PRIVATE KEY" ? "; convert it with “ssh-keygen -p -m PKCS8”" : "")
            )
        }
        guard block.isEncrypted else {
            self = try block.contents.withBytes { bytes throws(CryptoError) in try PrivateKey(bytes, in: format) }
            return
        }
        let der = try PrivateKeyDecryption.contents(of: block, password: password)
        try self.init(decrypted: der, in: format, "The private key in line \(block.line)")
    }

    /// Reads a key pair from DER, like ``init(pem:password:)``: a PKCS#8 key, encrypted or not, a
    /// PKCS#1 RSAPrivateKey or a SEC 1 ECPrivateKey, at most 64 KiB.
    ///
    /// The caller must clear it.
    package init(der: RawSpan, password: SecretBytes? = nil) throws(CryptoError) {
        let format = try KeyFormat(detectedIn: der)
        guard case .encryptedPKCS8 = format else {
            try self.init(der, in: format)
            return
        }
        let contents = try PrivateKeyDecryption.contents(ofPKCS8: der, password: password)
        try self.init(decrypted: contents, in: .pkcs8, "The private key")
    }

    /// Reads a key pair from DER, like the initializer with a `RawSpan`.
    package init(der: [UInt8], password: SecretBytes? = nil) throws(CryptoError) {
        self = try der.withBytes { bytes throws(CryptoError) in try PrivateKey(der: bytes, password: password) }
    }

    private static let formats: [String: KeyFormat] = [
        "PRIVATE KEY": .pkcs8, "ENCRYPTED PRIVATE KEY": .pkcs8, "EC PRIVATE KEY": .sec1, "RSA PRIVATE KEY": .pkcs1,
    ]

    private init(decrypted der: SecretBytes, in format: KeyFormat, _ name: String) throws(CryptoError) {
        do throws(CryptoError) {
            self = try der.withBytes { bytes throws(CryptoError) in try PrivateKey(bytes, in: format) }
        } catch  where error.code == .malformedKey {
            throw PrivateKeyDecryption.notAKey(name)
        }
    }

    private init(_ bytes: RawSpan, in format: KeyFormat) throws(CryptoError) {
        switch format {
        case .pkcs8: try self.init(pkcs8: bytes)
        case .sec1: self = .ellipticCurve(try ECPrivateKey(ECKeyReader(sec1: bytes)))
        case .pkcs1: self = .rsa(try RSAKeyCoding.privateKey(bytes))
        case .encryptedPKCS8, .publicKey, .pkcs1PublicKey, .certificate:
            throw CryptoError(.wrongKeyType, "Expected a private key, but this is \(format)")
        }
    }

    private init(pkcs8 bytes: RawSpan) throws(CryptoError) {
        let key = try PrivateKeyInfo(bytes)
        if key.algorithm == .rsaKey {
            try RSAKeyCoding.check(key.parameters, in: bytes)
            let pair = try RSAKeyCoding.privateKey(bytes, in: key.key)
            if let range = key.publicKey, try RSAKeyCoding.publicKey(bytes, in: range) != pair.publicKey {
                throw RSAPrivateNumbers.mismatch
            }
            self = .rsa(pair)
        } else if key.algorithm == .ellipticCurveKey {
            self = .ellipticCurve(try ECPrivateKey(ECKeyReader(key, in: bytes)))
        } else if let curve = EdwardsCurve(identifier: key.algorithm) {
            let (seed, expected) = (try RawKeyCoding.seed(key, in: bytes), key.publicKey?.map { bytes[$0] })
            self = .edwards(try EdwardsPrivateKey(curve: curve, seed: seed, expecting: expected))
        } else if let curve = MontgomeryCurve(identifier: key.algorithm) {
            let (seed, expected) = (try RawKeyCoding.seed(key, in: bytes), key.publicKey?.map { bytes[$0] })
            self = .montgomery(try MontgomeryPrivateKey(curve: curve, seed: seed, expecting: expected))
        } else if let parameters = MLDSAParameters(identifier: key.algorithm) {
            self = .mldsa(try MLDSAKeyCoding.privateKey(parameters, key, in: bytes))
        } else {
            throw PublicKey.unsupported(key.algorithm)
        }
    }
}
