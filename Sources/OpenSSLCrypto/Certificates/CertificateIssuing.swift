internal import COpenSSL

/// A certificate with its private key that issues other certificates, for tests and private
/// authorities.
///
/// The certificates conform to [RFC 5280 §4.2](https://www.rfc-editor.org/rfc/rfc5280#section-4.2),
/// with basic constraints, key usage, extended key usage, key identifiers and, for servers, subject
/// alternative names.
package struct CertificateIssuingAuthority: Sendable {
    package let certificate: Certificate

    private let key: EVPKey

    /// The certificate's right to issue others isn't checked.
    package init(certificate: Certificate, key: PrivateKey) throws(CryptoError) {
        guard key.publicKey.spkiDER() == certificate.subjectPublicKeyInfo else {
            throw CryptoError(
                .keyMismatch,
                "The key doesn't belong to the certificate “\(certificate.subject.prefix(128))”"
            )
        }
        self.certificate = certificate
        self.key = try EVPKey.make(key)
    }

    /// A name, host or time that a certificate can't represent is an `invalidArgument`.
    package func certificate(
        _ template: CertificateIssuingTemplate,
        for publicKey: PublicKey
    ) throws(CryptoError) -> Certificate {
        let builder = try CertificateIssuingBuilder(template, key: EVPKey.make(publicKey), isRSA: publicKey.isRSA)
        try builder.setIssuer(certificate.x509)
        return try builder.signed(with: key, hash: certificate.publicKey().certificateHash)
    }

    /// Issues a root, or a certificate that no authority vouches for.
    package static func selfSignedCertificate(
        _ template: CertificateIssuingTemplate,
        key: PrivateKey
    ) throws(CryptoError) -> Certificate {
        let evpKey = try EVPKey.make(key)
        let builder = try CertificateIssuingBuilder(template, key: evpKey, isRSA: key.publicKey.isRSA)
        try builder.setIssuer(nil)
        return try builder.signed(with: evpKey, hash: key.publicKey.certificateHash)
    }
}

extension PublicKey {
    fileprivate var isRSA: Bool {
        if case .rsa = self { true } else { false }
    }

    /// `nil` if the algorithm includes one.
    fileprivate var certificateHash: HashFunction? {
        switch self {
        case .rsa: .sha256
        case .ellipticCurve(let key):
            key.curve.coordinateSize > 48 ? .sha512 : key.curve.coordinateSize > 32 ? .sha384 : .sha256
        case .edwards, .montgomery, .mldsa: nil
        }
    }
}

package struct CertificateIssuingTemplate: Sendable {
    package enum Role: Sendable, Hashable {
        /// `pathLength` is the maximum number of authorities between it and an end entity, `nil`
        /// for no limit ([RFC 5280
        /// §4.2.1.9](https://www.rfc-editor.org/rfc/rfc5280#section-4.2.1.9)).
        case authority(pathLength: Int?)
        /// DNS names, including wildcards, and IP addresses.
        case server(hosts: [String])
        case client
    }

    /// 1 to 64 characters.
    package var commonName: String
    package var role: Role
    /// In seconds since 1970 (UTC).
    package var notBefore: Int64
    /// The last second of the validity period, in seconds since 1970 (UTC).
    package var notAfter: Int64

    package init(commonName: String, role: Role, notBefore: Int64, notAfter: Int64) {
        self.commonName = commonName
        self.role = role
        self.notBefore = notBefore
        self.notAfter = notAfter
    }
}

/// A certificate under construction: the sole owner of an `X509`.
@safe final class CertificateIssuingBuilder {
    private let pointer: OpaquePointer
    private let template: CertificateIssuingTemplate
    private let isRSA: Bool

    /// TLS 1.2 may use RSA keys for key encipherment.
    init(_ template: CertificateIssuingTemplate, key: EVPKey, isRSA: Bool) throws(CryptoError) {
        OpenSSLLibrary.prepareAndClearErrors()
        guard let pointer = unsafe X509_new() else { throw CryptoError(failed: "X509_new", "No memory") }
        unsafe self.pointer = pointer
        self.template = template
        self.isRSA = isRSA
        guard unsafe X509_set_version(pointer, Int(X509_VERSION_3)) == 1 else {
            throw CryptoError(failed: "X509_set_version", "Can't create the certificate")
        }
        try setSerialNumber()
        try setValidity()
        try setSubject()
        guard unsafe key.withPointer({ unsafe X509_set_pubkey(pointer, $0) }) == 1 else {
            throw CryptoError(failed: "X509_set_pubkey", "Can't create the certificate")
        }
    }

