internal import COpenSSL
internal import Glibc
import OpenSSLCrypto

/// A certificate to issue.
///
/// It conforms to [RFC 5280 §4.2](https://www.rfc-editor.org/rfc/rfc5280#section-4.2), with basic
/// constraints, key usage, extended key usage, key identifiers and, for servers, subject
/// alternative names. A name, host or time that a certificate can't represent is an
/// `invalidArgument`.
struct CertificateTemplate {
    enum Role {
        case authority
        /// DNS names, including wildcards, and IP addresses.
        case server(hosts: [String])
        case client
    }

    /// 1 to 64 characters.
    let commonName: String
    let role: Role
    /// In seconds since 1970 (UTC).
    let notBefore: Int64
    /// The last second of the validity period, in seconds since 1970 (UTC).
    let notAfter: Int64

    func certificate(
        for key: PublicKey,
        issuer: Certificate,
        issuerKey: PrivateKey
    ) throws(CryptoError) -> Certificate {
        let builder = try CertificateBuilder(self, for: key)
        try unsafe issuer.withX509 { issuer throws(CryptoError) in try unsafe builder.setIssuer(issuer, isOther: true) }
        return try builder.signed(with: issuerKey)
    }

    func selfSignedCertificate(key: PrivateKey) throws(CryptoError) -> Certificate {
        let builder = try CertificateBuilder(self, for: key.publicKey)
        try builder.setOwnIssuer()
        return try builder.signed(with: key)
    }
}

/// A certificate under construction: the sole owner of an `X509`.
@safe private final class CertificateBuilder {
    private let pointer: OpaquePointer
    private let template: CertificateTemplate
    /// TLS 1.2 may use RSA keys for key encipherment.
    private let isRSA: Bool

    init(_ template: CertificateTemplate, for key: PublicKey) throws(CryptoError) {
        OpenSSLLibrary.prepareAndClearErrors()
        guard let pointer = unsafe X509_new() else { throw CryptoError(failed: "X509_new", "No memory") }
        unsafe self.pointer = pointer
        self.template = template
        isRSA = if case .rsa = key { true } else { false }
        guard unsafe X509_set_version(pointer, Int(X509_VERSION_3)) == 1 else {
            throw CryptoError(failed: "X509_set_version", "Can't create the certificate")
        }
        try setSerialNumber()
        try setValidity()
        try setSubject()
        guard try unsafe key.withEVPKey({ unsafe X509_set_pubkey(pointer, $0) }) == 1 else {
            throw CryptoError(failed: "X509_set_pubkey", "Can't create the certificate")
        }
    }

    deinit {
        unsafe X509_free(pointer)
    }

    func signed(with key: PrivateKey) throws(CryptoError) -> Certificate {
        // NULL if the key's algorithm includes a hash.
        let hash =
            switch key {
            case .rsa: unsafe EVP_sha256()
            case .ellipticCurve(let key): unsafe key.curve.coordinateSize > 32 ? EVP_sha384() : EVP_sha256()
            case .edwards, .montgomery, .mldsa: unsafe OpaquePointer?.none
            }
        guard try unsafe key.withEVPKey({ unsafe X509_sign(pointer, $0, hash) }) > 0 else {
            throw CryptoError(failed: "X509_sign", "Can't sign the certificate")
        }
        return try unsafe Certificate(copying: pointer)
    }

    /// Sets a positive number of at most 20 bytes (RFC 5280 §4.1.2.2), random to prevent collisions
    /// between authorities with the same name.
    private func setSerialNumber() throws(CryptoError) {
        var octets = try SecureRandom.bytes(count: 16)
        octets[0] = octets[0] & 0x7F | 0x40
        let number = unsafe BN_bin2bn(octets, Int32(octets.count), nil)
        defer { unsafe BN_free(number) }
        guard unsafe BN_to_ASN1_INTEGER(number, X509_get_serialNumber(pointer)) != nil else {
            throw CryptoError(failed: "BN_to_ASN1_INTEGER", "Can't set the certificate's serial number")
        }
    }

    private func setValidity() throws(CryptoError) {
        guard template.notBefore <= template.notAfter else {
            throw CryptoError(.invalidArgument, "The certificate would expire before it becomes valid")
        }
        guard
            unsafe ASN1_TIME_set(X509_getm_notBefore(pointer), time_t(template.notBefore)) != nil,
            unsafe ASN1_TIME_set(X509_getm_notAfter(pointer), time_t(template.notAfter)) != nil
        else {
            throw CryptoError(
                .invalidArgument,
                failed: "ASN1_TIME_set",
                "The certificate's validity must be within the years 0 to 9999"
            )
        }
    }

