import COpenSSLCalls
import OpenSSLCrypto
import TestSupport
import TestVectors
import Testing

@Suite("PKCS#12 files with hostile contents", .computing)
struct PKCS12HostileTests {
    private static func identity(of file: [UInt8]) throws -> TLSIdentity {
        openssl_calls_start()
        defer { _ = openssl_calls_stop() }
        return try TLSIdentity(pkcs12: file, password: nil)
    }

    /// The names of OpenSSL's functions that the last file passed to.
    private static var calls: [String] {
        (0..<openssl_calls_stop()).map { unsafe String(cString: openssl_calls_name($0)) }
    }

    /// A key in a bag, and its certificate.
    private static func pair() throws -> (bag: [UInt8], certificate: [UInt8]) {
        let key = try PrivateKey(pem: TestServer.key)
        return (HostilePKCS12.keyBag(try key.pkcs8DER().exposed), try Certificate(pem: TestServer.certificate).der)
    }

    @Test("Skips unrelated certificates with unsupported keys, without decoding them")
    func unrelated() throws {
        let (bag, certificate) = try Self.pair()
        let file = HostilePKCS12.file(
            certificates: [HostileCertificate.explicitCurve, HostileCertificate.dsa, certificate],
            bags: [bag]
        )
        #expect(try Self.identity(of: file).certificates.map(\.der) == [certificate])
        #expect(Self.calls == ["d2i_PKCS12", "PKCS12_unpack_authsafes", "d2i_X509"])
    }

    @Test("States why the only certificate can't be used")
    func onlyCertificate() throws {
        let file = HostilePKCS12.file(certificates: [HostileCertificate.explicitCurve], bags: [try Self.pair().bag])
        #expect(throws: CryptoError(.unsupportedCurve, "")) { try Self.identity(of: file) }
        #expect(Self.calls == ["d2i_PKCS12", "PKCS12_unpack_authsafes"])
    }

    @Test("Refuses a key of an unsupported kind without decoding it")
    func key() throws {
        let file = HostilePKCS12.file(certificates: [], bags: [HostilePKCS12.dsaKeyBag(size: 128)])
        #expect(throws: CryptoError(.wrongKeyType, "")) { try Self.identity(of: file) }
        #expect(Self.calls == ["d2i_PKCS12", "PKCS12_unpack_authsafes"])
    }

    @Test("Refuses signed contents before OpenSSL decodes their certificates")
    func signed() {
        let certificates = [HostileCertificate.explicitCurve]
        #expect(throws: CryptoError(.malformedCertificate, "")) {
            try Self.identity(of: HostilePKCS12.signed(file: certificates))
        }
        #expect(Self.calls == [])
        #expect(throws: CryptoError(.malformedCertificate, "")) {
            try Self.identity(of: HostilePKCS12.signedPart(certificates: certificates))
        }
        #expect(Self.calls == ["d2i_PKCS12"])
    }
}
