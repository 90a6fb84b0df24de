import OpenSSLCrypto
import TestSupport
import Testing

@Suite("Certificates", .computing) struct CertificateTests {
    @Test("Reads the same values as OpenSSL") func contents() throws {
        let certificate = try Certificate(pem: TestCertificate.leaf)
        #expect(certificate.der == [UInt8](pem: TestCertificate.leaf))
        #expect(certificate.pem() == TestCertificate.leaf)
        #expect(certificate.subject == "CN=Jürgen,O=Exämple\\, Inc.")
        #expect(certificate.issuer == "CN=Intermediate,O=Example")
        #expect(certificate.notBefore == TestCertificate.leafNotBefore)
        #expect(certificate.notAfter == TestCertificate.leafNotAfter)
        #expect(try certificate.fingerprint(.sha256).hex == TestCertificate.leafSHA256)
        #expect(try certificate.fingerprint(.sha1).hex == TestCertificate.leafSHA1)
        #expect(try certificate.publicKeyHash().hex == TestCertificate.leafKeySHA256)
        #expect(try certificate.publicKey().spkiDER() == certificate.subjectPublicKeyInfo)
        #expect(try Certificate(der: certificate.der) == certificate)
        #expect(try certificate != Certificate(pem: TestCertificate.root))
    }

    @Test("Reads a certificate with a key that can't sign") func agreementKey() throws {
        let certificate = try Certificate(pem: TestCertificate.x25519)
        #expect(certificate.subject == "CN=x")
        #expect(try certificate.publicKeyHash().count == 32)
        #expect(try certificate.publicKey().kind == "X25519")
    }

    @Test("Reads several certificates with other text around them") func list() throws {
        let pem = "# Root\n" + TestCertificate.root + "\nsubject=…\n" + TestCertificate.leaf + "# end\n"
        let certificates = try Certificate.list(pem: pem)
        #expect(certificates.map(\.subject) == ["CN=Root,O=Example", "CN=Jürgen,O=Exämple\\, Inc."])
        #expect(code { _ = try Certificate(pem: pem) } == .malformedKey)
        #expect(code { _ = try Certificate.list(pem: "none") } == .malformedCertificate)
        #expect(code { _ = try Certificate.list(pem: TestCertificate.root + KeyPEM.rsaSPKI) } == .wrongKeyType)
        let endless = String(repeating: TestCertificate.root, count: 4000)
        #expect(code { _ = try Certificate.list(pem: endless) } == .malformedKey)
    }

    @Test("Rejects malformed certificates without trapping") func mutations() throws {
        let der = [UInt8](pem: TestCertificate.leaf)
        for count in der.indices {
            #expect(code { _ = try Certificate(der: Array(der.prefix(count))) } == .malformedCertificate)
        }
        #expect(code { _ = try Certificate(der: der + [0]) } == .malformedCertificate)
        #expect(code { _ = try Certificate(der: [UInt8](repeating: 0x30, count: 70_000)) } == .malformedCertificate)
        #expect(code { _ = try Certificate(der: [UInt8](pem: KeyPEM.rsaSPKI)) } == .malformedCertificate)
        #expect(code { _ = try Certificate(pem: KeyPEM.rsaSPKI) } == .wrongKeyType)
        var readableCount = 0
        for index in der.indices {
            for mask: UInt8 in [0x01, 0x20, 0x80, 0xFF] {
                var changed = der
                changed[index] ^= mask
                guard let certificate = try? Certificate(der: changed) else { continue }
                readableCount += 1
                #expect(certificate.der == changed)
                _ = (certificate.subject, certificate.issuer)
                _ = try? certificate.publicKey()
            }
        }
        #expect(readableCount > 0)
    }
}
