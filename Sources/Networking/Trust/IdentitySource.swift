internal import OpenSSLCrypto

/// The files of an identity.
enum IdentitySource: Sendable {
    case pemFiles(certificates: String, privateKey: String, password: ClientIdentity.Password?)
    case pkcs12File(String, password: ClientIdentity.Password?)

    /// The files' paths.
    var paths: [String] {
        switch self {
        case .pemFiles(let certificates, let privateKey, _): [certificates, privateKey]
        case .pkcs12File(let path, _): [path]
        }
    }

    /// Reads the files.
    func load() throws -> TLSIdentity {
        switch self {
        case .pemFiles(let certificates, let privateKey, let password):
            try Self.pem(
                certificates: TrustFile(certificates).text(),
                privateKey: TrustFile(privateKey).text(),
                password: password,
                from: certificates == privateKey ? certificates : "\(certificates), \(privateKey)"
            )
        case .pkcs12File(let path, let password):
            try Self.pkcs12(TrustFile(path).octets, password: password, from: path)
        }
    }

    /// Creates an identity from certificates and a key in PEM, in any of the two texts.
    static func pem(
        certificates: String,
        privateKey: String,
        password: ClientIdentity.Password?,
        from place: String? = nil
    ) throws -> TLSIdentity {
        let certificates = PEMText(certificates).blocks { $0 == "CERTIFICATE" }
        let privateKey = PEMText(privateKey).blocks { $0.hasSuffix("PRIVATE KEY") }
        return try withPassword(password, in: place) { password throws(CryptoError) in
            try TLSIdentity(
                certificates: Certificate.list(pem: certificates),
                privateKey: PrivateKey(pem: privateKey, password: password)
            )
        }
    }

    /// Creates an identity from PKCS#12 data.
    static func pkcs12(
        _ octets: [UInt8],
        password: ClientIdentity.Password?,
        from place: String? = nil
    ) throws -> TLSIdentity {
        try withPassword(password, in: place) { password throws(CryptoError) in
            try TLSIdentity(pkcs12: octets, password: password)
        }
    }

    /// Tries without a password first, so that the password is only requested if it's needed.
    private static func withPassword(
        _ password: ClientIdentity.Password?,
        in place: String?,
        _ body: (SecretBytes?) throws(CryptoError) -> TLSIdentity
    ) throws -> TLSIdentity {
        do throws(CryptoError) {
            return try body(nil)
        } catch {
            guard error.code == .passwordRequired, password != nil else {
                throw TrustConfigurationError(error, in: place)
            }
        }
        let octets = [UInt8](try password?().utf8 ?? "".utf8)
        do throws(CryptoError) {
            return try body(octets.withBytes { SecretBytes(copying: $0) })
        } catch {
            throw TrustConfigurationError(error, in: place)
        }
    }
}
