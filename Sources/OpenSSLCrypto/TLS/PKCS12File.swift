internal import COpenSSL

/// A decoded PKCS#12 file: the owner of a `PKCS12`.
///
/// `PKCS12_parse` would derive keys with any iteration count in the file, and decode any key.
/// Therefore the file is read in stages, and each count and key is checked before OpenSSL uses it.
@safe struct PKCS12File: ~Copyable {
    private static let maximumDepth = 4

    private let pointer: OpaquePointer
    /// With a terminating zero, so that OpenSSL gets an address for an empty one.
    private var password: SecretBytes?
    private var cost = KeyDerivationCost("PKCS#12 file", code: .malformedCertificate)
    private var count = 0
    private var contents = PKCS12Contents()

    init(_ octets: [UInt8]) throws(CryptoError) {
        guard octets.count <= TLSIdentity.maximumPKCS12Size else {
            throw CryptoError(
                .malformedCertificate,
                "The PKCS#12 file has \(octets.count) bytes, but the limit is \(TLSIdentity.maximumPKCS12Size)"
            )
        }
        OpenSSLLibrary.prepareAndClearErrors()
        try PKCS12ContentTypes.check(file: octets)
        let (object, rest) = unsafe octets.withBytes { bytes in
            unsafe bytes.decoded { unsafe d2i_PKCS12(nil, $0, $1) }
        }
        guard let pointer = unsafe object else {
            throw CryptoError(.malformedCertificate, failed: "d2i_PKCS12", "The data isn't a PKCS#12 file")
        }
        guard rest == 0 else {
            unsafe PKCS12_free(pointer)
            throw CryptoError(.malformedCertificate, "The PKCS#12 file has \(rest) extra bytes at its end")
        }
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe PKCS12_free(pointer)
    }

    mutating func contents(password given: SecretBytes?) throws(CryptoError) -> PKCS12Contents {
        if let given, given.count > 0 { password = try Self.terminated(given) }
        OpenSSLLibrary.clearErrors()
        defer { OpenSSLLibrary.clearErrors() }
        try checkMAC(hasPassword: given != nil)
        try read()
        return contents
    }

    private static func terminated(_ password: SecretBytes) throws(CryptoError) -> SecretBytes {
        let hasZero = password.withBytes { bytes in bytes.byteOffsets.contains { bytes[$0] == 0 } }
        guard !hasZero, password.count <= PrivateKeyDecryption.maximumPasswordSize else {
            throw CryptoError(
                .incorrectPassword,
                "The password has a NUL or more than \(PrivateKeyDecryption.maximumPasswordSize) bytes"
            )
        }
        return SecretBytes(capacity: password.count + 1) { output in
            password.withBytes { output.append($0) }
            output.append(0)
        }
    }

    private func withPassword<Result>(_ body: (UnsafePointer<CChar>?, Int32) -> Result) -> Result {
        unsafe password?.withPassword { unsafe body($0, $1 - 1) } ?? body(nil, 0)
    }

    private mutating func checkMAC(hasPassword: Bool) throws(CryptoError) {
        guard unsafe PKCS12_mac_present(pointer) == 1 else { return }
        var isGood = try isMAC()
        if !isGood, password == nil {
            // PKCS#12 distinguishes between no password and an empty one, and both kinds of files
            // exist.
            password = SecretBytes(capacity: 1) { $0.append(0) }
            isGood = try isMAC()
        }
        guard !isGood else { return }
        guard hasPassword else {
            throw CryptoError(.passwordRequired, "The PKCS#12 file is encrypted: a password is needed")
        }
        throw CryptoError(
            .incorrectPassword,
            failed: "PKCS12_verify_mac",
            "Can't open the PKCS#12 file; the password is wrong or the file is damaged"
        )
    }

