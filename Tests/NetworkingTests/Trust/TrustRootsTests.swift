import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("TrustRoots", .limitedConcurrency)
struct TrustRootsTests {
    private func accepts(_ roots: TrustRoots, _ server: LoopbackServer) async throws -> Bool {
        let error = try await refusal(by: server, TLSConfiguration(trustRoots: roots))
        if let error { #expect(error.tlsFailure == .untrustedChain) }
        return error == nil
    }

    @Test("Reads roots from PEM, DER, files and folders, and trusts no others", .shows("3.17"))
    func sources() async throws {
        let fixture = try TLSFixture()
        let stranger = try MockCertificateAuthority(name: "Stranger")
        try await fixture.withServer { server in
            try await withTemporaryFolder { folder in
                let both = stranger.certificatePEM + "A comment\n" + fixture.root.certificatePEM
                try both.write(to: folder.appending(path: "both.pem"), atomically: true, encoding: .utf8)
                try fixture.root.certificateDER.write(to: folder.appending(path: "root.der"))
                let path = folder.path(percentEncoded: false)
                #expect(try await accepts(.pem(fixture.root.certificatePEM), server))
                #expect(try await accepts(.pem(both), server))
                #expect(try await accepts(.der([stranger.certificateDER, fixture.root.certificateDER]), server))
                #expect(try await accepts(.file(path + "/both.pem"), server))
                #expect(try await accepts(.file(path + "/root.der"), server))
                #expect(try await accepts(.directory(path), server))
                #expect(try await accepts(.system.adding(.file(path + "/root.der")), server))
                #expect(try await !accepts(.pem(stranger.certificatePEM), server))
                #expect(try await !accepts(.system, server))
                #expect(try await !accepts(.system.adding(.pem(stranger.certificatePEM)), server))
            }
        }
    }

    @Test("Trusts a given certificate even if it isn't self-signed")
    func intermediate() async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { server in
            let intermediate = try TrustRoots.pem(fixture.intermediate.certificatePEM)
            let leaf = try TrustRoots.der([fixture.certificate.certificateDER])
            for roots in [intermediate, leaf] { #expect(try await accepts(roots, server)) }
        }
    }

    @Test("Requires certificates in a folder's files with certificate names, and ignores other files")
    func folders() async throws {
        let root = try MockCertificateAuthority()
        try await withTemporaryFolder { folder in
            let path = folder.path(percentEncoded: false)
            #expect(
                thrown(TrustConfigurationError.self) { _ = try TrustRoots.directory(path) }?.code
                    == .malformedCertificate
            )
            try "notes".write(to: folder.appending(path: "README"), atomically: true, encoding: .utf8)
            try "notes".write(to: folder.appending(path: ".hidden.pem"), atomically: true, encoding: .utf8)
            try root.certificatePEM.write(to: folder.appending(path: "9d66eef0.0"), atomically: true, encoding: .utf8)
            _ = try TrustRoots.directory(path)
            try "notes".write(to: folder.appending(path: "broken.crt"), atomically: true, encoding: .utf8)
            let error = thrown(TrustConfigurationError.self) { _ = try TrustRoots.directory(path) }
            #expect(error?.code == .malformedCertificate)
            #expect(error?.message.contains("broken.crt") == true)
        }
    }

    @Test("Reports unreadable input by its code")
    func rejections() throws {
        let key = try MockCertificateAuthority().issueServerCertificate().privateKeyPEM
        let keyLine = try #require(key.split(separator: "\n").dropFirst().first)
        let cases: [(TrustConfigurationError.Code, () throws -> Void)] = [
            (.malformedCertificate, { _ = try TrustRoots.pem("") }),
            (.malformedCertificate, { _ = try TrustRoots.pem(key) }),
            (.malformedCertificate, { _ = try TrustRoots.der([]) }),
            (.malformedCertificate, { _ = try TrustRoots.der([Data("hello".utf8)]) }),
            (.unreadableFile, { _ = try TrustRoots.file("/nonexistent/roots.pem") }),
            (.unreadableFile, { _ = try TrustRoots.file("/") }),
            (.unreadableFile, { _ = try TrustRoots.file("/dev/zero") }),
            (.malformedCertificate, { _ = try TrustRoots.file("/dev/null") }),
            (.unreadableFile, { _ = try TrustRoots.directory("/nonexistent") }),
        ]
        for (index, (code, operation)) in cases.enumerated() {
            let error = thrown(TrustConfigurationError.self, operation)
            #expect(error?.code == code, "case \(index)")
            #expect(error?.description.contains(keyLine) != true)
        }
    }
}

func withTemporaryFolder<Result>(_ test: (URL) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appending(path: "trust-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await test(folder)
}

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

    @Test("Requires the password of a PKCS#12 archive", .shows("RFC 7292, RFC 9579"))
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

func withTemporaryFile<Result>(
    _ content: Data,
    named name: String = "a.bin",
    _ test: (URL) async throws -> Result
) async throws -> Result {
    try await withTemporaryFolder { folder in
        let file = folder.appending(path: name)
        try content.write(to: file)
        return try await test(file)
    }
}
