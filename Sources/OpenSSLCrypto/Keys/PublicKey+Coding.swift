extension PublicKey {
    /// Reads the key in a PEM text ([RFC 7468](https://www.rfc-editor.org/rfc/rfc7468)) of at most
    /// 64 KiB, with exactly one block.
    ///
    /// The supported formats are SubjectPublicKeyInfo (`PUBLIC KEY`), PKCS#1 (`RSA PUBLIC KEY`) and
    /// X.509 certificates (`CERTIFICATE`). The certificate itself isn't verified. Lines before the
    /// block are ignored; lines after it are rejected.
    ///
    /// It throws `malformedKey`, `malformedCertificate`, `wrongKeyType` (a private key or an
    /// unsupported kind), `unsupportedCurve`, `pointNotOnCurve`, `weakKey` or `keyTooLarge`.
    package init(pem: String) throws(CryptoError) {
        let block = try PEMBlock.only(in: pem)
        guard let format = Self.formats[block.label] else {
            throw CryptoError(
                .wrongKeyType,
                "Line \(block.line) starts a “\(block.label)” block, but a public key requires “PUBLIC KEY”, "
                    + "“RSA PUBLIC KEY” or “CERTIFICATE”"
            )
        }
        self = try block.contents.withBytes { bytes throws(CryptoError) in try PublicKey(bytes, in: format) }
    }

    /// Reads a key from DER, like ``init(pem:)``: a SubjectPublicKeyInfo, a PKCS#1 RSAPublicKey or
    /// an X.509 certificate, at most 64 KiB.
    package init(der: RawSpan) throws(CryptoError) {
        try self.init(der, in: KeyFormat(detectedIn: der))
    }

    /// Reads a key from DER, like the initializer with a `RawSpan`.
    package init(der: [UInt8]) throws(CryptoError) {
        self = try der.withBytes { bytes throws(CryptoError) in try PublicKey(der: bytes) }
    }

    /// Returns the SubjectPublicKeyInfo, identical to the output of `openssl pkey -pubout`.
    package func spkiDER() -> [UInt8] {
        let (algorithm, octets) =
            switch self {
            case .rsa(let key): (RSAKeyCoding.algorithm, RSAKeyCoding.encoding(key))
            case .ellipticCurve(let key): (ECKeyCoding.algorithm(of: key.curve), key.point.uncompressed)
            case .edwards(let key): (key.curve.identifier.element, key.octets)
            case .montgomery(let key): (key.curve.identifier.element, key.octets)
            case .mldsa(let key): (key.parameters.identifier.element, key.octets)
            }
        return SubjectPublicKeyInfo.encoding(algorithm: algorithm, key: octets)
    }

    /// Returns a PEM block with the label `PUBLIC KEY`.
    package func spkiPEM() -> String {
        spkiDER().withBytes { PEMWriter.text("PUBLIC KEY", $0) }
    }

    /// Returns an RSA key in its legacy format, a PKCS#1 RSAPublicKey, or `nil` for other keys,
    /// which don't have one.
    package func traditionalDER() -> [UInt8]? {
        guard case .rsa(let key) = self else { return nil }
        return RSAKeyCoding.encoding(key)
    }

    /// Returns an RSA key as a PEM block with the label `RSA PUBLIC KEY`, or `nil` for other keys.
    package func traditionalPEM() -> String? {
        traditionalDER()?.withBytes { PEMWriter.text("RSA PUBLIC KEY", $0) }
    }

    static func unsupported(_ algorithm: ObjectIdentifier) -> CryptoError {
        CryptoError(
            .wrongKeyType,
            "The algorithm of the key is \(algorithm); the supported ones are RSA, EC, Ed25519, Ed448, X25519, "
                + "X448 and ML-DSA"
        )
    }

    /// Reads a SubjectPublicKeyInfo.
    init(spki bytes: RawSpan) throws(CryptoError) {
        let key = try SubjectPublicKeyInfo(bytes)
        if key.algorithm == .rsaKey {
            try RSAKeyCoding.check(key.parameters, in: bytes)
            self = .rsa(try RSAKeyCoding.publicKey(bytes, in: key.key))
        } else if key.algorithm == .ellipticCurveKey {
            self = .ellipticCurve(try ECPublicKey(ECKeyReader(key, in: bytes)))
        } else if let curve = EdwardsCurve(identifier: key.algorithm) {
            self = .edwards(try EdwardsPublicKey(curve: curve, octets: RawKeyCoding.octets(key, in: bytes)))
        } else if let curve = MontgomeryCurve(identifier: key.algorithm) {
            self = .montgomery(try MontgomeryPublicKey(curve: curve, octets: RawKeyCoding.octets(key, in: bytes)))
        } else if let parameters = MLDSAParameters(identifier: key.algorithm) {
            self = .mldsa(try MLDSAPublicKey(parameters: parameters, octets: RawKeyCoding.octets(key, in: bytes)))
        } else {
            throw Self.unsupported(key.algorithm)
        }
    }

    private static let formats: [String: KeyFormat] = [
        "PUBLIC KEY": .publicKey, "RSA PUBLIC KEY": .pkcs1PublicKey, "CERTIFICATE": .certificate,
    ]

    private init(_ bytes: RawSpan, in format: KeyFormat) throws(CryptoError) {
        switch format {
        case .publicKey: try self.init(spki: bytes)
        case .pkcs1PublicKey: self = .rsa(try RSAKeyCoding.publicKey(bytes))
        case .certificate: self = try Certificate(der: bytes).publicKey()
        case .pkcs8, .encryptedPKCS8, .sec1, .pkcs1:
            throw CryptoError(.wrongKeyType, "Expected a public key, but this is \(format)")
        }
    }
}
