import Foundation
import FoundationNetworking
import MockNetworking
import Networking

/// A client with a certificate that trusts only its own roots and pins the server's keys.
struct MutualTLS: Example {
    static let name = "mutual-tls"
    static let summary = "a client certificate, custom roots, and pins that reject a server with another key"

    static func run() async throws {
        let authority = try MockCertificateAuthority()
        let certificate = try authority.issueServerCertificate()
        var configuration = LoopbackServer.Configuration()
        configuration.tls = LoopbackServer.TLS(certificate: certificate)
        configuration.tls?.clientAuthentication = .required(issuedBy: authority)
        let server = try LoopbackServer.start(configuration: configuration) { routes in
            routes.on(.get, "/") { request in
                .text("welcome, holder of \(request.clientCertificateDER?.count ?? 0) bytes of certificate")
            }
        }
        let client = try authority.issueClientCertificate(name: "billing")
        let identity = try ClientIdentity(certificateChain: client.chainPEM, privateKey: client.privateKeyPEM)
        let request = URLRequest(url: server.url(for: "/"))

        func makeClient(pin: String) throws -> NetworkClient {
            let reserve = try MockCertificateAuthority().publicKeyPin
            let policy = try PinningPolicy(domainName: "127.0.0.1", pinnedHashes: [pin, reserve])
            let evaluator = try ServerTrustEvaluator(configuration: .init(pinningPolicies: [policy]))
            return try NetworkClient(
                tls: TLSConfiguration(
                    trustRoots: try .pem(authority.certificatePEM),
                    clientIdentity: identity,
                    serverTrustEvaluator: evaluator
                )
            )
        }

        let answer = try await makeClient(pin: certificate.publicKeyPin).makeRequest(request)
        print("1. with the certificate and the right pin: \(String(decoding: answer, as: UTF8.self))")

        let served = server.requestCount
        do {
            _ = try await makeClient(pin: try MockCertificateAuthority().publicKeyPin).makeRequest(request)
            throw Surprise("a server with another key was trusted")
        } catch let error as NetworkError {
            guard case .pinMismatch(let seen) = error.tlsFailure else { throw error }
            try Surprise.unless(server.requestCount == served, "a request was sent")
            print("2. with another pin: no request was sent; the server has \(seen.count) other pins")
        }

        do {
            let roots = TLSConfiguration(trustRoots: try .pem(authority.certificatePEM))
            _ = try await NetworkClient(tls: roots).makeRequest(request)
            throw Surprise("the server accepted a client without a certificate")
        } catch let error as NetworkError {
            guard case .clientCertificateRequired = error.tlsFailure else { throw error }
            print("3. without a client certificate: \(error.tlsFailure.map { "\($0)" } ?? "")")
        }

        await server.stop()
    }
}
