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
