import Foundation
import FoundationNetworking
import Hummingbird
import HummingbirdCore
import HummingbirdResourceServer
import HummingbirdTLS
import Logging
import MockNetworking
import NIOSSL
import Networking
import ObservedService
import ResourceServer
import ServiceLifecycle
import Testing

/// Tokens that are bound to a client's certificate, over TLS on a port.
@Suite("Hummingbird: certificate-bound access tokens")
struct CertificateTests {
    private let authority: MockCertificateAuthority
    private let server: MockCertificate
    private let client: MockCertificate

    init() throws {
        authority = try MockCertificateAuthority()
        server = try authority.issueServerCertificate()
        client = try authority.issueClientCertificate(name: "shop")
    }

    private var builder: HTTPServerBuilder {
        get throws {
            let chain = try NIOSSLCertificate.fromPEMBytes(Array(server.chainPEM.utf8))
            let key = try NIOSSLPrivateKey(bytes: Array(server.privateKeyPEM.utf8), format: .pem)
            var tls = NIOSSL.TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) },
                privateKey: .privateKey(key)
            )
            tls.certificateVerification = .optionalVerification
            tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(authority.certificatePEM.utf8)))
            return try .tls(tlsConfiguration: tls)
        }
    }

    /// Returns the status of a request with a token, with or without a certificate.
    private func status(of request: URLRequest, _ certificate: MockCertificate?) async throws -> Int {
        let identity = try certificate.map {
            try ClientIdentity(certificateChain: $0.chainPEM, privateKey: $0.privateKeyPEM)
        }
        let roots = try TrustRoots.pem(authority.certificatePEM)
        let client = try NetworkClient(tls: .init(trustRoots: roots, clientIdentity: identity))
        do { return try await client.response(for: request).status } catch let error as ServerError {
            return error.errorCode
        }
    }

    @Test("Accepts a token only over a connection with its certificate")
    func bound() async throws {
        let service = try ProtectedService()
        let bound = try service.token(certificateDER: client.certificateDER)
        let unbound = try service.token()
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let application = Application(
            router: try service.router(),
            server: try builder,
            configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in port.yield(channel.localAddress?.port ?? 0) },
            logger: service.logs.logger
        )
        let group = ServiceGroup(services: [application], logger: service.logs.logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let found = try #require(await ports.first { _ in true })
            var request = URLRequest(url: try #require(URL(string: "https://127.0.0.1:\(found)/reports")))
            request.setAuthorization("Bearer \(bound)")
            let other = try authority.issueClientCertificate(name: "other")
            #expect(try await status(of: request, client) == 200)
            #expect(try await status(of: request, other) == 401)
            #expect(try await status(of: request, nil) == 401)
            request.setAuthorization("Bearer \(unbound)")
            #expect(try await status(of: request, nil) == 200)
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        #expect(service.logs.all.compactMap(\.metadata["error.type"]) == ["invalidToken", "invalidToken"])
        await service.stop()
    }
}
