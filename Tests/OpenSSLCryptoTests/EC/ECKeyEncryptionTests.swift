import OpenSSLCrypto
import Testing

@Suite("Encrypted EC keys", .serialized) struct ECKeyEncryptionTests {
    static let readable = [
        TestPEM.encryptedPBKDF2, TestPEM.encryptedScrypt, TestPEM.encrypted3DES, TestPEM.encryptedSEC1,
    ]

    @Test("Decrypts with the correct password, also with CR LF", arguments: readable)
    func rightPassword(pem: String) throws {
        let expected = try ECPublicKey(pem: TestKey.p256.spki)
        let password = Array("correct".utf8).secret
        #expect(try ECPrivateKey(pem: pem, password: password).publicKey == expected)
        #expect(try ECPrivateKey(pem: pem.replacing("\n", with: "\r\n"), password: password).publicKey == expected)
    }

    @Test("Reports a missing password without prompting", arguments: readable + [TestPEM.encryptedDES])
    func noPassword(pem: String) {
        #expect(code { _ = try ECPrivateKey(pem: pem) } == .passwordRequired)
    }

    @Test("Reports a wrong password", arguments: readable)
    func wrongPassword(pem: String) throws {
        for password in ["", "Correct", "correct ", String(repeating: "x", count: 1024)] {
            let error = try #require(error { _ = try ECPrivateKey(pem: pem, password: Array(password.utf8).secret) })
            #expect(error.code == .incorrectPassword)
            #expect(password.isEmpty || !error.description.contains(password))
        }
    }

    @Test("Rejects every wrong password, even if the padding is valid") func manyWrongPasswords() {
        // The padding is valid for one wrong password in 256.
        let codes = (0..<600).map { number in
            code { _ = try ECPrivateKey(pem: TestPEM.encryptedSEC1, password: Array("wrong\(number)".utf8).secret) }
        }
        #expect(codes.allSatisfy { $0 == .incorrectPassword })
    }

    @Test("Rejects a password that OpenSSL would truncate", arguments: readable)
    func longPassword(pem: String) {
        let password = [UInt8](repeating: 0x78, count: 1025).secret
        #expect(code { _ = try ECPrivateKey(pem: pem, password: password) } == .invalidArgument)
    }

    @Test("Ignores a password for an unencrypted key") func neededByNone() throws {
        let key = try ECPrivateKey(pem: TestKey.p256.pkcs8, password: Array("correct".utf8).secret)
        #expect(try key.publicKey == ECPublicKey(pem: TestKey.p256.spki))
    }

    @Test("Distinguishes unsupported encryption from a wrong password") func unsupported() {
        let password = Array("correct".utf8).secret
        #expect(code { _ = try ECPrivateKey(pem: TestPEM.encryptedDES, password: password) } == .openSSL)
        let unknown = TestPEM.encryptedSEC1.replacing("AES-128-CBC", with: "ROT-13")
        #expect(code { _ = try ECPrivateKey(pem: unknown, password: password) } == .openSSL)
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
        #expect(code { _ = try ECPrivateKey(pem: pem, password: Array("correct".utf8).secret) } == .malformedKey)
    }

    @Test("Requires a password for encrypted DER") func der() {
        #expect(code { _ = try ECPrivateKey(der: [UInt8](pem: TestPEM.encryptedPBKDF2)) } == .passwordRequired)
    }

    @Test("Distinguishes a cost beyond OpenSSL's limit from a wrong password") func memoryLimit() throws {
        let pem = Self.scrypt(n: [0x00, 0x80, 0x00], r: [0x20], p: [0x01]).pem("ENCRYPTED PRIVATE KEY")
        let error = try #require(error { _ = try ECPrivateKey(pem: pem, password: Array("correct".utf8).secret) })
        #expect(error.code == .openSSL, "\(error)")
    }

