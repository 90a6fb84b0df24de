import OpenSSLCrypto
import Testing

@Suite("TLSIdentity", .serialized)
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

    @Test("Sorts the certificates of a PKCS#12 file and ignores unrelated ones")
    func order() throws {
        let identity = try read(PKCS12Fixture.unordered).get()
        #expect(identity.certificates.map(\.subject) == ["CN=billing", "CN=Intermediate", "CN=Root"])
    }

    @Test("Opens an unencrypted file without a password")
    func withoutPassword() throws {
        #expect(
            try read(PKCS12Fixture.withoutPassword, password: nil).get().certificates.map(\.subject) == ["CN=billing"]
        )
    }

    @Test("Reports missing or invalid contents by error code")
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

    @Test("Rejects a file that's too large")
    func size() {
        let octets = [UInt8](repeating: 0x30, count: TLSIdentity.maximumPKCS12Size + 1)
        #expect(throws: CryptoError(.malformedCertificate, "")) {
            _ = try TLSIdentity(pkcs12: octets, password: nil)
        }
    }

    /// The iteration counts of ``PKCS12Fixture/unordered``, all 2048, in the file's order.
    enum Count: Int, CaseIterable {
        case certificates, key, mac
    }

    @Test("Rejects an excessive iteration count before using it", arguments: Count.allCases)
    func iterationCounts(count: Count) {
        let values: [[UInt8]] = [
            [0x7F, 0xFF, 0xFF, 0xFF], [0x1E, 0x84, 0x81], [0x7F] + [UInt8](repeating: 0xFF, count: 15), [0xFF],
        ]
        for value in values {
            var file = PKCS12Tree(PKCS12Fixture.octets(PKCS12Fixture.unordered))
            // The MAC covers the contents. Only without it does parsing continue to these counts.
            if count != .mac { file.removeLast() }
            file.replace(integer: [0x08, 0x00], occurrence: count.rawValue, with: value)
            for password in [nil, Self.password] {
                let result = Result { () throws(CryptoError) in try TLSIdentity(pkcs12: file.octets, password: password)
                }
                // Without a password, the contents before these counts can't be decrypted.
                guard case .failure(let error) = result else {
                    Issue.record("accepted")
                    continue
                }
                if password != nil || count != .key { #expect(error.code == .malformedCertificate) }
            }
        }
    }

    @Test("Adds up the iteration counts of a file")
    func totalIterations() {
        // 1,999,000 is below the limit, but not together with the certificates' 2048.
        var file = PKCS12Tree(PKCS12Fixture.octets(PKCS12Fixture.unordered))
        file.removeLast()
        file.replace(integer: [0x08, 0x00], occurrence: Count.key.rawValue, with: [0x1E, 0x80, 0x98])
        #expect(throws: CryptoError(.malformedCertificate, "")) {
            try TLSIdentity(pkcs12: file.octets, password: Self.password)
        }
    }

    @Test("Opens a file without its MAC")
    func withoutMAC() throws {
        var file = PKCS12Tree(PKCS12Fixture.octets(PKCS12Fixture.unordered))
        #expect(file.octets == PKCS12Fixture.octets(PKCS12Fixture.unordered))
        file.removeLast()
        let identity = try TLSIdentity(pkcs12: file.octets, password: Self.password)
        #expect(identity.certificates.count == 3)
    }

    @Test("Rejects a file with extra bytes at its end")
    func trailingOctets() {
        #expect(throws: CryptoError(.malformedCertificate, "")) {
            try TLSIdentity(pkcs12: PKCS12Fixture.octets(PKCS12Fixture.withoutPassword) + [0], password: nil)
        }
    }

    @Test("Rejects a file with too many contents")
    func contentCount() throws {
        var file = PKCS12Tree(PKCS12Fixture.octets(PKCS12Fixture.withoutPassword))
        file.repeatFirstContent(100)
        #expect(try TLSIdentity(pkcs12: file.octets, password: nil).certificates.count == 1)
        file.repeatFirstContent(TLSIdentity.maximumPKCS12Count)
        #expect(throws: CryptoError(.malformedCertificate, "")) {
            try TLSIdentity(pkcs12: file.octets, password: nil)
        }
    }

    @Test("Rejects every truncated file without crashing")
    func truncation() {
        let octets = PKCS12Fixture.octets(PKCS12Fixture.withoutPassword)
        for count in 0..<octets.count {
            let result = Result { () throws(CryptoError) in
                try TLSIdentity(pkcs12: Array(octets.prefix(count)), password: nil)
            }
            guard case .failure = result else {
                Issue.record("\(count) bytes were accepted")
                continue
            }
        }
    }

    @Test("Requires one to ten certificates and a matching key")
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
