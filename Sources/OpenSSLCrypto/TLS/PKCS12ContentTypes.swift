internal import COpenSSL

/// A check of the types of a PKCS#12 file's contents, before OpenSSL decodes them.
///
/// OpenSSL decodes the certificates in signed and enveloped contents, including their keys,
/// together with the file. Only plain and password-encrypted contents are supported, whose
/// certificates are still encoded when the file has been decoded.
enum PKCS12ContentTypes {
    /// Checks the content of a file, which may be BER
    /// ([RFC 7292 §4](https://www.rfc-editor.org/rfc/rfc7292#section-4)).
    static func check(file octets: [UInt8]) throws(CryptoError) {
        try octets.withBytes { bytes throws(CryptoError) in
            try unsafe elements(of: bytes) { elements throws(CryptoError) in
                guard unsafe elements.count > 1 else { throw malformed }
                try unsafe check(contentInfo: elements[1], [NID_pkcs7_data])
            }
        }
    }

    /// Checks the parts of a file whose own content has been checked.
    static func check(partsOf file: OpaquePointer) throws(CryptoError) {
        let encoding = unsafe [UInt8](encodedBy: { unsafe i2d_PKCS12(file, $0) })
        guard let encoding else { throw malformed }
        try encoding.withBytes { bytes throws(CryptoError) in
            let code = CryptoError.Code.malformedCertificate
            var reader = try DERReader.sequence("PKCS#12 file", in: bytes, code: code)
            _ = try reader.smallInteger("version", in: bytes)
            var content = DERReader(
                try reader.contents(DERReader.Tag.sequence, "content", in: bytes),
                code: code
            )
            _ = try content.identifier("type of the content", in: bytes)
            var data = DERReader(try content.contents(DERReader.Tag.context(0), "content", in: bytes), code: code)
            let parts = try data.contents(DERReader.Tag.octetString, "content", in: bytes)
            try unsafe elements(of: bytes.extracting(parts)) { elements throws(CryptoError) in
                for index in unsafe elements.indices {
                    try unsafe check(contentInfo: elements[index], [NID_pkcs7_data, NID_pkcs7_encrypted])
                }
            }
        }
    }

    private static func check(
        contentInfo element: UnsafeMutablePointer<ASN1_TYPE>,
        _ supported: [Int32]
    ) throws(CryptoError) {
        guard unsafe element.pointee.type == V_ASN1_SEQUENCE, let encoding = unsafe element.pointee.value.sequence
        else {
            throw malformed
        }
        let octets = unsafe UnsafeRawBufferPointer(
            start: ASN1_STRING_get0_data(encoding),
            count: Int(ASN1_STRING_length(encoding))
        )
        try unsafe elements(of: RawSpan(_unsafeBytes: octets)) { elements throws(CryptoError) in
            guard let type = unsafe elements.first, unsafe type.pointee.type == V_ASN1_OBJECT else { throw malformed }
            guard unsafe supported.contains(OBJ_obj2nid(type.pointee.value.object)) else {
                throw CryptoError(
                    .malformedCertificate,
                    "The PKCS#12 file has contents of an unsupported type; only those that are plain or encrypted with a "
                        + "password can be read"
                )
            }
        }
    }

    /// Calls a closure with the elements of a SEQUENCE in BER, which aren't decoded.
    private static func elements(
        of bytes: RawSpan,
        _ body: ([UnsafeMutablePointer<ASN1_TYPE>]) throws(CryptoError) -> Void
    ) throws(CryptoError) {
        OpenSSLLibrary.clearErrors()
        defer { OpenSSLLibrary.clearErrors() }
        let sequence = unsafe bytes.decoded { unsafe d2i_ASN1_SEQUENCE_ANY(nil, $0, $1) }.object
        defer {
            unsafe OPENSSL_sk_pop_free(sequence) { unsafe ASN1_TYPE_free($0?.assumingMemoryBound(to: ASN1_TYPE.self)) }
        }
        guard unsafe sequence != nil else { throw malformed }
        try unsafe body(
            OpenSSLLibrary.elements(of: sequence).map {
                unsafe UnsafeMutableRawPointer($0).assumingMemoryBound(to: ASN1_TYPE.self)
            }
        )
    }

    private static var malformed: CryptoError {
        CryptoError(.malformedCertificate, "The data isn't a PKCS#12 file")
    }
}
