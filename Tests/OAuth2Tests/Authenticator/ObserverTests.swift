import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestIssuers
import TestSupport
import Testing

/// Tests of one observer for a client, its authenticator and a key set.
@Suite("ClientObserver: tokens and key sets", .limitedConcurrency, .tags(.concurrency))
struct ObserverTests {
    /// An observer that keeps the hosts of ended attempts and the names of events.
    private final class Witness: ClientObserver {
        private let state = Mutex((hosts: [String](), names: [String]()))

        var hosts: [String] { state.withLock { $0.hosts } }
        var names: [String] { state.withLock { $0.names } }

        func attemptEnded(_ attempt: RequestAttempt) {
            state.withLock { $0.hosts.append(attempt.labels["server.address"] ?? "") }
        }

        func observe(_ event: any ObservedEvent) {
            if event is OAuth2Event, event.name == "oauth2.token.awaited" { return }
            state.withLock { $0.names.append(event.name) }
        }
    }

    @Test("The observer of a client observes its authenticator and the token requests", .shows("P44"))
    func onePlace() async throws {
        let fixture = OAuth2Fixture()
        let witness = Witness()
        let client = NetworkClient(
            transport: fixture.resource,
            interceptors: [fixture.authenticator()],
            options: .init(timeSource: fixture.time.timeSource, observers: [witness])
        )
        _ = try await client.makeRequest(URLRequest(url: OAuth2Fixture.api))
        fixture.revoke()
        _ = try await client.makeRequest(URLRequest(url: OAuth2Fixture.api))
        #expect(witness.hosts == ["as.example", "api.example", "api.example", "as.example", "api.example"])
        let refresh = ["oauth2.token.refresh_started", "oauth2.token.requested", "oauth2.token.refreshed"]
        #expect(witness.names == refresh + ["oauth2.token.retried"] + refresh)
    }

    @Test("The observer of a client observes the authenticator of a resource")
    func ofResource() async throws {
        let fixture = OAuth2Fixture()
        let witness = Witness()
        let client = NetworkClient(
            transport: fixture.resource,
            options: .init(timeSource: fixture.time.timeSource, observers: [witness])
        )
        let resource = Resource(interceptors: [fixture.authenticator()]) { URLRequest(url: OAuth2Fixture.api) }
        _ = try await client.response(for: resource)
        #expect(witness.names.last == "oauth2.token.refreshed")
    }

    @Test("An observer of both clients, or of two clients with one authenticator, gets each event once")
    func once() async throws {
        let fixture = OAuth2Fixture()
        let authenticator = fixture.authenticator()
        var options = NetworkClient.Options(timeSource: fixture.time.timeSource)
        options.observers = [fixture.events]
        let clients = (1...2).map { _ in
            NetworkClient(transport: fixture.resource, interceptors: [authenticator], options: options)
        }
        for client in clients { _ = try await client.makeRequest(URLRequest(url: OAuth2Fixture.api)) }
        #expect(fixture.events.tokenEvents.count { $0 == .requested } == 1)
        #expect(fixture.events.tokenEvents.count { $0.name == "oauth2.token.refreshed" } == 1)
    }

    @Test("Counts what the events report")
    func counters() async throws {
        let fixture = OAuth2Fixture(answers: [.refusal, .text("ok"), .refusal, .refusal])
        let authenticator = fixture.authenticator()
        let client = fixture.client(authenticator)
        _ = try await client.makeRequest(URLRequest(url: OAuth2Fixture.api))
        await #expect(throws: ServerError.self) { try await client.makeRequest(URLRequest(url: OAuth2Fixture.api)) }
        let events = fixture.events.tokenEvents
        let counters = authenticator.counters
        #expect(counters.retries == 2 && events.count { $0 == .retried } == 2)
        #expect(counters.refusals == 1 && events.count { $0 == .refused } == 1)
        #expect(counters.tokenRequests == 3 && events.count { $0 == .requested } == 3)
        #expect(counters.waits == fixture.events.all.count { $0.name == "oauth2.token.awaited" })
    }

    @Test("The name of a token event is its case in snake case")
    func names() {
        let code = OAuth2Error.Code.invalidClient
        let events: [OAuth2Event] = [
            .requested, .awaited, .retried, .refused, .refreshStarted(replacing: 0, isInBackground: false),
            .refreshed(generation: 1, lifetime: nil, isFound: true), .refreshFailed(code, status: nil), .rotated,
            .refreshInDoubt, .backoff(.zero, code), .dead(code, isPossiblyLostRotation: true),
            .nonceUpdated(origin: "a:1"), .skewChanged(origin: "a:1", .zero), .storeFailed,
            .demanded(code, ResourceDemand()), .withheld(origin: "a:1"), .signedOut, .signedIn,
        ]
        for event in events {
            let snake = "\(event)".prefix { $0 != "(" }.map { $0.isUppercase ? "_\($0.lowercased())" : "\($0)" }
            #expect(event.name == "oauth2.token.\(snake.joined())")
        }
    }

