import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

/// The samples about trusting servers.
@Suite("Trust samples", .limitedConcurrency)
struct TrustSnippets {
    @Test("Trusts only specific root certificates")
    func roots() async throws {
        let authority = try MockCertificateAuthority()
        let rootsFile = try temporaryFile(authority.certificatePEM)
        defer { try? FileManager.default.removeItem(atPath: rootsFile) }
        try await withServer(of: authority) { server in
            let client = try NetworkClient(
                tls: TLSConfiguration(trustRoots: try .file(rootsFile))
            )
            let data = try await client.makeRequest(URLRequest(url: server.url(for: "/")))
            #expect(data == Data("ok".utf8))
        }
    }

    @Test("Pins keys and reports TLS failures")
    func pinning() async throws {
        let authority = try MockCertificateAuthority()
        let (current, backup) = (authority.publicKeyPin, try MockCertificateAuthority().publicKeyPin)
        func makeClient() throws -> NetworkClient {
            let policy = try PinningPolicy(
                domainName: "api.example.org",
                includeSubdomains: true,
                pinnedHashes: [current, backup]
            )
            let evaluator = try ServerTrustEvaluator(
                configuration: .init(pinningPolicies: [policy])
            )
            let client = try NetworkClient(
                tls: TLSConfiguration(serverTrustEvaluator: evaluator)
            )
            return client
        }
        try await withServer(of: authority) { server in
            var alarms: [String] = []
            let alarm = { (text: String) in alarms.append(text) }
            let use = { (_: Data) in }
            let (client, request) = (try makeClient(), URLRequest(url: server.url(for: "/")))
            do {
                let data = try await client.makeRequest(request)
                use(data)
            } catch let error as NetworkError where error.code == .tls {
                switch error.tlsFailure {
                case .pinMismatch(let seen): alarm("other keys: \(seen)")
                case .certificateExpired, .clientCertificateRefused:
                    alarm("a certificate needs renewal")
                default: alarm("\(error)")
                }
            }
            // The system doesn't trust the authority, which is checked before the pins.
            #expect(alarms.count == 1)
            #expect(alarms.first?.hasPrefix("tls: ") == true)
        }
    }

    @Test("Configures a client certificate")
    func clientCertificates() throws {
        let certificate = try MockCertificateAuthority().issueClientCertificate()
        let certificateFile = try temporaryFile(certificate.chainPEM)
        let keyFile = try temporaryFile(certificate.privateKeyPEM)
        defer { for path in [certificateFile, keyFile] { try? FileManager.default.removeItem(atPath: path) } }
        let identity = try ClientIdentity.reloading(
            certificateChainFile: certificateFile,
            privateKeyFile: keyFile
        )
        let client = try NetworkClient(tls: TLSConfiguration(clientIdentity: identity))
        #expect(client.transport is CurlTransport)
    }

    private func temporaryFile(_ text: String) throws -> String {
        let url = FileManager.default.temporaryDirectory.appending(path: "trust-sample-\(UUID().uuidString)")
        try text.write(to: url, atomically: true, encoding: .utf8)
        return url.path(percentEncoded: false)
    }

    private func withServer(
        of authority: MockCertificateAuthority,
        _ body: (LoopbackServer) async throws -> Void
    ) async throws {
        var configuration = LoopbackServer.Configuration()
        configuration.tls = LoopbackServer.TLS(certificate: try authority.issueServerCertificate())
        try await withLoopbackServer(configuration: configuration) { server in
            server.on(.get, "/", .text("ok"))
            try await body(server)
        }
    }
}
