import Foundation
import Glibc
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import WorkloadIdentity

/// The cost of a platform's file, in openings.
@Suite("File access", .limitedConcurrency)
struct FileAccessTests {
    /// Counts how often a file is opened.
    private final class Openings {
        private let descriptor: Int32

        init(of path: String) throws {
            descriptor = inotify_init1(Int32(IN_NONBLOCK))
            // Without the closings, the kernel would merge successive openings into one event.
            let events = UInt32(IN_OPEN | IN_CLOSE)
            guard descriptor >= 0, unsafe inotify_add_watch(descriptor, path, events) >= 0 else {
                throw POSIXError(.EIO)
            }
        }

        deinit { close(descriptor) }

        /// Returns the number of openings since the last call.
        func count() -> Int {
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            let length = unsafe read(descriptor, &buffer, buffer.count)
            // An event of a watched file has 16 bytes. The low byte of its mask is the fifth one.
            return stride(from: 0, to: max(length, 0), by: 16).count { Int32(buffer[$0 + 4]) & IN_OPEN != 0 }
        }
    }

    @Test("A token request opens the file once, and a cached access token doesn't", arguments: [true, false])
    func openings(isAssertion: Bool) async throws {
        let folder = try TokenFolder()
        try folder.write(SampleToken().text)
        let time = ManualTime()
        defer { time.end() }
        let transport = MockTransport(time: time.timeSource) { _ in
            HTTPTransportResponse(
                status: 200,
                headers: ["Content-Type": "application/json"],
                body: Data(#"{"access_token":"a","token_type":"Bearer","expires_in":100}"#.utf8)
            )
        }
        let file = FileTokenSource(
            path: folder.path,
            audience: "https://as.example",
            environment: WorkloadEnvironment(timeSource: time.timeSource)
        )
        let timing = OAuth2Timing(timeSource: time.timeSource, random: { 0 })
        let source = GrantTokenSource(
            server: AuthorizationServer(
                issuer: "https://as.example",
                tokenEndpoint: URL(string: "https://as.example/token")!
            ),
            clientAuthentication: isAssertion
                ? SignedAssertionAuthentication(clientID: "reports", assertion: file) : .none(clientID: "reports"),
            grant: isAssertion
                ? ClientCredentialsGrant()
                : TokenExchangeGrant(subject: file, subjectTokenType: .jwt, identifier: "reports"),
            store: InMemoryTokenStore(timeSource: time.timeSource),
            client: NetworkClient(transport: transport, options: .init(timeSource: time.timeSource)),
            timing: timing
        )
        let cached = CachedTokenSource(source, timing: timing)
        let openings = try Openings(of: folder.path)
        for number in 1...2 {
            for expected in [1, 0, 0] {
                _ = try await cached.token()
                #expect(openings.count() == expected)
            }
            #expect(transport.requests.count == number)
            time.advance(by: .seconds(100))
        }
    }
}
