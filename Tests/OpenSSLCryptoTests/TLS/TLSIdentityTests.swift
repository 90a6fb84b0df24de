import OpenSSLCrypto
import Testing

@Suite("TLSIdentity")
struct TLSIdentityTests {
    private static let password = Array("secret".utf8).withBytes { SecretBytes(copying: $0) }

    private func read(_ file: String, password: SecretBytes? = password) -> Result<TLSIdentity, CryptoError> {
        Result { () throws(CryptoError) in
            try TLSIdentity(pkcs12: PKCS12Fixture.octets(file), password: password)
        }
    }

    private func code(_ file: String, password: SecretBytes? = password) -> CryptoError.Code? {
        switch read(file, password: password) {
        case .success: nil
        case .failure(let error): error.code
        }
    }

    @Test("The certificates of a PKCS#12 file are put into the order of the chain, and strangers are left out")
    func order() throws {
        let identity = try read(PKCS12Fixture.unordered).get()
        #expect(identity.certificates.map(\.subject) == ["CN=billing", "CN=Intermediate", "CN=Root"])
    }

    @Test("A file without encryption opens without a password")
    func withoutPassword() throws {
        #expect(
            try read(PKCS12Fixture.withoutPassword, password: nil).get().certificates.map(\.subject) == ["CN=billing"]
        )
    }

    @Test("What is missing or wrong is told by the code")
    func rejections() {
        let wrong = Array("wrong".utf8).withBytes { SecretBytes(copying: $0) }
        let long = [UInt8](repeating: 0x61, count: 2000).withBytes { SecretBytes(copying: $0) }
        let zero = Array("secret\0".utf8).withBytes { SecretBytes(copying: $0) }
        #expect(code(PKCS12Fixture.unordered, password: nil) == .passwordRequired)
        for password in [wrong, long, zero] {
            #expect(code(PKCS12Fixture.unordered, password: password) == .incorrectPassword)
        }
        #expect(code(PKCS12Fixture.legacy) == .openSSL)
        #expect(code(PKCS12Fixture.withoutKey) == .malformedCertificate)
        #expect(code(PKCS12Fixture.withoutCertificate) == .malformedCertificate)
        #expect(code(PKCS12Fixture.weakKey) == .weakKey)
        #expect(code("") == .malformedCertificate)
        #expect(code("AAAA") == .malformedCertificate)
    }

    @Test("A file that is too large is not read")
    func size() {
        let octets = [UInt8](repeating: 0x30, count: TLSIdentity.maximumPKCS12Size + 1)
        #expect(throws: CryptoError(.malformedCertificate, "")) {
            _ = try TLSIdentity(pkcs12: octets, password: nil)
        }
    }

    /// Which of the iteration counts of ``PKCS12Fixture/unordered``, all 2048, in their order in the file.
    enum Count: Int, CaseIterable {
        case certificates, key, mac
    }

    @Test("An iteration count that is too large is refused before it is computed with", arguments: Count.allCases)
    func iterationCounts(count: Count) {
        let values: [[UInt8]] = [
            [0x7F, 0xFF, 0xFF, 0xFF], [0x1E, 0x84, 0x81], [0x7F] + [UInt8](repeating: 0xFF, count: 15), [0xFF],
        ]
        for value in values {
            var file = PKCS12Tree(PKCS12Fixture.octets(PKCS12Fixture.unordered))
            // The MAC covers the contents: without it, the counts in these are reached.
            if count != .mac { file.removeLast() }
            file.replace(integer: [0x08, 0x00], occurrence: count.rawValue, with: value)
            for password in [nil, Self.password] {
                let result = Result { () throws(CryptoError) in try TLSIdentity(pkcs12: file.octets, password: password)
                }
                // Without a password the contents before those that count don't open.
                guard case .failure(let error) = result else {
                    Issue.record("accepted")
                    continue
                }
                if password != nil || count != .key { #expect(error.code == .malformedCertificate) }
            }
        }
    }

    @Test("The iteration counts of a file are added up")
    func totalIterations() {
        // 1,999,000 is below the limit of one, but not beside the 2048 of the certificates.
        var file = PKCS12Tree(PKCS12Fixture.octets(PKCS12Fixture.unordered))
        file.removeLast()
        file.replace(integer: [0x08, 0x00], occurrence: Count.key.rawValue, with: [0x1E, 0x80, 0x98])
        #expect(throws: CryptoError(.malformedCertificate, "")) {
            try TLSIdentity(pkcs12: file.octets, password: Self.password)
        }
    }

    @Test("A file with the MAC taken off opens with the same counts as before")
    func withoutMAC() throws {
        var file = PKCS12Tree(PKCS12Fixture.octets(PKCS12Fixture.unordered))
        #expect(file.octets == PKCS12Fixture.octets(PKCS12Fixture.unordered))
        file.removeLast()
        let identity = try TLSIdentity(pkcs12: file.octets, password: Self.password)
        #expect(identity.certificates.count == 3)
    }

    @Test("A file with octets behind it is refused")
    func trailingOctets() {
        #expect(throws: CryptoError(.malformedCertificate, "")) {
            try TLSIdentity(pkcs12: PKCS12Fixture.octets(PKCS12Fixture.withoutPassword) + [0], password: nil)
        }
    }

    @Test("A file with more contents than the limit is refused")
    func contentCount() throws {
        var file = PKCS12Tree(PKCS12Fixture.octets(PKCS12Fixture.withoutPassword))
        file.repeatFirstContent(100)
        #expect(try TLSIdentity(pkcs12: file.octets, password: nil).certificates.count == 1)
        file.repeatFirstContent(TLSIdentity.maximumPKCS12Count)
        #expect(throws: CryptoError(.malformedCertificate, "")) {
            try TLSIdentity(pkcs12: file.octets, password: nil)
        }
    }

    @Test("Every truncation of a file is refused, and none crashes")
    func truncation() {
        let octets = PKCS12Fixture.octets(PKCS12Fixture.withoutPassword)
        for count in 0..<octets.count {
            let result = Result { () throws(CryptoError) in
                try TLSIdentity(pkcs12: Array(octets.prefix(count)), password: nil)
            }
            guard case .failure = result else {
                Issue.record("\(count) octets were accepted")
                continue
            }
        }
    }

    @Test("Certificate and key must belong together, and there are one to ten certificates")
    func mismatch() throws {
        let identity = try read(PKCS12Fixture.unordered).get()
        let stranger = PrivateKey.ellipticCurve(try ECPrivateKey.generate(.p256))
        #expect(throws: CryptoError(.keyMismatch, "")) {
            _ = try TLSIdentity(certificates: identity.certificates, privateKey: stranger)
        }
        for certificates in [[], Array(repeating: identity.certificates[0], count: 11)] {
            #expect(throws: CryptoError(.invalidArgument, "")) {
                _ = try TLSIdentity(certificates: certificates, privateKey: stranger)
            }
        }
    }
}
