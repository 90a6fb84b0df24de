/// A public key of any supported kind; validated on creation.
package enum PublicKey: Sendable, Equatable {
    case rsa(RSAPublicKey)
    case ellipticCurve(ECPublicKey)
    case edwards(EdwardsPublicKey)
    case montgomery(MontgomeryPublicKey)
    case mldsa(MLDSAPublicKey)

    /// The kind of key, for display: `RSA`, or the name of the curve or parameter set.
    package var kind: String {
        switch self {
        case .rsa: "RSA"
        case .ellipticCurve(let key): key.curve.name
        case .edwards(let key): key.curve.name
        case .montgomery(let key): key.curve.name
        case .mldsa(let key): key.parameters.name
        }
    }

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

    /// Reads a SubjectPublicKeyInfo, a PKCS#1 RSAPublicKey or an X.509 certificate, at most 64 KiB.
    package init(der: RawSpan) throws(CryptoError) {
        try self.init(der, in: KeyFormat(detectedIn: der))
    }

    package init(der: [UInt8]) throws(CryptoError) {
        self = try der.withBytes { bytes throws(CryptoError) in try PublicKey(der: bytes) }
    }

    /// Returns whether bytes have the structure of a public or private key or a certificate in DER,
    /// with nothing but blanks after it.
    ///
    /// At most one in a billion random strings of more than 40 bytes does.
    package static func isKeyOrCertificate(_ octets: [UInt8]) -> Bool {
        octets.withBytes { bytes in
            var reader = DERReader(bytes.byteOffsets, code: .malformedKey)
            guard let element = try? reader.skip("key", in: bytes), (try? KeyFormat(detectedIn: bytes)) != nil else {
                return false
            }
            return octets[element.upperBound...].allSatisfy { $0 == 0x20 || (0x09...0x0D).contains($0) }
        }
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

    package func spkiPEM() -> String {
        spkiDER().withBytes { PEMWriter.text("PUBLIC KEY", $0) }
    }

    /// PKCS#1 for RSA; other keys don't have a legacy format.
    package func traditionalDER() -> [UInt8]? {
        guard case .rsa(let key) = self else { return nil }
        return RSAKeyCoding.encoding(key)
    }

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

/// The positions of a SubjectPublicKeyInfo's parts
/// ([RFC 5280 §4.1](https://www.rfc-editor.org/rfc/rfc5280#section-4.1)).
struct SubjectPublicKeyInfo {
    let algorithm: ObjectIdentifier
    /// A reader for the elements after the algorithm's identifier.
    let parameters: DERReader
    let key: Range<Int>

    init(_ bytes: RawSpan) throws(CryptoError) {
        var reader = try DERReader.sequence("public key", in: bytes)
        (algorithm, parameters) = try Self.algorithm(&reader, in: bytes)
        key = try reader.bitString("public key BIT STRING", in: bytes)
        try reader.finish("public key")
    }

    static func algorithm(
        _ reader: inout DERReader,
        in bytes: RawSpan
    ) throws(CryptoError) -> (ObjectIdentifier, DERReader) {
        var parameters = try reader.reader(DERReader.Tag.sequence, "key's algorithm", in: bytes)
        let identifier = try parameters.identifier("algorithm's identifier", in: bytes)
        return (identifier, parameters)
    }

    static func encoding(algorithm: [UInt8], key: [UInt8]) -> [UInt8] {
        let contents =
            DERWriter.size(ofElementWith: algorithm.count) + DERWriter.size(ofElementWith: 1 + key.count)
        return [UInt8](capacity: DERWriter.size(ofElementWith: contents)) { output in
            DERWriter.appendHeader(DERReader.Tag.sequence, size: contents, to: &output)
            DERWriter.append(DERReader.Tag.sequence, algorithm, to: &output)
            DERWriter.append(DERReader.Tag.bitString, [0] + key, to: &output)
        }
    }

    /// Checks that OpenSSL can decode the key of a certificate at little cost.
    ///
    /// OpenSSL decodes it together with the certificate, and explicit curve parameters take a
    /// square root modulo a number of the sender's choice. Besides the keys that ``PublicKey``
    /// supports, RSA-PSS keys and short RSA keys are accepted. It throws `wrongKeyType`,
    /// `unsupportedCurve`, `keyTooLarge` or `malformedKey`.
    func checkCostOfDecoding(in bytes: RawSpan) throws(CryptoError) {
        if algorithm == .rsaKey || algorithm == .rsaPSSKey {
            var numbers = try DERReader.sequence("RSA public key", in: bytes, key)
            try RSAPublicNumbers.checkSizes(
                modulus: numbers.magnitude("RSA modulus", in: bytes).count,
                exponent: numbers.magnitude("RSA public exponent", in: bytes).count
            )
        } else if algorithm == .ellipticCurveKey {
            let curve = try ECKeyReader.namedCurve(parameters, "algorithm's curve", in: bytes)
            try CurvePoint.checkForm(of: bytes.extracting(key), on: curve)
        } else if EdwardsCurve(identifier: algorithm) == nil, MontgomeryCurve(identifier: algorithm) == nil,
            MLDSAParameters(identifier: algorithm) == nil
        {
            throw PublicKey.unsupported(algorithm)
        }
    }
}

/// The ASN.1 encodings of Ed25519, Ed448, X25519 and X448 keys
/// ([RFC 8410](https://www.rfc-editor.org/rfc/rfc8410)).
enum RawKeyCoding {
    /// [RFC 8410 §7](https://www.rfc-editor.org/rfc/rfc8410#section-7).
    static func seed(_ key: PrivateKeyInfo, in bytes: RawSpan) throws(CryptoError) -> SecretBytes {
        try key.parameters.finish("key's algorithm")
        var reader = DERReader(key.key, code: .malformedKey)
        let seed = try reader.contents(Tag.octetString, "private key bytes", in: bytes)
        try reader.finish("private key bytes")
        return SecretBytes(copying: bytes.extracting(seed))
    }

    /// [RFC 8410 §4](https://www.rfc-editor.org/rfc/rfc8410#section-4).
    static func octets(_ key: SubjectPublicKeyInfo, in bytes: RawSpan) throws(CryptoError) -> [UInt8] {
        try key.parameters.finish("key's algorithm")
        return key.key.map { bytes[$0] }
    }

    static func encoding(
        _ seed: SecretBytes,
        tag: UInt8 = Tag.octetString,
        on curve: some RawKeyCurve
    ) -> SecretBytes {
        let octets = SecretBytes(capacity: DERWriter.size(ofElementWith: seed.count)) { output in
            DERWriter.appendHeader(tag, size: seed.count, to: &output)
            seed.withBytes { output.append($0) }
        }
        return PrivateKeyInfo.encoding(algorithm: curve.identifier.element, key: octets)
    }

    private typealias Tag = DERReader.Tag
}
