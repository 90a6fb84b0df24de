import Foundation
import MockNetworking
import Networking
import Synchronization
import TestPrograms
import TestSupport
import Testing

/// Tests of a server that starts a second handshake on a connection, as TLS 1.2 allows
/// ([RFC 5246 §7.4.1.1](https://www.rfc-editor.org/rfc/rfc5246#section-7.4.1.1)).
///
/// Apache and IIS do this to request a client certificate, so it isn't rejected. The new handshake
/// must satisfy the same policy.
@Suite(
    "Renegotiation",
    .enabled(if: ChildProgram.path(of: "openssl") != nil, "requires openssl"),
    .limitedConcurrency
)
struct RenegotiationTests {
    @Test(
        "Completes the request, and checks a certificate that the server presents again",
        arguments: [false, true]
    )
    func accepted(isAbbreviated: Bool) async throws {
        let fixture = try TLSFixture()
        let findings = Mutex<[ServerTrustEvaluator.Report.Finding]>([])
        let pin = fixture.certificate.publicKeyPin
        try await exchange(fixture, pinning: pin, isAbbreviated: isAbbreviated) { report in
            findings.withLock { $0.append(report.finding) }
        } _: { outcome in
            let response = try outcome.get()
            #expect(response.body == Data("hello".utf8))
        }
        // Each check reports that the only pin is in use. An abbreviated handshake only changes
        // keys: it has no certificate, because both sides prove that they are still the same.
        #expect(findings.withLock { $0 } == Array(repeating: .noPinInReserve, count: isAbbreviated ? 1 : 2))
    }

    @Test("A certificate that is no longer accepted ends the connection, despite the first handshake")
    func refused() async throws {
        let fixture = try TLSFixture()
        let count = Mutex(0)
        // The policy expires between the two handshakes, as an example of any reason to reject the
        // second one.
        try await exchange(fixture, pinning: fixture.certificate.publicKeyPin, expiringAfter: .seconds(6)) { _ in
            count.withLock { $0 += 1 }
        } _: { outcome in
            #expect(throws: NetworkError(.tls, "")) { _ = try outcome.get() }
        }
        #expect(count.withLock { $0 } == 2)
    }

    /// Sends a request to a server that starts a second handshake before it responds.
    private func exchange(
        _ fixture: TLSFixture,
        pinning pin: String,
        isAbbreviated: Bool = false,
        expiringAfter lifetime: Duration? = nil,
        report: @escaping @Sendable (ServerTrustEvaluator.Report) -> Void,
        _ check: (Result<HTTPTransportResponse, any Error>) throws -> Void
    ) async throws {
        let arguments = [
            "s_server", "-accept", "127.0.0.1:0", "-tls1_2", "-cert", "chain.pem", "-cert_chain", "chain.pem",
            "-key", "key.pem",
        ]
        // Without these options, the server has a session that a second handshake could resume.
        let options = isAbbreviated ? [] : ["-no_ticket", "-no_cache"]
        let server = try await ChildServer.start("openssl", arguments + options, fixture) { output in
            output.firstMatch(of: /ACCEPT 127\.0\.0\.1:(\d+)/).flatMap { Int($0.1) }
        }
        defer { server.stop() }
        let expiry = lifetime.map { Date(timeIntervalSinceNow: $0 / .seconds(1)) } ?? .distantFuture
        let policy = try PinningPolicy(
            domainName: "localhost",
            expirationDate: expiry,
            pinnedHashes: [pin],
            enforceBackupPin: false
        )
        var configuration = try ServerTrustEvaluator.Configuration(pinningPolicies: [policy])
        configuration.report = report
        let evaluator = try ServerTrustEvaluator(configuration: configuration)
        let tls = TLSConfiguration(
            trustRoots: try fixture.roots,
            maximumVersion: .tls12,
            serverTrustEvaluator: evaluator
        )
        let url = try #require(URL(string: "https://localhost:\(server.port)/"))
        try await withTLS(tls) { transport in
            async let response = transport.get(url)
            try await server.waitForOutput("GET / HTTP/1.1")
            if lifetime != nil { try await Task.sleep(until: .now + .seconds(6.1), clock: .continuous) }
            server.type("r\n")
            try await server.waitForOutput("SSL_do_handshake")
            server.type("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello\n")
            let outcome: Result<HTTPTransportResponse, any Error>
            do { outcome = .success(try await response) } catch { outcome = .failure(error) }
            try check(outcome)
        }
    }
}
