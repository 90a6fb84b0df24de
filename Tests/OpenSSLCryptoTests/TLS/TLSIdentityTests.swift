import OpenSSLCrypto
import TestSupport
import Testing

@Suite("TLSIdentity", .computing)
struct TLSIdentityTests {
    private static let password = Array("secret".utf8).secret

    private static func read(_ file: String, password: SecretBytes? = password) throws -> TLSIdentity {
        try TLSIdentity(pkcs12: PKCS12Fixture.octets(file), password: password)
    }

    private static func refusal(_ octets: [UInt8], password: SecretBytes? = nil) -> CryptoError.Code? {
        code { _ = try TLSIdentity(pkcs12: octets, password: password) }
    }

    @Test("Sorts the certificates of a PKCS#12 file and ignores unrelated ones", .shows("RFC 7292, RFC 9579"))
    func order() throws {
        let identity = try Self.read(PKCS12Fixture.unordered)
        #expect(identity.certificates.map(\.subject) == ["CN=billing", "CN=Intermediate", "CN=Root"])
    }

    @Test("Opens an unencrypted file without a password")
    func withoutPassword() throws {
        let identity = try Self.read(PKCS12Fixture.withoutPassword, password: nil)
        #expect(identity.certificates.map(\.subject) == ["CN=billing"])
    }

    @Test("Reports missing or invalid contents by error code")
    func rejections() {
        let passwords = ["wrong", String(repeating: "a", count: 2000), "secret\0"].map { Array($0.utf8).secret }
        let cases: [(String, SecretBytes?, CryptoError.Code)] = [
            (PKCS12Fixture.unordered, nil, .passwordRequired),
            (PKCS12Fixture.unordered, passwords[0], .incorrectPassword),
            (PKCS12Fixture.unordered, passwords[1], .incorrectPassword),
            (PKCS12Fixture.unordered, passwords[2], .incorrectPassword),
            (PKCS12Fixture.legacy, Self.password, .openSSL),
            (PKCS12Fixture.withoutKey, Self.password, .malformedCertificate),
            (PKCS12Fixture.withoutCertificate, Self.password, .malformedCertificate),
            (PKCS12Fixture.weakKey, Self.password, .weakKey), ("", Self.password, .malformedCertificate),
            ("AAAA", Self.password, .malformedCertificate),
        ]
        for (index, (file, password, expected)) in cases.enumerated() {
            let found = Self.refusal(PKCS12Fixture.octets(file), password: password)
            #expect(found == expected, "case \(index)")
        }
        let large = [UInt8](repeating: 0x30, count: TLSIdentity.maximumPKCS12Size + 1)
        #expect(Self.refusal(large) == .malformedCertificate)
        // A byte after the end.
        #expect(Self.refusal(PKCS12Fixture.octets(PKCS12Fixture.withoutPassword) + [0]) == .malformedCertificate)
    }

    /// The iteration counts of ``PKCS12Fixture/unordered``, all 2048, in the file's order.
    enum Count: Int, CaseIterable {
        case certificates, key, mac
    }

    @Test("Rejects an excessive iteration count before using it", .shows("K6"), arguments: Count.allCases)
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
                let refusal = Self.refusal(file.octets, password: password)
                #expect(refusal != nil)
                // Without a password, the contents before these counts can't be decrypted.
                if password != nil || count != .key { #expect(refusal == .malformedCertificate) }
            }
        }
    }

    @Test("Adds up the iteration counts of a file", .shows("K6"))
    func totalIterations() {
        // 1,999,000 is below the limit, but not together with the certificates' 2048.
        var file = PKCS12Tree(PKCS12Fixture.octets(PKCS12Fixture.unordered))
        file.removeLast()
        file.replace(integer: [0x08, 0x00], occurrence: Count.key.rawValue, with: [0x1E, 0x80, 0x98])
        #expect(Self.refusal(file.octets, password: Self.password) == .malformedCertificate)
    }

    @Test("Opens a file without its MAC")
    func withoutMAC() throws {
        var file = PKCS12Tree(PKCS12Fixture.octets(PKCS12Fixture.unordered))
        #expect(file.octets == PKCS12Fixture.octets(PKCS12Fixture.unordered))
        file.removeLast()
        let identity = try TLSIdentity(pkcs12: file.octets, password: Self.password)
        #expect(identity.certificates.count == 3)
    }

    @Test("Rejects a file with too many contents", .shows("K6"))
    func contentCount() throws {
        var file = PKCS12Tree(PKCS12Fixture.octets(PKCS12Fixture.withoutPassword))
        file.repeatFirstContent(100)
        #expect(try TLSIdentity(pkcs12: file.octets, password: nil).certificates.count == 1)
        file.repeatFirstContent(TLSIdentity.maximumPKCS12Count)
        #expect(Self.refusal(file.octets) == .malformedCertificate)
    }

    @Test("Rejects every truncated file without crashing")
    func truncation() {
        let octets = PKCS12Fixture.octets(PKCS12Fixture.withoutPassword)
        for count in 0..<octets.count {
            #expect(Self.refusal(Array(octets.prefix(count))) != nil, "\(count) bytes")
        }
    }

    @Test("Requires one to ten certificates and a matching key")
    func mismatch() throws {
        let identity = try Self.read(PKCS12Fixture.unordered)
        let stranger = PrivateKey.ellipticCurve(try ECPrivateKey.generate(.p256))
        #expect(code { _ = try TLSIdentity(certificates: identity.certificates, privateKey: stranger) } == .keyMismatch)
        for certificates in [[], Array(repeating: identity.certificates[0], count: 11)] {
            #expect(code { _ = try TLSIdentity(certificates: certificates, privateKey: stranger) } == .invalidArgument)
        }
    }
}
