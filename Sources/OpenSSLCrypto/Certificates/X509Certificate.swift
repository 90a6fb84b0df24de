internal import COpenSSL

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

    /// Calls a closure with the pointer, which is valid only during the call.
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

    /// A Boolean value that indicates whether the key usage includes digital signatures or isn't
    /// stated.
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
