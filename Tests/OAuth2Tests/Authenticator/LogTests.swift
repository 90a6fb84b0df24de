import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing

/// Tests that the log states why a request wasn't sent, without secrets.
@Suite("Logs of requests without a token", .limitedConcurrency)
struct LogTests {
    /// Returns the last log line of a request.
    private func lastLine(_ interceptor: any RequestInterceptor, in fixture: OAuth2Fixture) async -> String {
        let lines = Mutex<[String]>([])
        let client = fixture.client(
            interceptor,
            LoggingInterceptor(sink: { line in lines.withLock { $0.append(line) } })
        )
        _ = try? await client.makeRequest(URLRequest(url: OAuth2Fixture.api))
        let last = lines.withLock { $0.last } ?? ""
        return String(last.drop { $0 != " " }.dropFirst())
    }

    @Test("Logs the authorization server's denial with its code")
    func refused() async {
        let fixture = OAuth2Fixture(steps: [.json(#"{"error":"invalid_client"}"#, status: 401)])
        let line = await lastLine(fixture.authenticator(), in: fixture)
        #expect(line.hasPrefix("not made after 0.0 ms: requestNotMade: the request could not be made, "), "\(line)")
        #expect(line.contains("(invalidClient: "), "\(line)")
        #expect(line.contains("[invalid_client]"), "\(line)")
    }

    @Test("Logs that the authorization server is unreachable, and why")
    func unreachable() async {
        let fixture = OAuth2Fixture(steps: [.failure(NetworkError(.cannotConnect, "no connection"))])
        let line = await lastLine(fixture.authenticator(), in: fixture)
        #expect(line.hasSuffix("couldn't be reached (cannotConnect: no connection))"), "\(line)")
        #expect(line.contains("(serverUnreachable: "), "\(line)")
    }

    @Test("Doesn't log a foreign error, even as the cause of an OAuth2Error")
    func foreign() async {
        struct Odd: Error { let secret = "s3cret" }
        let fixture = OAuth2Fixture()
        let failure = NetworkError(.requestNotMade, "no", cause: OAuth2Error(.grantFailed, "no grant", cause: Odd()))
        let line = await lastLine(ClosureInterceptor.changingRequest { _ in throw failure }, in: fixture)
        #expect(line.contains("(grantFailed: no grant)"), "\(line)")
        #expect(!line.contains("s3cret") && !line.contains("Odd"), "\(line)")
    }
}
