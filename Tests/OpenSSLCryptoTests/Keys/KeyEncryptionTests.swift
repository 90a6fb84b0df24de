import OpenSSLCrypto
import TestSupport
import Testing

@Suite("Encrypted keys", .computing) struct KeyEncryptionTests {
    private static let password = Array("correct".utf8).secret

    /// A key that the OpenSSL command-line tool encrypted with the password `correct`.
    struct Encrypted: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let pem: String
        let spki: String

        /// The DER, or `nil` for OpenSSL's legacy encryption, which the PEM headers state.
        var der: [UInt8]? { pem.contains("DEK-Info") ? nil : [UInt8](pem: pem) }

        init(_ name: String, _ pem: String, _ spki: String) {
            (testDescription, self.pem, self.spki) = (name, pem, spki)
        }

        static let all = [
            Encrypted("EC, PBKDF2", TestPEM.encryptedPBKDF2, TestKey.p256.spki),
            Encrypted("EC, scrypt", TestPEM.encryptedScrypt, TestKey.p256.spki),
            Encrypted("EC, 3DES", TestPEM.encrypted3DES, TestKey.p256.spki),
            Encrypted("EC, legacy", TestPEM.encryptedSEC1, TestKey.p256.spki),
            Encrypted("Ed25519, HMAC-SHA-512", EncryptedKeyPEM.aes256, KeyPEM.ed25519SPKI),
            Encrypted("Ed25519, Camellia", EncryptedKeyPEM.camellia, KeyPEM.ed25519SPKI),
            Encrypted("Ed25519, scrypt", EncryptedKeyPEM.scrypt, KeyPEM.ed25519SPKI),
            Encrypted("Ed25519, 3DES", EncryptedKeyPEM.pbe3DES, KeyPEM.ed25519SPKI),
            Encrypted("RSA, legacy", EncryptedKeyPEM.rsaLegacy, KeyPEM.rsaSPKI),
        ]
    }

    @Test(
        "Decrypts PEM, also with CR LF, and DER with the correct password",
        .shows("RFC 7468, RFC 1421"),
        arguments: Encrypted.all
    )
    func rightPassword(key: Encrypted) throws {
        let expected = try PublicKey(pem: key.spki)
        for pem in [key.pem, key.pem.replacing("\n", with: "\r\n")] {
            #expect(try PrivateKey(pem: pem, password: Self.password).publicKey == expected)
        }
        if let der = key.der { #expect(try PrivateKey(der: der, password: Self.password).publicKey == expected) }
    }

    @Test("Distinguishes a missing, a wrong and a too long password, and a public key", arguments: Encrypted.all)
    func wrongPassword(key: Encrypted) throws {
        func refusal(_ password: String?) throws -> CryptoError? {
            let password = password.map { Array($0.utf8).secret }
            let refusal = error { _ = try PrivateKey(pem: key.pem, password: password) }
            if let der = key.der { #expect(error { _ = try PrivateKey(der: der, password: password) } == refusal) }
            return refusal
        }
        #expect(try refusal(nil)?.code == .passwordRequired)
        for password in ["", "Correct", "correct ", String(repeating: "x", count: 1024)] {
            let refusal = try #require(try refusal(password))
            #expect(refusal.code == .incorrectPassword)
            #expect(password.isEmpty || !refusal.description.contains(password))
        }
        // OpenSSL would truncate it.
        #expect(try refusal(String(repeating: "x", count: 1025))?.code == .invalidArgument)
        #expect(code { _ = try PublicKey(pem: key.pem) } == .wrongKeyType)
        if let der = key.der { #expect(code { _ = try PublicKey(der: der) } == .wrongKeyType) }
    }

    @Test("Rejects every wrong password, even if the padding is valid") func manyWrongPasswords() {
        // The padding is valid for one wrong password in 256.
        let codes = (0..<600).map { number in
            code { _ = try PrivateKey(pem: TestPEM.encryptedSEC1, password: Array("wrong\(number)".utf8).secret) }
        }
        #expect(codes.allSatisfy { $0 == .incorrectPassword })
    }

    @Test("Ignores a password for an unencrypted key") func neededByNone() throws {
        let key = try PrivateKey(pem: TestKey.p256.pkcs8, password: Self.password)
        #expect(try key.publicKey == PublicKey(pem: TestKey.p256.spki))
    }

    @Test("Distinguishes unsupported encryption from a wrong password") func unsupported() {
        for pem in [TestPEM.encryptedDES, EncryptedKeyPEM.pbeDES] {
            #expect(code { _ = try PrivateKey(pem: pem) } == .passwordRequired)
            #expect(code { _ = try PrivateKey(pem: pem, password: Self.password) } == .openSSL)
        }
        let unknown = TestPEM.encryptedSEC1.replacing("AES-128-CBC", with: "ROT-13")
        #expect(code { _ = try PrivateKey(pem: unknown, password: Self.password) } == .openSSL)
    }

    @Test(
        "Rejects a header that doesn't state the encryption",
        arguments: [
            ("Proc-Type: 4,ENCRYPTED", "Proc-Type: 4,CLEAR"), ("Proc-Type: 4,ENCRYPTED", "Comment: none"),
            ("DEK-Info: ", "DEK: "), ("AES-128-CBC,", "AES-128-CBC,zz"), ("AES-128-CBC,", "AES-128-CBC "),
        ]
    )
    func header(part: String, replacement: String) {
        let pem = TestPEM.encryptedSEC1.replacing(part, with: replacement)
        #expect(code { _ = try PrivateKey(pem: pem, password: Self.password) } == .malformedKey)
    }

    @Test("Distinguishes a cost beyond OpenSSL's limit from a wrong password") func memoryLimit() {
        let der = Self.scrypt([0x00, 0x80, 0x00], [0x20], [0x01])
        #expect(code { _ = try PrivateKey(der: der, password: Self.password) } == .openSSL)
    }

    @Test("Rejects a forged cost before any key derivation", .shows("RFC 8018, RFC 7914")) func cost() {
        let forged = [
            Self.pbkdf2([0x7F, 0xFF, 0xFF, 0xFF]), Self.pbkdf2([0x1E, 0x84, 0x81]),
            Self.pbkdf2([UInt8](repeating: 0x7F, count: 20)), Self.pbkdf2([0xFF]),
            Self.scrypt([0x10, 0x00], [0x10, 0x00], [0x10, 0x00]),
            Self.scrypt([0x40, 0, 0, 0, 0, 0, 0], [0x40, 0, 0, 0], [0x7F]),
        ]
        for (index, der) in forged.enumerated() {
            let pem = der.pem("ENCRYPTED PRIVATE KEY")
            #expect(code { _ = try PrivateKey(pem: pem, password: Self.password) } == .malformedKey, "key \(index)")
        }
    }

    @Test("Writes encrypted keys with the documented parameters", .shows("RFC 8018, RFC 7914")) func writing() throws {
        let key = try PrivateKey(pem: KeyPEM.ed448PKCS8)
        let pem = try key.encryptedPKCS8PEM(password: Self.password)
        #expect(pem.hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"))
        #expect(try PrivateKey(pem: pem, password: Self.password).pkcs8PEM() == KeyPEM.ed448PKCS8)
        #expect(code { _ = try PrivateKey(pem: pem, password: Array("wrong".utf8).secret) } == .incorrectPassword)

        let der = [UInt8](pem: pem)
        // PBES2, PBKDF2, a salt of 16 bytes, 600,000 iterations, HMAC-SHA-256, AES-256-CBC.
        for part in [
            "06092a864886f70d01050d", "06092a864886f70d01050c", "0410", "02030927c0", "06082a864886f70d02090500",
            "060960864801650304012a0410",
        ] {
            #expect(der.hex.contains(part))
        }
        #expect(try key.encryptedPKCS8DER(password: Self.password) != der, "salt and IV must differ")
    }

    @Test("Rejects weak parameters") func arguments() throws {
        let key = try PrivateKey(pem: KeyPEM.ed25519PKCS8)
        for iterations in [599_999, 0, -1, .min, 2_000_001, .max] {
            let refusal = code { _ = try key.encryptedPKCS8DER(password: Self.password, iterations: iterations) }
            #expect(refusal == .invalidArgument, "\(iterations) iterations")
        }
        for count in [0, 1025] {
            let password = [UInt8](repeating: 0x78, count: count).secret
            #expect(code { _ = try key.encryptedPKCS8DER(password: password) } == .invalidArgument)
        }
    }

    @Test(
        "Rejects damaged encrypted keys or reads a different key, without trapping",
        arguments: [Encrypted.all[0], Encrypted.all[6]]
    )
    func damaged(key: Encrypted) throws {
        let der = try #require(key.der)
        for count in stride(from: 0, to: der.count, by: 3) {
            let shortened = Array(der.prefix(count))
            #expect(code { _ = try PrivateKey(der: shortened, password: Self.password) } == .malformedKey)
        }
        // The encryption isn't authenticated, and without a public key, damage to an Edwards seed
        // goes undetected.
        let expected = try PublicKey(pem: key.spki)
        let isCurve = expected.kind == "P-256"
        for index in der.indices {
            var changed = der
            changed[index] ^= isCurve ? 0x20 : 0x10
            let found = try? PrivateKey(der: changed, password: Self.password)
            #expect(isCurve ? found == nil : found?.publicKey != expected, "byte \(index)")
        }
    }

    @Test("Rejects damaged keys with legacy encryption without trapping") func damagedSEC1() throws {
        let lines = TestPEM.encryptedSEC1.split(separator: "\n", omittingEmptySubsequences: false)
        let header = lines[1...2].joined(separator: "\n")
        let contents = [UInt8](pem: lines[4...].joined(separator: "\n"))
        func refusal(_ contents: [UInt8], cipher: String = "AES-128-CBC") -> CryptoError.Code? {
            let pem = contents.pem("EC PRIVATE KEY")
                .replacing("KEY-----\n", with: "KEY-----\n\(header)\n\n", maxReplacements: 1)
                .replacing("AES-128-CBC", with: cipher)
            return code { _ = try PrivateKey(pem: pem, password: Self.password) }
        }
        #expect(refusal(contents) == nil)
        for count in 1..<contents.count {
            #expect(refusal(Array(contents.prefix(count))) == .incorrectPassword, "\(count) bytes")
        }
        for index in contents.indices {
            var changed = contents
            changed[index] ^= 0x01
            #expect(refusal(changed) != nil, "byte \(index)")
        }
        for cipher in ["AES-256-GCM", "id-aes128-wrap", "RC4", "CHACHA20", "AES-128-CTR", "AES-128-ECB"] {
            #expect(refusal(contents, cipher: cipher) != nil, "\(cipher)")
        }
    }

    private static func pbkdf2(_ iterations: [UInt8]) -> [UInt8] {
        encryptedKey([UInt8](hex: "2a864886f70d01050c"), [iterations])
    }

    private static func scrypt(_ n: [UInt8], _ r: [UInt8], _ p: [UInt8]) -> [UInt8] {
        encryptedKey([UInt8](hex: "2b06010401da47040b"), [n, r, p])
    }

    private static func encryptedKey(_ derivation: [UInt8], _ numbers: [[UInt8]]) -> [UInt8] {
        let salt = [UInt8].der(0x04, [1, 2, 3, 4, 5, 6, 7, 8])
        let parameters = [UInt8].der(0x30, salt, numbers.flatMap { [UInt8].der(0x02, $0) })
        let function = [UInt8].der(0x30, .der(0x06, derivation), parameters)
        let vector = [UInt8].der(0x04, [UInt8](repeating: 0, count: 16))
        let cipher = [UInt8].der(0x30, .der(0x06, [UInt8](hex: "60864801650304012a")), vector)
        let pbes2 = [UInt8].der(0x06, [UInt8](hex: "2a864886f70d01050d"))
        let algorithm = [UInt8].der(0x30, pbes2, .der(0x30, function, cipher))
        return .der(0x30, algorithm, .der(0x04, [UInt8](repeating: 0, count: 32)))
    }
}
