/// An X.509 certificate ([RFC 5280](https://www.rfc-editor.org/rfc/rfc5280)), of which nothing is verified yet.
///
/// A value may be used from several threads at once.
package struct Certificate: Sendable {
    /// The DER encoding, as it was read.
    package let der: [UInt8]
    /// The DER encoding of the SubjectPublicKeyInfo, as it is in the certificate.
    package let subjectPublicKeyInfo: [UInt8]
    /// The first second of its validity, counted from the start of 1970 (UTC).
    package let notBefore: Int64
    /// The last second of its validity, counted from the start of 1970 (UTC).
    package let notAfter: Int64

    let x509: X509Certificate

    /// Reads a certificate from DER.
    ///
    /// - Parameter der: The certificate and nothing else, at most 64 KiB.
    /// - Throws: ``CryptoError/Code/malformedCertificate``.
    package init(der: [UInt8]) throws(CryptoError) {
        let range = try der.withBytes { bytes throws(CryptoError) in try Self.subjectPublicKeyInfo(in: bytes) }
        self.der = der
        subjectPublicKeyInfo = Array(der[range])
        x509 = try der.withBytes { bytes throws(CryptoError) in try X509Certificate(decoding: bytes) }
        (notBefore, notAfter) = try x509.validity()
    }

    /// Reads a certificate from DER.
    ///
    /// - Parameter der: The certificate and nothing else, at most 64 KiB.
    /// - Throws: ``CryptoError/Code/malformedCertificate``.
    package init(der: RawSpan) throws(CryptoError) {
        try self.init(der: [UInt8](capacity: der.byteCount) { $0.append(der) })
    }

    /// Reads a certificate from PEM.
    ///
    /// - Parameter pem: A text with exactly one `CERTIFICATE` block; lines before it are ignored.
    /// - Throws: ``CryptoError/Code/malformedCertificate``, ``CryptoError/Code/malformedKey`` if the text is not PEM,
    ///   ``CryptoError/Code/wrongKeyType`` for a block with something else.
    package init(pem: String) throws(CryptoError) {
        try self.init(PEMBlock.only(in: pem))
    }

    /// Reads all certificates of a PEM text, such as a chain or a bundle of roots.
    ///
    /// - Parameter pem: A text with one `CERTIFICATE` block or more, at most 2 MiB; lines around them are ignored.
    /// - Returns: The certificates in their order.
    /// - Throws: As ``init(pem:)``.
    package static func list(pem: String) throws(CryptoError) -> [Certificate] {
        let blocks = try PEMBlock.all(in: pem, maximumSize: maximumListSize)
        guard !blocks.isEmpty else {
            throw CryptoError(.malformedCertificate, "The text has no PEM block “CERTIFICATE”")
        }
        var certificates: [Certificate] = []
        for block in blocks {
            certificates.append(try Certificate(block))
        }
        return certificates
    }

    /// Reads the public key.
    ///
    /// - Returns: The key.
    /// - Throws: As ``PublicKey/init(der:)``, for example for a kind of key that is not supported.
    package func publicKey() throws(CryptoError) -> PublicKey {
        try subjectPublicKeyInfo.withBytes { bytes throws(CryptoError) in try PublicKey(spki: bytes) }
    }

    /// Hashes the certificate.
    ///
    /// - Parameter hash: The hash function; what fingerprints are compared with decides.
    /// - Returns: The hash of ``der``.
    /// - Throws: ``CryptoError/Code/openSSL`` if the library does not offer the function.
    package func fingerprint(_ hash: HashFunction) throws(CryptoError) -> [UInt8] {
        try der.withBytes { bytes throws(CryptoError) in try hash.hash(bytes) }
    }

    /// Hashes the public key, as pins do ([RFC 7469 §2.4](https://www.rfc-editor.org/rfc/rfc7469#section-2.4)).
    ///
    /// - Returns: The SHA-256 hash of ``subjectPublicKeyInfo``.
    /// - Throws: ``CryptoError/Code/openSSL`` if the library fails.
    package func publicKeyHash() throws(CryptoError) -> [UInt8] {
        try subjectPublicKeyInfo.withBytes { bytes throws(CryptoError) in try HashFunction.sha256.hash(bytes) }
    }

    /// The subject's name as in [RFC 2253](https://www.rfc-editor.org/rfc/rfc2253), such as `CN=example.org,O=Example`;
    /// to show, not to compare.
    package var subject: String { x509.subject }

    /// The issuer's name, likewise.
    package var issuer: String { x509.issuer }

    /// Writes the certificate as PEM.
    ///
    /// - Returns: A `CERTIFICATE` block.
    package func pem() -> String {
        der.withBytes { PEMWriter.text("CERTIFICATE", $0) }
    }
}

extension Certificate: Equatable {
    /// Whether two certificates have the same octets.
    package static func == (left: Self, right: Self) -> Bool { left.der == right.der }
}

extension Certificate {
    private static let maximumListSize = 1 << 21

    private init(_ block: PEMBlock) throws(CryptoError) {
        guard block.label == "CERTIFICATE" else {
            throw CryptoError(
                .wrongKeyType,
                "Line \(block.line) begins a block “\(block.label)”: a certificate is in a block “CERTIFICATE”"
            )
        }
        self = try block.contents.withBytes { bytes throws(CryptoError) in try Certificate(der: bytes) }
    }

    /// Finds the SubjectPublicKeyInfo, and checks that everything around it is DER.
    private static func subjectPublicKeyInfo(in bytes: RawSpan) throws(CryptoError) -> Range<Int> {
        typealias Tag = DERReader.Tag
        guard bytes.byteCount <= PEMBlock.maximumSize else {
            throw CryptoError(
                .malformedCertificate,
                "The certificate has \(bytes.byteCount) octets: more than \(PEMBlock.maximumSize) are not read"
            )
        }
        var certificate = try DERReader.sequence("certificate", in: bytes, code: .malformedCertificate)
        let contents = try certificate.contents(Tag.sequence, "certificate's contents", in: bytes)
        _ = try certificate.contents(Tag.sequence, "signature's algorithm", in: bytes)
        _ = try certificate.bitString("signature", in: bytes)
        try certificate.finish("signature")
        var reader = DERReader(contents, code: .malformedCertificate)
        if reader.nextTag(in: bytes) == Tag.context(0) {
            _ = try reader.contents(Tag.context(0), "version", in: bytes)
        }
        _ = try reader.contents(Tag.integer, "serial number", in: bytes)
        for name in ["signature's algorithm", "issuer", "validity", "subject"] as [StaticString] {
            _ = try reader.contents(Tag.sequence, name, in: bytes)
        }
        let key = try reader.skip("public key", in: bytes)
        while reader.nextTag(in: bytes) != nil {
            _ = try reader.skip("extensions", in: bytes)
        }
        return key
    }
}