    private mutating func isMAC() throws(CryptoError) -> Bool {
        var algorithm: UnsafePointer<X509_ALGOR>?
        var iterations: UnsafePointer<ASN1_INTEGER>?
        unsafe PKCS12_get0_mac(nil, &algorithm, nil, &iterations, pointer)
        var number: Int64 = 1
        if unsafe iterations != nil, unsafe ASN1_INTEGER_get_int64(&number, iterations) != 1 { number = .max }
        let name = unsafe algorithm?.pointee.algorithm
        let identifier = unsafe ObjectIdentifier(
            octets: Array(UnsafeBufferPointer(start: OBJ_get0_data(name), count: OBJ_length(name)))
        )
        try cost.add(iterations: Int(number), digest: identifier)
        // PBMAC1 has an additional count in its parameters (RFC 9579 §4).
        if identifier == .pbmac1 { try unsafe add(algorithm) }
        OpenSSLLibrary.clearErrors()
        return unsafe withPassword { unsafe PKCS12_verify_mac(pointer, $0, $1) == 1 }
    }

    private mutating func read() throws(CryptoError) {
        try unsafe PKCS12ContentTypes.check(partsOf: pointer)
        OpenSSLLibrary.clearErrors()
        let parts = unsafe PKCS12_unpack_authsafes(pointer)
        defer {
            unsafe OPENSSL_sk_pop_free(parts) { unsafe PKCS7_free($0?.assumingMemoryBound(to: PKCS7.self)) }
        }
        guard unsafe parts != nil else { throw Self.failure("PKCS12_unpack_authsafes") }
        for index in 0..<max(unsafe OPENSSL_sk_num(parts), 0) {
            try countOne()
            try unsafe read(OPENSSL_sk_value(parts, index)?.assumingMemoryBound(to: PKCS7.self))
        }
    }

    private mutating func read(_ part: UnsafeMutablePointer<PKCS7>?) throws(CryptoError) {
        let bags: OpaquePointer?
        switch unsafe COpenSSL_pkcs7_type(part) {
        case NID_pkcs7_data:
            unsafe bags = PKCS12_unpack_p7data(part)
        case NID_pkcs7_encrypted:
            try unsafe add(COpenSSL_pkcs7_encryption(part))
            OpenSSLLibrary.clearErrors()
            unsafe bags = withPassword { unsafe PKCS12_unpack_p7encdata(part, $0, $1) }
        default:
            return
        }
        defer { unsafe OPENSSL_sk_pop_free(bags) { unsafe PKCS12_SAFEBAG_free(OpaquePointer($0)) } }
        guard unsafe bags != nil else { throw Self.failure("PKCS12_unpack_p7encdata") }
        try unsafe read(bags, depth: 1)
    }

    private mutating func read(_ bags: OpaquePointer?, depth: Int) throws(CryptoError) {
        guard depth <= Self.maximumDepth else {
            throw CryptoError(
                .malformedCertificate,
                "The PKCS#12 file has contents nested more than \(Self.maximumDepth) levels deep"
            )
        }
        for index in 0..<max(unsafe OPENSSL_sk_num(bags), 0) {
            try countOne()
            let bag = unsafe OPENSSL_sk_value(bags, index).map { OpaquePointer($0) }
            switch unsafe PKCS12_SAFEBAG_get_nid(bag) {
            case NID_keyBag:
                if !contents.hasKey { try unsafe contents.add(PKCS12_SAFEBAG_get0_p8inf(bag)) }
            case NID_pkcs8ShroudedKeyBag:
                if !contents.hasKey { try unsafe decrypt(bag) }
            case NID_certBag:
                guard unsafe PKCS12_SAFEBAG_get_bag_nid(bag) == NID_x509Certificate else { continue }
                try unsafe contents.add(certificateIn: bag)
            case NID_safeContentsBag:
                try unsafe read(PKCS12_SAFEBAG_get0_safes(bag), depth: depth + 1)
            default:
                continue
            }
        }
    }

