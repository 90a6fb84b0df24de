import Foundation
import MockNetworking
import Networking
import Synchronization
import TestPrograms
import Testing

/// A server that begins another handshake in the middle of a connection, which TLS 1.2 still has
/// ([RFC 5246 §7.4.1.1](https://www.rfc-editor.org/rfc/rfc5246#section-7.4.1.1)).
///
/// Apache and IIS do so to ask for a client certificate, so that it is not refused; but the new handshake is held to the same policy.
@Suite(
    "Renegotiation",
    .enabled(if: ChildProgram.path(of: "openssl") != nil, "there is no openssl"),
    .timeLimit(.minutes(5))
)
struct RenegotiationTests {
    @Test(
        "The request survives, and a server that shows a certificate again is checked again",
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
        // The only pin is in use, which each check reports. An abbreviated handshake only changes keys: both sides prove that they
        // are who they were in the first one, and there is no certificate in it.
        #expect(findings.withLock { $0 } == Array(repeating: .noPinInReserve, count: isAbbreviated ? 1 : 2))
    }

    @Test("A certificate that is no longer accepted ends the connection, whatever the first handshake said")
    func refused() async throws {
        let fixture = try TLSFixture()
        let count = Mutex(0)
        // The policy expires between the two handshakes, which stands for any reason to refuse the second one.
        try await exchange(fixture, pinning: fixture.certificate.publicKeyPin, expiringAfter: .seconds(6)) { _ in
            count.withLock { $0 += 1 }
        } _: { outcome in
            #expect(throws: NetworkError(.tls, "")) { _ = try outcome.get() }
        }
        #expect(count.withLock { $0 } == 2)
    }

    /// Sends a request to a server that begins a second handshake before it answers.
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
        // Without them the server has no session that a second handshake could go on with.
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