    private func setSubject() throws(CryptoError) {
        let octets = Array(template.commonName.utf8)
        let isSet = unsafe X509_NAME_add_entry_by_NID(
            X509_get_subject_name(pointer),
            NID_commonName,
            MBSTRING_FLAG,
            octets,
            Int32(clamping: octets.count),
            -1,
            0
        )
        guard isSet == 1, !octets.isEmpty else {
            throw CryptoError(
                .invalidArgument,
                failed: "X509_NAME_add_entry_by_NID",
                "The common name has \(octets.count) bytes, but must have 1 to 64 characters"
            )
        }
    }

    func setOwnIssuer() throws(CryptoError) {
        try unsafe setIssuer(pointer, isOther: false)
    }

    func setIssuer(_ issuer: OpaquePointer, isOther: Bool) throws(CryptoError) {
        OpenSSLLibrary.clearErrors()
        guard unsafe X509_set_issuer_name(pointer, X509_get_subject_name(issuer)) == 1 else {
            throw CryptoError(failed: "X509_set_issuer_name", "Can't set the certificate's issuer")
        }
        try unsafe add(NID_subject_key_identifier, "hash", issuer)
        // A self-signed certificate may omit it (RFC 5280 §4.2.1.1).
        if isOther { try unsafe add(NID_authority_key_identifier, "keyid:always", issuer) }
        let signs = isRSA ? "critical,digitalSignature,keyEncipherment" : "critical,digitalSignature"
        switch template.role {
        case .authority:
            try unsafe add(NID_basic_constraints, "critical,CA:TRUE", issuer)
            try unsafe add(NID_key_usage, "critical,keyCertSign,cRLSign", issuer)
        case .server(let hosts):
            try unsafe add(NID_basic_constraints, "critical,CA:FALSE", issuer)
            try unsafe add(NID_key_usage, signs, issuer)
            try unsafe add(NID_ext_key_usage, "serverAuth", issuer)
            if !hosts.isEmpty { try addNames(hosts) }
        case .client:
            try unsafe add(NID_basic_constraints, "critical,CA:FALSE", issuer)
            try unsafe add(NID_key_usage, signs, issuer)
            try unsafe add(NID_ext_key_usage, "clientAuth", issuer)
        }
    }

    /// Adds an extension in OpenSSL's configuration syntax, which must never contain external
    /// input.
    private func add(_ identifier: Int32, _ value: String, _ issuer: OpaquePointer) throws(CryptoError) {
        var context = unsafe X509V3_CTX()
        unsafe X509V3_set_ctx(&context, issuer, pointer, nil, nil, 0)
        let made = unsafe X509V3_EXT_conf_nid(nil, &context, identifier, value)
        defer { unsafe X509_EXTENSION_free(made) }
        guard unsafe made != nil, unsafe X509_add_ext(pointer, made, -1) == 1 else {
            throw CryptoError(failed: "X509_add_ext", "Can't add the extension “\(value)”")
        }
    }

    /// Adds the subject alternative names individually, so that no character in a name acts as a
    /// separator.
    private func addNames(_ hosts: [String]) throws(CryptoError) {
        let names = unsafe OPENSSL_sk_new_null()
        defer { unsafe GENERAL_NAMES_free(names) }
        for host in hosts {
            guard let name = unsafe GENERAL_NAME_new() else {
                throw CryptoError(failed: "GENERAL_NAME_new", "No memory")
            }
            guard unsafe OPENSSL_sk_push(names, name) > 0 else {
                unsafe GENERAL_NAME_free(name)
                throw CryptoError(failed: "OPENSSL_sk_push", "No memory")
            }
            if let address = unsafe a2i_IPADDRESS(host) {
                unsafe GENERAL_NAME_set0_value(name, GEN_IPADD, address)
            } else {
                OpenSSLLibrary.clearErrors()
                try unsafe GENERAL_NAME_set0_value(name, GEN_DNS, Self.dnsName(host))
            }
        }
        let isAdded = unsafe X509_add1_ext_i2d(
            pointer,
            NID_subject_alt_name,
            UnsafeMutableRawPointer(names),
            0,
            UInt(X509V3_ADD_DEFAULT)
        )
        guard isAdded == 1 else { throw CryptoError(failed: "X509_add1_ext_i2d", "Can't add the host names") }
    }

    /// Returns an IA5String with a DNS name, which the caller owns.
    private static func dnsName(_ host: String) throws(CryptoError) -> UnsafeMutablePointer<ASN1_IA5STRING> {
        let octets = Array(host.utf8)
        let isPossible = octets.allSatisfy { octet in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(octet | 0x20)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octet) || [0x2A, 0x2D, 0x2E, 0x5F].contains(octet)
        }
        guard (1...253).contains(octets.count), isPossible else {
            throw CryptoError(
                .invalidArgument,
                "“\(host.prefix(64))” is neither a DNS name in ASCII nor an IP address"
            )
        }
        let text = unsafe ASN1_IA5STRING_new()
        guard let text = unsafe text, unsafe ASN1_STRING_set(text, octets, Int32(octets.count)) == 1 else {
            unsafe ASN1_IA5STRING_free(text)
            throw CryptoError(failed: "ASN1_STRING_set", "No memory")
        }
        return unsafe text
    }
}

