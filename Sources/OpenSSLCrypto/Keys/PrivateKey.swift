internal import COpenSSL

/// A key pair of any supported kind; validated on creation.
package enum PrivateKey: Sendable {
    case rsa(RSAPrivateKey)
    case ellipticCurve(ECPrivateKey)
    case edwards(EdwardsPrivateKey)
    case montgomery(MontgomeryPrivateKey)
    case mldsa(MLDSAPrivateKey)

    package var publicKey: PublicKey {
        switch self {
        case .rsa(let key): .rsa(key.publicKey)
        case .ellipticCurve(let key): .ellipticCurve(key.publicKey)
        case .edwards(let key): .edwards(key.publicKey)
        case .montgomery(let key): .montgomery(key.publicKey)
        case .mldsa(let key): .mldsa(key.publicKey)
        }
    }

    /// The kind of key, for display: `RSA` or the name of the curve.
    package var kind: String { publicKey.kind }

    /// A kind without key agreement is a `wrongKeyType`.
    package static func ephemeral(for peer: PublicKey) throws(CryptoError) -> PrivateKey {
        switch peer {
        case .ellipticCurve(let key): .ellipticCurve(try .generate(key.curve))
        case .montgomery(let key): .montgomery(try .generate(key.curve))
        case .rsa, .edwards, .mldsa: throw CryptoError(.wrongKeyType, "\(peer.kind) keys have no key agreement")
        }
    }

    package func sharedSecret(with peer: PublicKey) throws(CryptoError) -> SecretBytes? {
        try SecretAgreement(self).secret(with: peer)
    }
}

/// A private key that's prepared to agree on secrets with other keys on its curve.
package struct SecretAgreement: Sendable {
    private let curve: String
    private let size: Int
    private let operation: EVPKeyOperation

    /// A kind without key agreement is a `wrongKeyType`.
    package init(_ key: PrivateKey) throws(CryptoError) {
        switch key {
        case .ellipticCurve(let key):
            (curve, size) = (key.curve.name, key.curve.coordinateSize)
            operation = try EVPKeyOperation(.agreement, .keyAgreement, with: key.key)
        case .montgomery(let key):
            (curve, size) = (key.curve.name, key.curve.keySize)
            operation = try EVPKeyOperation(.agreement, .keyAgreement, with: key.key)
        case .rsa, .edwards, .mldsa:
            throw CryptoError(.wrongKeyType, "\(key.kind) keys have no key agreement")
        }
    }

    /// Returns the x-coordinate of the shared point with all leading zeros, or `nil` if it would be
    /// zero because the public key has a small order ([RFC 7748
    /// §6.1](https://www.rfc-editor.org/rfc/rfc7748#section-6.1)).
    ///
    /// It throws `wrongKeyType` for a key on another curve.
    package func secret(with peer: PublicKey) throws(CryptoError) -> SecretBytes? {
        switch peer {
        case .ellipticCurve(let key) where key.curve.name == curve:
            return try operation.sharedSecret(with: key.point.uncompressed, size: size)
        case .montgomery(let key) where key.curve.name == curve:
            // OpenSSL rejects a secret of zeros, too; other providers may not.
            return try operation.sharedSecret(with: key.octets, size: size).flatMap { $0.isZero ? nil : $0 }
        default:
            throw CryptoError(.wrongKeyType, "\(curve) and \(peer.kind) keys can't agree on a secret")
        }
    }
}

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

    /// Reads PKCS#8, encrypted or not, PKCS#1 or SEC 1, at most 64 KiB, like
    /// ``init(pem:password:)``; the caller must clear the bytes.
    package init(der: RawSpan, password: SecretBytes? = nil) throws(CryptoError) {
        let format = try KeyFormat(detectedIn: der)
        guard case .encryptedPKCS8 = format else {
            try self.init(der, in: format)
            return
        }
        let contents = try PrivateKeyDecryption.contents(ofPKCS8: der, password: password)
        try self.init(decrypted: contents, in: .pkcs8, "The private key")
    }

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

    /// Returns the unencrypted PrivateKeyInfo, identical to the output of `openssl pkey`, except
    /// that an ML-DSA key whose seed is known is written as the seed alone.
    package func pkcs8DER() throws(CryptoError) -> SecretBytes {
        switch self {
        case .rsa(let key):
            PrivateKeyInfo.encoding(algorithm: RSAKeyCoding.algorithm, key: try RSAKeyCoding.encoding(key))
        case .ellipticCurve(let key):
            PrivateKeyInfo.encoding(
                algorithm: ECKeyCoding.algorithm(of: key.curve),
                key: try ECKeyCoding.encoding(key, namesCurve: false)
            )
        case .edwards(let key): RawKeyCoding.encoding(try key.seed(), on: key.curve)
        case .montgomery(let key): RawKeyCoding.encoding(try key.seed(), on: key.curve)
        case .mldsa(let key): try MLDSAKeyCoding.encoding(key)
        }
    }

    /// Returns a plain `String` that can't be cleared from memory.
    package func pkcs8PEM() throws(CryptoError) -> String {
        try pkcs8DER().withBytes { PEMWriter.text("PRIVATE KEY", $0) }
    }

    /// Encrypts with PBES2 (PBKDF2 with HMAC-SHA-256, and AES-256-CBC).
    ///
    /// A password of other than 1 to 1024 bytes, and iterations other than 600,000 to 2,000,000,
    /// are an `invalidArgument`.
    package func encryptedPKCS8DER(
        password: SecretBytes,
        iterations: Int = PrivateKeyEncryption.minimumIterations
    ) throws(CryptoError) -> [UInt8] {
        try PrivateKeyEncryption.encrypt(pkcs8DER(), password: password, iterations: iterations)
    }

    package func encryptedPKCS8PEM(
        password: SecretBytes,
        iterations: Int = PrivateKeyEncryption.minimumIterations
    ) throws(CryptoError) -> String {
        try encryptedPKCS8DER(password: password, iterations: iterations)
            .withBytes { PEMWriter.text("ENCRYPTED PRIVATE KEY", $0) }
    }

    /// PKCS#1 for RSA, SEC 1 for elliptic curves, without encryption; `nil` for other keys.
    package func traditionalDER() throws(CryptoError) -> SecretBytes? {
        switch self {
        case .rsa(let key): try RSAKeyCoding.encoding(key)
        case .ellipticCurve(let key): try ECKeyCoding.encoding(key, namesCurve: true)
        case .edwards, .montgomery, .mldsa: nil
        }
    }

    /// Returns a plain `String` that can't be cleared from memory, or `nil` for other keys.
    package func traditionalPEM() throws(CryptoError) -> String? {
        let label: StaticString = if case .rsa = self { "RSA PRIVATE KEY" } else { "EC PRIVATE KEY" }
        return try traditionalDER()?.withBytes { PEMWriter.text(label, $0) }
    }
}

