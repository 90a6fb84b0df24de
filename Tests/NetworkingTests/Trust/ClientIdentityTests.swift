import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("ClientIdentity", .limitedConcurrency)
struct ClientIdentityTests {
    private struct Unavailable: Error {}

    private let authority: MockCertificateAuthority
    private let certificate: MockCertificate

    init() throws {
        authority = try MockCertificateAuthority()
        certificate = try authority.makeIntermediate().issueClientCertificate()
    }

    private func code(_ operation: () throws -> Void) -> TrustConfigurationError.Code? {
        let error = thrown(TrustConfigurationError.self, operation)
        #expect(error?.description.contains("secret") != true)
        return error?.code
    }

    @Test("Reads certificates and key from one text, in either order, with other blocks around them")
    func combinedText() throws {
        let texts = [
            certificate.chainPEM + certificate.privateKeyPEM, certificate.privateKeyPEM + certificate.chainPEM,
            "Bag Attributes\r\n" + certificate.chainPEM.replacing("\n", with: "\r\n") + certificate.privateKeyPEM,
        ]
        for text in texts { _ = try ClientIdentity(certificateChain: text, privateKey: text) }
    }

    @Test("Reads separate files and a combined file")
    func files() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.path(percentEncoded: false) + "/both.pem"
            try (certificate.chainPEM + certificate.privateKeyPEM).write(
                toFile: path,
                atomically: true,
                encoding: .utf8
            )
            _ = try ClientIdentity(certificateChainFile: path, privateKeyFile: path)
            #expect(
                code { _ = try ClientIdentity(certificateChainFile: path, privateKeyFile: path + "x") }
                    == .unreadableFile
            )
            #expect(code { _ = try ClientIdentity(pkcs12File: path + "x") } == .unreadableFile)
            #expect(code { _ = try ClientIdentity(pkcs12File: path) } == .malformedCertificate)
            let missing = path + "x"
            #expect(
                code { _ = try ClientIdentity.reloading(certificateChainFile: missing, privateKeyFile: missing) }
                    == .unreadableFile
            )
        }
    }

    @Test("Requests the password only for an encrypted key")
    func encryptedKey() throws {
        let chain = certificate.chainPEM
        let key = try certificate.encryptedPrivateKeyPEM(password: "secret")
        _ = try ClientIdentity(certificateChain: chain, privateKey: key) { "secret" }
        _ = try ClientIdentity(certificateChain: chain, privateKey: certificate.privateKeyPEM) { throw Unavailable() }
        #expect(code { _ = try ClientIdentity(certificateChain: chain, privateKey: key) } == .passwordRequired)
        #expect(
            code { _ = try ClientIdentity(certificateChain: chain, privateKey: key) { "secreT" } } == .incorrectPassword
        )
        #expect(throws: Unavailable.self) {
            _ = try ClientIdentity(certificateChain: chain, privateKey: key) { throw Unavailable() }
        }
    }

    @Test("Requires the password of a PKCS#12 archive")
    func pkcs12() throws {
        let file = try certificate.pkcs12(password: "secret")
        _ = try ClientIdentity(pkcs12: file) { "secret" }
        #expect(code { _ = try ClientIdentity(pkcs12: file) } == .passwordRequired)
        #expect(code { _ = try ClientIdentity(pkcs12: file) { "secreT" } } == .incorrectPassword)
        #expect(code { _ = try ClientIdentity(pkcs12: Data("secret".utf8)) } == .malformedCertificate)
        #expect(code { _ = try ClientIdentity(pkcs12: file.dropLast()) { "secret" } } == .malformedCertificate)
        #expect(throws: Unavailable.self) { _ = try ClientIdentity(pkcs12: file) { throw Unavailable() } }
        // Doesn't request a password for an archive without one.
        let open = try certificate.pkcs12(password: "")
        _ = try ClientIdentity(pkcs12: open) { throw Unavailable() }
    }

    @Test("Rejects a key that doesn't match the certificate")
    func mismatch() throws {
        let other = try authority.issueClientCertificate()
        #expect(
            code { _ = try ClientIdentity(certificateChain: certificate.chainPEM, privateKey: other.privateKeyPEM) }
                == .keyMismatch
        )
        // Starting with the issuer's certificate is wrong, too.
        let chain = authority.certificatePEM + certificate.chainPEM
        #expect(
            code { _ = try ClientIdentity(certificateChain: chain, privateKey: certificate.privateKeyPEM) }
                == .keyMismatch
        )
    }

    @Test("Reports missing and malformed input by its code")
    func rejections() throws {
        let (chain, key) = (certificate.chainPEM, certificate.privateKeyPEM)
        #expect(code { _ = try ClientIdentity(certificateChain: key, privateKey: key) } == .malformedCertificate)
        #expect(code { _ = try ClientIdentity(certificateChain: "", privateKey: key) } == .malformedCertificate)
        #expect(code { _ = try ClientIdentity(certificateChain: chain, privateKey: chain) } == .malformedKey)
        #expect(code { _ = try ClientIdentity(certificateChain: chain, privateKey: "") } == .malformedKey)
        #expect(code { _ = try ClientIdentity(certificateChain: chain, privateKey: key + key) } == .malformedKey)
        let many = Array(repeating: certificate.certificatePEM, count: 11).joined()
        #expect(code { _ = try ClientIdentity(certificateChain: many, privateKey: key) } == .malformedCertificate)
    }

    @Test("Descriptions and dumps don't contain the key")
    func description() throws {
        let identity = try ClientIdentity(certificateChain: certificate.chainPEM, privateKey: certificate.privateKeyPEM)
        var text = "\(identity)"
        dump(identity, to: &text)
        let key = certificate.privateKeyPEM.split(separator: "\n")[1]
        #expect(!text.contains(key))
    }
}