extension MockCertificate {
    /// Returns a PFX ([RFC 7292](https://www.rfc-editor.org/rfc/rfc7292)), encrypted with PBES2
    /// (PBKDF2, AES-256-CBC) and authenticated with HMAC-SHA-256, OpenSSL 3's defaults; a password
    /// with a zero byte is an `invalidArgument`.
    func archive(password: String) throws(CryptoError) -> [UInt8] {
        guard !password.utf8.contains(0) else {
            throw CryptoError(.invalidArgument, "The password must not contain a zero byte")
        }
        let issuers = unsafe OPENSSL_sk_new_null()
        defer { unsafe OPENSSL_sk_pop_free(issuers) { unsafe X509_free(OpaquePointer($0)) } }
        for issuer in chain.certificates.dropFirst() {
            let isAdded = try unsafe issuer.withX509 { unsafe X509_add_cert(issuers, $0, X509_ADD_FLAG_UP_REF) == 1 }
            guard isAdded else { throw CryptoError(failed: "X509_add_cert", "No memory") }
        }
        return try unsafe key.withEVPKey { key throws(CryptoError) in
            try unsafe chain.certificates[0].withX509 { certificate throws(CryptoError) in
                guard let archive = unsafe PKCS12_create(password, nil, key, certificate, issuers, 0, 0, 0, 0, 0) else {
                    throw CryptoError(failed: "PKCS12_create", "Can't encode the certificate and its key")
                }
                defer { unsafe PKCS12_free(archive) }
                return try unsafe [UInt8](encodedBy: "i2d_PKCS12") { unsafe i2d_PKCS12(archive, $0) }
            }
        }
    }
}

// Keys and certificates reach OpenSSL, and come back, as DER. A closure's object is freed after the
// closure, so functions that keep it must take a reference.

extension PrivateKey {
    func withEVPKey<Result>(_ body: (OpaquePointer) throws(CryptoError) -> Result) throws(CryptoError) -> Result {
        try pkcs8DER().withBytes { der throws(CryptoError) in
            let key = unsafe try der.decoded(by: "d2i_AutoPrivateKey") { unsafe d2i_AutoPrivateKey(nil, $0, $1) }
            defer { unsafe EVP_PKEY_free(key) }
            return try unsafe body(key)
        }
    }
}

extension PublicKey {
    fileprivate func withEVPKey<Result>(_ body: (OpaquePointer) -> Result) throws(CryptoError) -> Result {
        try spkiDER().withBytes { der throws(CryptoError) in
            let key = unsafe try der.decoded(by: "d2i_PUBKEY") { unsafe d2i_PUBKEY(nil, $0, $1) }
            defer { unsafe EVP_PKEY_free(key) }
            return unsafe body(key)
        }
    }
}

extension Certificate {
    init(copying certificate: OpaquePointer) throws(CryptoError) {
        try self.init(der: unsafe [UInt8](encodedBy: "i2d_X509") { unsafe i2d_X509(certificate, $0) })
    }

    func withX509<Result>(_ body: (OpaquePointer) throws(CryptoError) -> Result) throws(CryptoError) -> Result {
        try der.withBytes { der throws(CryptoError) in
            let certificate = unsafe try der.decoded(by: "d2i_X509") { unsafe d2i_X509(nil, $0, $1) }
            defer { unsafe X509_free(certificate) }
            return try unsafe body(certificate)
        }
    }
}

extension RawSpan {
    /// Decodes an object, which the caller owns.
    fileprivate func decoded(
        by function: StaticString,
        _ decode: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?
    ) throws(CryptoError) -> OpaquePointer {
        OpenSSLLibrary.clearErrors()
        let object = unsafe withUnsafeBytes { bytes in
            var next = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return unsafe decode(&next, bytes.count)
        }
        guard let object = unsafe object else { throw CryptoError(failed: function, "OpenSSL rejected the DER") }
        return unsafe object
    }
}

extension [UInt8] {
    /// The closure lets OpenSSL allocate the encoding.
    fileprivate init(
        encodedBy function: StaticString,
        _ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32
    ) throws(CryptoError) {
        OpenSSLLibrary.clearErrors()
        var start: UnsafeMutablePointer<UInt8>?
        let count = unsafe encode(&start)
        defer { unsafe CRYPTO_free(start, nil, 0) }
        guard count > 0 else { throw CryptoError(failed: function, "Can't encode the object") }
        unsafe self.init(UnsafeBufferPointer(start: start, count: Int(count)))
    }
}
