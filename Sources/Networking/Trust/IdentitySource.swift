internal import OpenSSLCrypto

/// The files of an identity.
struct IdentitySource: Sendable {
    let paths: [String]
    /// Reads the files.
    let load: @Sendable () throws -> TLSIdentity

    static func pemFiles(certificates: String, privateKey: String, password: ClientIdentity.Password?) -> Self {
        let paths = certificates == privateKey ? [certificates] : [certificates, privateKey]
        return Self(paths: paths) {
            try pem(
                certificates: TrustFile(certificates).text(),
                privateKey: TrustFile(privateKey).text(),
                password: password,
                from: paths.joined(separator: ", ")
            )
        }
    }

    static func pkcs12File(_ path: String, password: ClientIdentity.Password?) -> Self {
        Self(paths: [path]) { try pkcs12(TrustFile(path).octets, password: password, from: path) }
    }

    /// Creates an identity from certificates and a key in PEM, in any of the two texts.
    static func pem(
        certificates: String,
        privateKey: String,
        password: ClientIdentity.Password?,
        from place: String? = nil
    ) throws -> TLSIdentity {
        let certificates = blocks(of: certificates) { $0 == "CERTIFICATE" }
        let privateKey = blocks(of: privateKey) { $0.hasSuffix("PRIVATE KEY") }
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

    /// Returns the blocks of a PEM text whose labels are wanted, with unchanged content.
    private static func blocks(of text: String, where isWanted: (Substring) -> Bool) -> String {
        var lines = ""
        var isInBlock = false
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.drop { $0 == " " || $0 == "\t" }
            if let label = label(line, after: "-----BEGIN "), isWanted(label) { isInBlock = true }
            if isInBlock { lines += line + "\n" }
            if label(line, after: "-----END ") != nil { isInBlock = false }
        }
        return lines
    }

    private static func label(_ line: Substring, after start: String) -> Substring? {
        guard line.hasPrefix(start), let end = line.dropFirst(start.count).firstRange(of: "-----") else { return nil }
        return line[line.index(line.startIndex, offsetBy: start.count)..<end.lowerBound]
    }
}
