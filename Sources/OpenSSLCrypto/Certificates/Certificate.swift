internal import COpenSSL

/// An X.509 certificate ([RFC 5280](https://www.rfc-editor.org/rfc/rfc5280)) that hasn't been
/// verified.
package struct Certificate: Sendable, Equatable {
    package let der: [UInt8]
    package let subjectPublicKeyInfo: [UInt8]
    /// The start of the validity period, in seconds since 1970 (UTC).
    package let notBefore: Int64
    /// The last second of the validity period, in seconds since 1970 (UTC).
    package let notAfter: Int64

    let x509: X509Certificate

    /// Reads a certificate from DER: at most 64 KiB, without any other data.
    ///
    /// The kind of its key is checked before OpenSSL decodes it. It throws `malformedCertificate`;
    /// `wrongKeyType` or `unsupportedCurve` for keys that ``PublicKey`` doesn't support, except
    /// that those for RSA-PSS are accepted; and `keyTooLarge`.
    package init(der: [UInt8]) throws(CryptoError) {
        let range = try der.withBytes { bytes throws(CryptoError) in try Self.checkedPublicKeyInfo(in: bytes) }
        self.der = der
        subjectPublicKeyInfo = Array(der[range])
        x509 = try der.withBytes { bytes throws(CryptoError) in try X509Certificate(decoding: bytes) }
        (notBefore, notAfter) = try x509.validity()
    }

    package init(der: RawSpan) throws(CryptoError) {
        try self.init(der: [UInt8](capacity: der.byteCount) { $0.append(der) })
    }

    /// Reads exactly one `CERTIFICATE` block, after any other lines.
    ///
    /// A block with another label is a `wrongKeyType`, and a text that isn't PEM a `malformedKey`.
    package init(pem: String) throws(CryptoError) {
        try self.init(PEMBlock.only(in: pem))
    }

    /// Reads all certificates in a PEM text of at most 2 MiB; at least one is required, and lines
    /// around the blocks are ignored.
    package static func list(pem: String) throws(CryptoError) -> [Certificate] {
        let blocks = try PEMBlock.all(in: pem, maximumSize: maximumListSize)
        guard !blocks.isEmpty else {
            throw CryptoError(.malformedCertificate, "The text has no PEM block with the label “CERTIFICATE”")
        }
        return try blocks.map { block throws(CryptoError) in try Certificate(block) }
    }

    package func publicKey() throws(CryptoError) -> PublicKey {
        try subjectPublicKeyInfo.withBytes { bytes throws(CryptoError) in try PublicKey(spki: bytes) }
    }

    package func fingerprint(_ hash: HashFunction) throws(CryptoError) -> [UInt8] {
        try der.withBytes { bytes throws(CryptoError) in try hash.hash(bytes) }
    }

    /// Returns the SHA-256 hash of ``subjectPublicKeyInfo``, for pinning ([RFC 7469
    /// §2.4](https://www.rfc-editor.org/rfc/rfc7469#section-2.4)).
    package func publicKeyHash() throws(CryptoError) -> [UInt8] {
        try subjectPublicKeyInfo.withBytes { bytes throws(CryptoError) in try HashFunction.sha256.hash(bytes) }
    }

    /// The subject's name in the format of [RFC 2253](https://www.rfc-editor.org/rfc/rfc2253), such
    /// as `CN=example.org,O=Example`; for display, not for comparison.
    package var subject: String { x509.subject }

    package var issuer: String { x509.issuer }

    package func pem() -> String {
        der.withBytes { PEMWriter.text("CERTIFICATE", $0) }
    }

    package static func == (left: Self, right: Self) -> Bool { left.der == right.der }

    private static let maximumListSize = 1 << 21

    private init(_ block: PEMBlock) throws(CryptoError) {
        guard block.label == "CERTIFICATE" else {
            throw CryptoError(
                .wrongKeyType,
                "Line \(block.line) starts a “\(block.label)” block, but a certificate requires “CERTIFICATE”"
            )
        }
        do throws(CryptoError) {
            self = try block.contents.withBytes { bytes throws(CryptoError) in try Certificate(der: bytes) }
        } catch {
            throw CryptoError(
                error.code,
                "The certificate in line \(block.line): \(error.message)",
                reasons: error.reasons
            )
        }
    }

    static func checkedPublicKeyInfo(in bytes: RawSpan) throws(CryptoError) -> Range<Int> {
        let range = try subjectPublicKeyInfo(in: bytes)
        let info = bytes.extracting(range)
        do throws(CryptoError) {
            try SubjectPublicKeyInfo(info).checkCostOfDecoding(in: info)
        } catch  where error.code == .malformedKey {
            throw CryptoError(.malformedCertificate, error.message)
        }
        return range
    }

    /// Finds the SubjectPublicKeyInfo and checks that the elements around it are DER.
    private static func subjectPublicKeyInfo(in bytes: RawSpan) throws(CryptoError) -> Range<Int> {
        typealias Tag = DERReader.Tag
        guard bytes.byteCount <= PEMBlock.maximumSize else {
            throw CryptoError(
                .malformedCertificate,
                "The certificate has \(bytes.byteCount) bytes, but the limit is \(PEMBlock.maximumSize)"
            )
        }
        var certificate = try DERReader.sequence("certificate", in: bytes, code: .malformedCertificate)
        var reader = try certificate.reader(Tag.sequence, "certificate's contents", in: bytes)
        _ = try certificate.contents(Tag.sequence, "signature's algorithm", in: bytes)
        _ = try certificate.bitString("signature", in: bytes)
        try certificate.finish("signature")
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

/// A decoded certificate: the owner of an `X509`.
// reason: the pointer is set once and the decoded certificate never changes. OpenSSL caches its
// extensions under the certificate's own lock, and its reference count is atomic.
@safe final class X509Certificate: @unchecked Sendable {
    private let pointer: OpaquePointer

    init(decoding der: RawSpan) throws(CryptoError) {
        OpenSSLLibrary.prepareAndClearErrors()
        let (object, rest) = unsafe der.decoded { unsafe d2i_X509(nil, $0, $1) }
        guard let pointer = unsafe object else {
            throw CryptoError(.malformedCertificate, failed: "d2i_X509", "Can't decode the certificate")
        }
        unsafe self.pointer = pointer
        guard rest == 0 else {
            throw CryptoError(
                .malformedCertificate,
                "Extra data after the certificate at offset \(der.byteCount - rest)"
            )
        }
    }

    deinit {
        unsafe X509_free(pointer)
    }

    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        unsafe body(pointer)
    }

    /// Returns the first and the last second of the validity period, in seconds since 1970.
    func validity() throws(CryptoError) -> (Int64, Int64) {
        try (
            unsafe Self.seconds(X509_get0_notBefore(pointer), "start"),
            unsafe Self.seconds(X509_get0_notAfter(pointer), "end")
        )
    }

    var subject: String { unsafe Self.text(X509_get_subject_name(pointer)) }

    var issuer: String { unsafe Self.text(X509_get_issuer_name(pointer)) }

    /// Also `true` if the key usage isn't stated.
    var allowsSignatures: Bool {
        unsafe X509_get_key_usage(pointer) & UInt32(X509v3_KU_DIGITAL_SIGNATURE) != 0
    }

    private static func seconds(
        _ time: UnsafePointer<ASN1_TIME>?,
        _ name: StaticString
    ) throws(CryptoError) -> Int64 {
        OpenSSLLibrary.clearErrors()
        let start = unsafe ASN1_TIME_set(nil, 0)
        defer { unsafe ASN1_TIME_free(start) }
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard unsafe ASN1_TIME_diff(&days, &seconds, start, time) == 1 else {
            throw CryptoError(
                .malformedCertificate,
                failed: "ASN1_TIME_diff",
                "The \(name) of the certificate's validity isn't a valid time"
            )
        }
        return Int64(days) * 86_400 + Int64(clamping: seconds)
    }

    private static func text(_ name: OpaquePointer?) -> String {
        OpenSSLLibrary.clearErrors()
        defer { OpenSSLLibrary.clearErrors() }
        let output = unsafe BIO_new(BIO_s_mem())
        defer { unsafe BIO_free(output) }
        guard unsafe X509_NAME_print_ex(output, name, 0, COpenSSL_name_flags()) >= 0 else { return "" }
        let octets = unsafe [UInt8](unsafeUninitializedCapacity: BIO_ctrl_pending(output)) { buffer, count in
            count = max(Int(unsafe BIO_read(output, buffer.baseAddress, Int32(buffer.count))), 0)
        }
        return String(decoding: octets, as: UTF8.self)
    }
}
