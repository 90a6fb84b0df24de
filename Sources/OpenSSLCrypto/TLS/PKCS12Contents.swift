internal import COpenSSL

/// The contents of a PKCS#12 file: a key, its certificate and other certificates.
struct PKCS12Contents {
    private var key: PrivateKey?
    private var certificates: [Certificate] = []
    /// The reason why the first unsupported certificate can't be read.
    private var refusal: CryptoError?

    /// A Boolean value that indicates whether a private key was added.
    ///
    /// Only the first key of a file is used.
    var hasKey: Bool { key != nil }

    /// Adds the private key, a PrivateKeyInfo, after the usual checks.
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

    /// Adds the certificate in a SafeBag ([RFC 7292
    /// §4.2.3](https://www.rfc-editor.org/rfc/rfc7292#section-4.2.3)).
    ///
    /// A certificate with an unsupported key may be unrelated, and is skipped.
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
            var certificate = DERReader(
                try certBag.contents(Tag.context(0), "value of the CertBag", in: bytes),
                code: code
            )
            return try certificate.contents(Tag.octetString, "certificate", in: bytes)
        }
        return Array(encoding[range])
    }

    /// Returns the key.
    func privateKey() throws(CryptoError) -> PrivateKey {
        guard let key else { throw CryptoError(.malformedCertificate, "The PKCS#12 file has no private key") }
        return key
    }

    /// Returns the key's certificate, then those of its issuers that the file contains.
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

    /// Returns the first certificate with a key.
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
