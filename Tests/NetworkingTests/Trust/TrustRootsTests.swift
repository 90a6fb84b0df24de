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

    @Test("Reads roots from PEM, DER, files and folders, and trusts no others")
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

/// Runs a test with a temporary folder.
func withTemporaryFolder<Result>(_ test: (URL) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appending(path: "trust-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await test(folder)
}