    @Test("Rejects a forged cost before any key derivation") func cost() throws {
        let password = Array("correct".utf8).secret
        let forged = [
            Self.pbkdf2(iterations: [0x7F, 0xFF, 0xFF, 0xFF]),
            Self.pbkdf2(iterations: [0x1E, 0x84, 0x81]),
            Self.pbkdf2(iterations: [UInt8](repeating: 0x7F, count: 20)),
            Self.pbkdf2(iterations: [0xFF]),
            Self.scrypt(n: [0x10, 0x00], r: [0x10, 0x00], p: [0x10, 0x00]),
            Self.scrypt(n: [0x40, 0, 0, 0, 0, 0, 0], r: [0x40, 0, 0, 0], p: [0x7F]),
        ]
        for der in forged {
            let error = try #require(
                error { _ = try ECPrivateKey(pem: der.pem("ENCRYPTED PRIVATE KEY"), password: password) }
            )
            #expect(error.code == .malformedKey)
        }
    }

    @Test("Rejects damaged encrypted keys without trapping") func damaged() throws {
        let der = [UInt8](pem: TestPEM.encryptedPBKDF2)
        let password = Array("correct".utf8).secret
        for count in stride(from: 0, to: der.count, by: 3) {
            let pem = Array(der.prefix(count)).pem("ENCRYPTED PRIVATE KEY")
            #expect(code { _ = try ECPrivateKey(pem: pem, password: password) } == .malformedKey)
        }
        for index in der.indices {
            var changed = der
            changed[index] ^= 0x20
            let pem = changed.pem("ENCRYPTED PRIVATE KEY")
            #expect(code { _ = try ECPrivateKey(pem: pem, password: password) } != nil)
        }
    }

    @Test("Rejects damaged keys with legacy encryption without trapping") func damagedSEC1() throws {
        let lines = TestPEM.encryptedSEC1.split(separator: "\n", omittingEmptySubsequences: false)
        let header = lines[1...2].joined(separator: "\n")
        let contents = [UInt8](pem: lines[4...].joined(separator: "\n"))
        let password = Array("correct".utf8).secret
        func pem(_ contents: [UInt8]) -> String {
            contents.pem("EC PRIVATE KEY").replacing("KEY-----\n", with: "KEY-----\n\(header)\n\n", maxReplacements: 1)
        }
        #expect(try ECPrivateKey(pem: pem(contents), password: password).curve == .p256)
        for count in 1..<contents.count {
            #expect(
                code { _ = try ECPrivateKey(pem: pem(Array(contents.prefix(count))), password: password) }
                    == .incorrectPassword
            )
        }
        for index in contents.indices {
            var changed = contents
            changed[index] ^= 0x01
            #expect(code { _ = try ECPrivateKey(pem: pem(changed), password: password) } != nil)
        }
        for cipher in ["AES-256-GCM", "id-aes128-wrap", "RC4", "CHACHA20", "AES-128-CTR", "AES-128-ECB"] {
            let other = pem(contents).replacing("AES-128-CBC", with: cipher)
            #expect(code { _ = try ECPrivateKey(pem: other, password: password) } != nil)
        }
    }

    private static func pbkdf2(iterations: [UInt8]) -> [UInt8] {
        let parameters = [UInt8].der(0x30, [UInt8].der(0x04, [1, 2, 3, 4, 5, 6, 7, 8]), [UInt8].der(0x02, iterations))
        return encryptedKey([UInt8](hex: "2a864886f70d01050c"), parameters)
    }

    private static func scrypt(n: [UInt8], r: [UInt8], p: [UInt8]) -> [UInt8] {
        let parameters = [UInt8].der(
            0x30,
            [UInt8].der(0x04, [1, 2, 3, 4, 5, 6, 7, 8]),
            [UInt8].der(0x02, n),
            [UInt8].der(0x02, r),
            [UInt8].der(0x02, p)
        )
        return encryptedKey([UInt8](hex: "2b06010401da470" + "40b"), parameters)
    }

    private static func encryptedKey(_ derivation: [UInt8], _ parameters: [UInt8]) -> [UInt8] {
        let function = [UInt8].der(0x30, [UInt8].der(0x06, derivation), parameters)
        let cipher = [UInt8].der(
            0x30,
            [UInt8].der(0x06, [UInt8](hex: "60864801650304012a")),
            [UInt8].der(0x04, [UInt8](repeating: 0, count: 16))
        )
        let algorithm = [UInt8].der(
            0x30,
            [UInt8].der(0x06, [UInt8](hex: "2a864886f70d01050d")),
            [UInt8].der(0x30, function, cipher)
        )
        return .der(0x30, algorithm, .der(0x04, [UInt8](repeating: 0, count: 32)))
    }
}