/// The positions of a PKCS#8 key's parts: a PrivateKeyInfo
/// ([RFC 5208 §5](https://www.rfc-editor.org/rfc/rfc5208#section-5)) or OneAsymmetricKey
/// ([RFC 5958 §2](https://www.rfc-editor.org/rfc/rfc5958#section-2)).
struct PrivateKeyInfo {
    let algorithm: ObjectIdentifier
    /// A reader for the elements after the algorithm's identifier.
    let parameters: DERReader
    let key: Range<Int>
    /// Only version 2 of the format (number 1) may contain it.
    let publicKey: Range<Int>?

    init(_ bytes: RawSpan) throws(CryptoError) {
        var reader = try DERReader.sequence("PKCS#8 key", in: bytes)
        let version = try reader.smallInteger("PKCS#8 version", in: bytes)
        guard version <= 1 else {
            throw CryptoError(.malformedKey, "PKCS#8 version \(version) isn't supported, only 0 and 1")
        }
        (algorithm, parameters) = try SubjectPublicKeyInfo.algorithm(&reader, in: bytes)
        key = try reader.contents(DERReader.Tag.octetString, "private key OCTET STRING", in: bytes)
        if reader.nextTag(in: bytes) == DERReader.Tag.context(0) {
            _ = try reader.contents(DERReader.Tag.context(0), "PKCS#8 attributes", in: bytes)
        }
        publicKey =
            if version == 1, reader.nextTag(in: bytes) == DERReader.Tag.primitiveContext(1) {
                try reader.bitString("public key BIT STRING", tag: DERReader.Tag.primitiveContext(1), in: bytes)
            } else {
                nil
            }
        try reader.finish("PKCS#8 key")
    }

    static func encoding(algorithm: [UInt8], key: SecretBytes) -> SecretBytes {
        let contents =
            3 + DERWriter.size(ofElementWith: algorithm.count) + DERWriter.size(ofElementWith: key.count)
        return SecretBytes(capacity: DERWriter.size(ofElementWith: contents)) { output in
            DERWriter.appendHeader(DERReader.Tag.sequence, size: contents, to: &output)
            DERWriter.append(DERReader.Tag.integer, [0], to: &output)
            DERWriter.append(DERReader.Tag.sequence, algorithm, to: &output)
            DERWriter.appendHeader(DERReader.Tag.octetString, size: key.count, to: &output)
            key.withBytes { output.append($0) }
        }
    }
}

/// The ASN.1 formats of keys, detected by their first tags.
enum KeyFormat: CustomStringConvertible {
    case pkcs8, encryptedPKCS8, sec1, pkcs1, publicKey, pkcs1PublicKey, certificate

    init(detectedIn bytes: RawSpan) throws(CryptoError) {
        guard bytes.byteCount <= PEMBlock.maximumSize else {
            throw CryptoError(
                .malformedKey,
                "The key has \(bytes.byteCount) bytes, but the limit is \(PEMBlock.maximumSize)"
            )
        }
        var whole = DERReader(bytes.byteOffsets, code: .malformedKey)
        var reader = try whole.reader(DERReader.Tag.sequence, "key's SEQUENCE", in: bytes)
        var tags: [UInt8] = []
        while tags.count < 3, let tag = reader.nextTag(in: bytes) {
            tags.append(tag)
            _ = try reader.contents(tag, "key's element", in: bytes)
        }
        let second = tags.count > 1 ? tags[1] : nil
        switch (tags.first, second) {
        case (DERReader.Tag.integer, DERReader.Tag.sequence): self = .pkcs8
        case (DERReader.Tag.integer, DERReader.Tag.octetString): self = .sec1
        case (DERReader.Tag.integer, DERReader.Tag.integer): self = tags.count == 2 ? .pkcs1PublicKey : .pkcs1
        case (DERReader.Tag.sequence, DERReader.Tag.octetString): self = .encryptedPKCS8
        case (DERReader.Tag.sequence, DERReader.Tag.bitString): self = .publicKey
        case (DERReader.Tag.sequence, DERReader.Tag.sequence): self = .certificate
        default:
            throw CryptoError(
                .malformedKey,
                "The data isn't a PKCS#8, PKCS#1, SEC 1 or SubjectPublicKeyInfo key, or a certificate"
            )
        }
    }

    var description: String {
        switch self {
        case .pkcs8: "a PKCS#8 private key"
        case .encryptedPKCS8: "an encrypted private key"
        case .sec1: "a SEC 1 private key"
        case .pkcs1: "an RSA private key"
        case .publicKey: "a public key"
        case .pkcs1PublicKey: "an RSA public key"
        case .certificate: "a certificate"
        }
    }
}
