import OpenSSLCrypto
import Testing

@Suite("Encrypted keys of any kind", .serialized) struct KeyEncryptionTests {
    private static let password = Array("correct".utf8).secret

    static let readable = [
        EncryptedKeyPEM.aes256, EncryptedKeyPEM.camellia, EncryptedKeyPEM.scrypt, EncryptedKeyPEM.pbe3DES,
    ]

    @Test("Decrypts PEM and DER with the correct password", arguments: readable)
    func rightPassword(pem: String) throws {
        let expected = try PublicKey(pem: KeyPEM.ed25519SPKI)
        #expect(try PrivateKey(pem: pem, password: Self.password).publicKey == expected)
        #expect(try PrivateKey(der: [UInt8](pem: pem), password: Self.password).publicKey == expected)
    }

    @Test("Distinguishes a missing from a wrong password", arguments: readable)
    func wrongPassword(pem: String) {
        let der = [UInt8](pem: pem)
        #expect(code { _ = try PrivateKey(pem: pem) } == .passwordRequired)
        #expect(code { _ = try PrivateKey(der: der) } == .passwordRequired)
        for password in ["", "Correct", "correct "] {
            let password = Array(password.utf8).secret
            #expect(code { _ = try PrivateKey(pem: pem, password: password) } == .incorrectPassword)
            #expect(code { _ = try PrivateKey(der: der, password: password) } == .incorrectPassword)
        }
        let long = [UInt8](repeating: 0x78, count: 1025).secret
        #expect(code { _ = try PrivateKey(der: der, password: long) } == .invalidArgument)
    }

    @Test("Reads PKCS#1 with OpenSSL's legacy encryption") func legacy() throws {
        let pem = EncryptedKeyPEM.rsaLegacy
        #expect(try PrivateKey(pem: pem, password: Self.password).publicKey == PublicKey(pem: KeyPEM.rsaSPKI))
        #expect(code { _ = try PrivateKey(pem: pem) } == .passwordRequired)
        #expect(code { _ = try PrivateKey(pem: pem, password: [1].secret) } == .incorrectPassword)
    }

    @Test("Distinguishes legacy encryption from a wrong password") func unsupported() {
        #expect(code { _ = try PrivateKey(pem: EncryptedKeyPEM.pbeDES, password: Self.password) } == .openSSL)
    }

    @Test("Writes encrypted keys with the documented parameters") func writing() throws {
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
            #expect(
                code { _ = try key.encryptedPKCS8DER(password: Self.password, iterations: iterations) }
                    == .invalidArgument
            )
        }
        for count in [0, 1025] {
            let password = [UInt8](repeating: 0x78, count: count).secret
            #expect(code { _ = try key.encryptedPKCS8DER(password: password) } == .invalidArgument)
        }
    }

    @Test("Rejects damaged encrypted keys or reads a different key, without trapping") func damaged() throws {
        let der = [UInt8](pem: EncryptedKeyPEM.scrypt)
        for count in stride(from: 0, to: der.count, by: 3) {
            let shortened = Array(der.prefix(count))
            #expect(code { _ = try PrivateKey(der: shortened, password: Self.password) } == .malformedKey)
        }
        // The encryption isn't authenticated, and without a public key, damage to an Edwards seed
        // goes undetected.
        let expected = try PublicKey(pem: KeyPEM.ed25519SPKI)
        for index in der.indices {
            var changed = der
            changed[index] ^= 0x10
            let key = try? PrivateKey(der: changed, password: Self.password)
            #expect(key?.publicKey != expected)
        }
    }
}
