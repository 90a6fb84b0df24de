import COpenSSLCalls
import Foundation
import OpenSSLCrypto
import TestSupport
import TestVectors
import Testing

@Suite("Certificates with hostile keys", .computing)
struct HostileCertificateTests {
    /// A certificate, and the code of its refusal.
    struct Refused: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let certificate: [UInt8]
        let code: CryptoError.Code

        init(_ description: String, _ certificate: [UInt8], _ code: CryptoError.Code) {
            testDescription = description
            self.certificate = certificate
            self.code = code
        }
    }

    @Test(
        "Refuses a key that is expensive or unsupported before OpenSSL decodes it",
        arguments: [
            Refused("explicit curve", HostileCertificate.explicitCurve, .unsupportedCurve),
            Refused("P-224", HostileCertificate.unsupportedCurve, .unsupportedCurve),
            Refused("DSA", HostileCertificate.dsa, .wrongKeyType),
            Refused("modulus", HostileCertificate.rsa(modulusSize: 1_025), .keyTooLarge),
            Refused("exponent", HostileCertificate.rsa(modulusSize: 256, exponentSize: 9), .keyTooLarge),
            Refused("point", HostileCertificate.truncatedPoint, .malformedCertificate),
        ]
    )
    func refusals(refused: Refused) {
        openssl_calls_start()
        let found = code { _ = try Certificate(der: refused.certificate) }
        #expect(openssl_calls_stop() == 0)
        #expect(found == refused.code)
        #expect(code { _ = try PublicKey(der: refused.certificate) } == refused.code)
    }

    @Test("Reads a certificate with a short RSA key, which only its use rejects")
    func shortKey() throws {
        let certificate = try Certificate(der: HostileCertificate.rsa(modulusSize: 64))
        #expect(code { _ = try certificate.publicKey() } == .weakKey)
    }

    @Test("Names the line of the certificate that can't be read")
    func line() throws {
        let digits = Data(HostileCertificate.dsa).base64EncodedString(options: [.lineLength64Characters])
        let refused = "-----BEGIN CERTIFICATE-----\n\(digits)\n-----END CERTIFICATE-----\n"
        let error = #expect(throws: CryptoError.self) { try Certificate.list(pem: TestCertificate.root + refused) }
        #expect(error?.code == .wrongKeyType)
        #expect(error?.message.hasPrefix("The certificate in line 12:") == true)
    }
}
