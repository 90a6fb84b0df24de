import Foundation
import FoundationNetworking
import Networking
import Testing

@Suite("TLSConfiguration and nginx", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct NginxTrustTests {
    private func file(_ name: String) throws -> String { try Interop.required("INTEROP_FOLDER") + "/" + name }

    private var roots: TrustRoots {
        get throws { try .file(Interop.required("INTEROP_AUTHORITY")) }
    }

    private func pinning(_ pins: [String]) throws -> TLSConfiguration {
        let policy = try PinningPolicy(domainName: "localhost", pinnedHashes: pins, enforceBackupPin: false)
        let evaluator = try ServerTrustEvaluator(configuration: .init(pinningPolicies: [policy]))
        return TLSConfiguration(trustRoots: try roots, serverTrustEvaluator: evaluator)
    }

    private func text(_ server: String, _ path: String, _ client: NetworkClient) async throws -> String {
        let url = try #require(URL(string: Interop.required(server) + path))
        return String(decoding: try await client.makeRequest(URLRequest(url: url)), as: UTF8.self)
    }

    @Test("A request with a wrong pin never reaches the server's log")
    func wrongPin() async throws {
        let (stopped, sent) = ("/ok?\(UUID().uuidString)", "/ok?\(UUID().uuidString)")
        let wrong = try NetworkClient(tls: pinning(["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]))
        let error = await #expect(throws: NetworkError(.tls, "")) {
            _ = try await text("INTEROP_HTTPS", stopped, wrong)
        }
        guard case .pinMismatch(let seen) = error?.tlsFailure else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(seen.count == 2)
        _ = try await text("INTEROP_HTTPS", sent, NetworkClient(tls: TLSConfiguration(trustRoots: try roots)))
        // nginx writes the line after the response, but before the connection's next request.
        var log = ""
        for _ in 0..<50 where !log.contains(sent) {
            log = try String(contentsOfFile: file("access.log"), encoding: .utf8)
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(log.contains(sent))
        #expect(!log.contains(stopped))
    }

    @Test("Resumes a TLS session without pins, and never with them")
    func sessions() async throws {
        let pin = try PublicKeyPin(certificate: Data(contentsOf: URL(filePath: file("server.pem")))).description
        for (tls, expected) in [
            (TLSConfiguration(trustRoots: try roots), ["TLSv1.2 .", "TLSv1.2 r", "TLSv1.2 r"]),
            (try pinning([pin]), ["TLSv1.2 .", "TLSv1.2 .", "TLSv1.2 ."]),
        ] {
            let client = try NetworkClient(tls: tls)
            var answers: [String] = []
            for _ in expected { answers.append(try await text("INTEROP_RESUMING", "/", client)) }
            #expect(answers == expected)
        }
    }
}