    deinit {
        unsafe X509_free(pointer)
    }

    /// `nil` makes a self-signed certificate; a malformed host is an `invalidArgument`.
    func setIssuer(_ issuer: X509Certificate?) throws(CryptoError) {
        guard let issuer else { return try unsafe setIssuer(pointer, isOther: false) }
        let result: Result<Void, CryptoError> = unsafe issuer.withPointer { issuer in
            Result { () throws(CryptoError) in try unsafe setIssuer(issuer, isOther: true) }
        }
        try result.get()
    }

    /// `hash` is `nil` if the key's algorithm includes one.
    func signed(with key: EVPKey, hash: HashFunction?) throws(CryptoError) -> Certificate {
        OpenSSLLibrary.clearErrors()
        func sign(_ digest: OpaquePointer?) -> Bool {
            unsafe key.withPointer { unsafe X509_sign(pointer, $0, digest) } > 0
        }
        let isSigned =
            if let hash {
                unsafe try MessageDigest.fetched(for: hash).withPointer { unsafe sign($0) }
            } else {
                sign(nil)
            }
        guard isSigned else { throw CryptoError(failed: "X509_sign", "Can't sign the certificate") }
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

    private func setIssuer(_ issuer: OpaquePointer, isOther: Bool) throws(CryptoError) {
        OpenSSLLibrary.clearErrors()
        guard unsafe X509_set_issuer_name(pointer, X509_get_subject_name(issuer)) == 1 else {
            throw CryptoError(failed: "X509_set_issuer_name", "Can't set the certificate's issuer")
        }
        try unsafe add(NID_subject_key_identifier, "hash", issuer)
        // A self-signed certificate may omit it (RFC 5280 §4.2.1.1).
        if isOther { try unsafe add(NID_authority_key_identifier, "keyid:always", issuer) }
        let signs = isRSA ? "critical,digitalSignature,keyEncipherment" : "critical,digitalSignature"
        switch template.role {
        case .authority(let pathLength):
            let limit = pathLength.map { ",pathlen:\(max($0, 0))" } ?? ""
            try unsafe add(NID_basic_constraints, "critical,CA:TRUE" + limit, issuer)
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

/// Encodes a certificate and its private key as PKCS#12
/// ([RFC 7292](https://www.rfc-editor.org/rfc/rfc7292)).
package enum CertificateIssuingPKCS12 {
    /// Returns a PFX, encrypted with PBES2 (PBKDF2, AES-256-CBC) and authenticated with
    /// HMAC-SHA-256, OpenSSL 3's defaults; a password with a zero byte is an `invalidArgument`.
    package static func encoding(
        chain: CertificateChain,
        key: PrivateKey,
        password: String,
        name: String? = nil
    ) throws(CryptoError) -> [UInt8] {
        guard key.publicKey.spkiDER() == chain.certificates[0].subjectPublicKeyInfo else {
            throw CryptoError(.keyMismatch, "The key doesn't belong to the first certificate")
        }
        guard !password.utf8.contains(0) else {
            throw CryptoError(.invalidArgument, "The password must not contain a zero byte")
        }
        let evpKey = try EVPKey.make(key)
        OpenSSLLibrary.clearErrors()
        let archive = unsafe try CertificateStack(chain.certificates.dropFirst()).withPointer { issuers in
            unsafe evpKey.withPointer { key in
                unsafe chain.certificates[0].x509.withPointer { certificate in
                    unsafe PKCS12_create(password, name, key, certificate, issuers, 0, 0, 0, 0, 0)
                }
            }
        }
        guard let archive = unsafe archive else {
            throw CryptoError(failed: "PKCS12_create", "Can't encode the certificate and its key")
        }
        defer { unsafe PKCS12_free(archive) }
        return try unsafe [UInt8](encodedBy: { unsafe i2d_PKCS12(archive, $0) })
            .orThrow(failed: "i2d_PKCS12", "Can't encode the certificate and its key")
    }
}