    @Test("One failed refresh is one event of a log's default level")
    func once() {
        let ended = OAuth2Error.Code.reauthenticationRequired
        let events: [OAuth2Event] = [
            .refreshFailed(ended, status: 400), .dead(ended, isPossiblyLostRotation: false),
            .refreshFailed(.serverTransient, status: 503), .backoff(.seconds(1), .serverTransient),
        ]
        #expect(events.map(\.severity) == [.debug, .error, .warning, .debug])
    }

    @Test("Events of one name have the same labels, and values that no server can invent")
    func labels() {
        let code = OAuth2Error.Code.invalidClient
        let events: [any ObservedEvent] = [
            OAuth2Event.refreshFailed(code, status: nil), OAuth2Event.refreshFailed(code, status: 1_000_000),
            OAuth2Event.refreshed(generation: 1, lifetime: nil, isFound: true),
            OAuth2Event.refreshed(generation: 2, lifetime: .seconds(9), isFound: false),
            OAuth2Event.nonceUpdated(origin: "[::1]:8080"), OAuth2Event.nonceUpdated(origin: "as.example"),
            KeySetEvent.refreshFailed(host: nil, code, status: nil),
            KeySetEvent.refreshFailed(host: "id.example", code, status: 503),
        ]
        for (first, second) in zip(events, events.dropFirst()) where first.name == second.name {
            #expect(first.labels.keys.sorted() == second.labels.keys.sorted(), "\(first.name)")
        }
        #expect(events[1].labels["http.response.status_code"] == "none")
        #expect(events[4].labels == ["server.address": "::1", "server.port": "8080"])
        #expect(events[6].labels["server.address"] == "none")
    }

    @Test("A key set reports each fetch to the observers of its client")
    func keySet() async throws {
        let document = IssuerKey.document([try IssuerKey(id: "1")])
        let time = ManualTime()
        defer { time.end() }
        let transport = MockTransport(.json(document), .json(document), .status(503))
        let events = EventJournal()
        var options = RemoteKeySet.Options()
        options.timeSource = time.timeSource
        options.staleIfError = .zero
        let keys = RemoteKeySet(
            url: try #require(URL(string: "https://id.example/keys")),
            client: NetworkClient(
                transport: transport,
                options: .init(timeSource: time.timeSource, observers: [events])
            ),
            options: options
        )
        for _ in 1...2 {
            _ = try await keys.keys()
            time.advance(by: .seconds(3_600))
        }
        #expect(await failureCode { try await keys.keys() } == .serverTransient)
        #expect(
            events.keySetEvents == [
                .refreshed(host: "id.example", keyCount: 1, isChanged: true),
                .refreshed(host: "id.example", keyCount: 1, isChanged: false),
                .refreshFailed(host: "id.example", .serverTransient, status: 503),
            ]
        )
        #expect(events.keySetEvents.map(\.severity) == [.info, .debug, .warning])
        let count = ["oauth2.keys.count": "1"]
        #expect(events.keySetEvents.map(\.details) == [count, count, [:]])
    }

    // MARK: Logs of requests without a token, without secrets

    /// Returns the last log line of a request.
    private func lastLine(_ interceptor: any Interceptor, in fixture: OAuth2Fixture) async -> String {
        let lines = Mutex<[String]>([])
        let client = NetworkClient(
            transport: fixture.resource,
            interceptors: [interceptor],
            options: .init(
                timeSource: fixture.time.timeSource,
                observers: [RequestLogger(sink: { line in lines.withLock { $0.append(line) } })]
            )
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

    @Test("Doesn't log a foreign error, even as the cause of an OAuth2Error", .shows("Z9"))
    func foreign() async {
        struct Odd: Error { let secret = "s3cret" }
        let fixture = OAuth2Fixture()
        let failure = NetworkError(.requestNotMade, "no", cause: OAuth2Error(.grantFailed, "no grant", cause: Odd()))
        struct Failing: RequestInterceptor {
            let error: NetworkError

            func intercept(_ request: HTTPRequest, next: Next) async throws -> HTTPResponse { throw error }
        }
        let line = await lastLine(Failing(error: failure), in: fixture)
        #expect(line.contains("(grantFailed: no grant)"), "\(line)")
        #expect(!line.contains("s3cret") && !line.contains("Odd"), "\(line)")
    }
}