    private mutating func decrypt(_ bag: OpaquePointer?) throws(CryptoError) {
        var algorithm: UnsafePointer<X509_ALGOR>?
        unsafe X509_SIG_get0(PKCS12_SAFEBAG_get0_pkcs8(bag), &algorithm, nil)
        try unsafe add(algorithm)
        OpenSSLLibrary.clearErrors()
        let information = unsafe withPassword { unsafe PKCS12_decrypt_skey(bag, $0, $1) }
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(information) }
        guard unsafe information != nil else { throw Self.failure("PKCS12_decrypt_skey") }
        try unsafe contents.add(information)
    }

    private mutating func add(_ algorithm: UnsafePointer<X509_ALGOR>?) throws(CryptoError) {
        let encoding = unsafe [UInt8](encodedBy: { unsafe algorithm == nil ? 0 : i2d_X509_ALGOR(algorithm, $0) })
        guard let der = encoding else {
            throw CryptoError(.malformedCertificate, "The PKCS#12 file doesn't state how it's encrypted")
        }
        try der.withBytes { der throws(CryptoError) in try cost.add(algorithm: der) }
    }

    private mutating func countOne() throws(CryptoError) {
        count += 1
        guard count <= TLSIdentity.maximumPKCS12Count else {
            throw CryptoError(
                .malformedCertificate,
                "The PKCS#12 file has more than \(TLSIdentity.maximumPKCS12Count) keys, certificates and other contents"
            )
        }
    }

    private static func failure(_ function: StaticString) -> CryptoError {
        let errors = OpenSSLLibrary.drainedErrors()
        guard errors.contains(where: \.isUnsupported) else {
            return CryptoError(
                .malformedCertificate,
                failed: function,
                "Can't read the PKCS#12 file",
                errors: errors
            )
        }
        return CryptoError(
            failed: function,
            "This OpenSSL doesn't support the PKCS#12 file's encryption; convert the file with "
                + "“openssl pkcs12 -in OLD -legacy -nodes | openssl pkcs12 -export -out NEW”",
            errors: errors
        )
    }
}

/// The contents of a PKCS#12 file: a key, its certificate and other certificates.
struct PKCS12Contents {
    private var key: PrivateKey?
    private var certificates: [Certificate] = []
    /// The reason why the first unsupported certificate can't be read.
    private var refusal: CryptoError?

    /// Only the first key of a file is used.
    var hasKey: Bool { key != nil }

    mutating func add(_ information: OpaquePointer?) throws(CryptoError) {
        let der = unsafe SecretBytes(encodedBy: {
            unsafe information == nil ? 0 : i2d_PKCS8_PRIV_KEY_INFO(information, $0)
        })
        guard let der else {
            throw CryptoError(
                .malformedKey,
                failed: "i2d_PKCS8_PRIV_KEY_INFO",
                "Can't decode the PKCS#12 file's private key"
            )
        }
        key = try der.withBytes { bytes throws(CryptoError) in try PrivateKey(der: bytes) }
    }

    /// Reads a SafeBag ([RFC 7292 §4.2.3](https://www.rfc-editor.org/rfc/rfc7292#section-4.2.3));
    /// an unsupported key may be unrelated and is skipped.
    mutating func add(certificateIn bag: OpaquePointer?) throws(CryptoError) {
        guard let encoding = unsafe [UInt8](encodedBy: { unsafe bag == nil ? 0 : i2d_PKCS12_SAFEBAG(bag, $0) }) else {
            throw CryptoError(
                .malformedCertificate,
                failed: "i2d_PKCS12_SAFEBAG",
                "Can't decode a certificate in the PKCS#12 file"
            )
        }
        do throws(CryptoError) {
            certificates.append(try Certificate(der: Self.certificate(inBag: encoding)))
        } catch  where [.wrongKeyType, .unsupportedCurve, .keyTooLarge].contains(error.code) {
            refusal = refusal ?? error
        }
    }

    private static func certificate(inBag encoding: [UInt8]) throws(CryptoError) -> [UInt8] {
        typealias Tag = DERReader.Tag
        let code = CryptoError.Code.malformedCertificate
        let range = try encoding.withBytes { bytes throws(CryptoError) in
            var bag = try DERReader.sequence("SafeBag", in: bytes, code: code)
            _ = try bag.identifier("type of the SafeBag", in: bytes)
            let value = try bag.contents(Tag.context(0), "value of the SafeBag", in: bytes)
            var certBag = try DERReader.sequence("CertBag", in: bytes, value, code: code)
            _ = try certBag.identifier("type of the CertBag", in: bytes)
            var certificate = try certBag.reader(Tag.context(0), "value of the CertBag", in: bytes)
            return try certificate.contents(Tag.octetString, "certificate", in: bytes)
        }
        return Array(encoding[range])
    }

    func privateKey() throws(CryptoError) -> PrivateKey {
        guard let key else { throw CryptoError(.malformedCertificate, "The PKCS#12 file has no private key") }
        return key
    }

    /// The issuers that the file contains follow the key's certificate.
    func chain() throws(CryptoError) -> [Certificate] {
        let key = try privateKey().publicKey
        guard var last = certificate(of: key) else {
            throw refusal
                ?? CryptoError(.malformedCertificate, "The PKCS#12 file has no certificate for its private key")
        }
        var chain = [last]
        while chain.count < CertificateChain.maximumCount, let issuer = issuer(of: last) {
            last = issuer
            chain.append(issuer)
        }
        return chain
    }

    private func certificate(of key: PublicKey) -> Certificate? {
        let encoding = key.spkiDER()
        if let certificate = certificates.first(where: { $0.subjectPublicKeyInfo == encoding }) { return certificate }
        // The point of a certificate may be compressed. Other keys have only one encoding.
        guard case .ellipticCurve = key else { return nil }
        return certificates.first { (try? $0.publicKey()) == key }
    }

    private func issuer(of certificate: Certificate) -> Certificate? {
        defer { OpenSSLLibrary.clearErrors() }
        return certificates.first { other in
            // A root is its own issuer and ends the chain.
            guard other != certificate else { return false }
            return unsafe other.x509.withPointer { issuer in
                unsafe certificate.x509.withPointer { unsafe X509_check_issued(issuer, $0) } == X509_V_OK
            }
        }
    }
}

/// A check of the types of a PKCS#12 file's contents, before OpenSSL decodes them.
///
/// OpenSSL decodes the certificates in signed and enveloped contents, including their keys,
/// together with the file. Only plain and password-encrypted contents are supported, whose
/// certificates are still encoded when the file has been decoded.
enum PKCS12ContentTypes {
    /// The file may be BER ([RFC 7292 §4](https://www.rfc-editor.org/rfc/rfc7292#section-4)).
    static func check(file octets: [UInt8]) throws(CryptoError) {
        try octets.withBytes { bytes throws(CryptoError) in
            try unsafe elements(of: bytes) { elements throws(CryptoError) in
                guard unsafe elements.count > 1 else { throw malformed }
                try unsafe check(contentInfo: elements[1], [NID_pkcs7_data])
            }
        }
    }

    /// The file's own content must have been checked.
    static func check(partsOf file: OpaquePointer) throws(CryptoError) {
        let encoding = unsafe [UInt8](encodedBy: { unsafe i2d_PKCS12(file, $0) })
        guard let encoding else { throw malformed }
        try encoding.withBytes { bytes throws(CryptoError) in
            var file = try DERReader.sequence("PKCS#12 file", in: bytes, code: .malformedCertificate)
            _ = try file.smallInteger("version", in: bytes)
            var content = try file.reader(DERReader.Tag.sequence, "content", in: bytes)
            _ = try content.identifier("type of the content", in: bytes)
            var data = try content.reader(DERReader.Tag.context(0), "content", in: bytes)
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

    /// The SEQUENCE is BER; its elements aren't decoded.
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
