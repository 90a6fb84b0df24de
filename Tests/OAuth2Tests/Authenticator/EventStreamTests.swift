import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestIssuers
import TestSupport
import Testing

/// Tests of event streams with an authenticator.
@Suite("OAuth2Authenticator: event streams", .limitedConcurrency)
struct EventStreamTests {
    private func withFeed(
        _ test: (MockAuthorizationServer, LoopbackServer, ServerSentEvents, ManualTime) async throws -> Void
    ) async throws {
        try await withAuthorizationServer { authorization in
            let feed = authorization.protecting { request in
                let headers: HTTPHeaders = ["Content-Type": "text/event-stream"]
                let next = (request.headers["Last-Event-ID"].flatMap { Int($0) } ?? 0) + 1
                guard next <= 3 else { return .status(204) }
                return .stream(headers: headers) { writer in
                    try await writer.write("id: \(next)\ndata: event \(next)\n\n")
                    if next == 2 { authorization.revokeAccessTokens() }
                }
            }
            try await withLoopbackServer { api async throws in
                api.on(.get, "/feed", feed)
                let time = ManualTime(advancesWhenSleeping: true)
                let authenticator = OAuth2Authenticator(
                    client: OAuth2Client(
                        server: authorization.metadata,
                        clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret")),
                        timing: OAuth2Timing(attempts: 1, random: { 0 })
                    ),
                    grant: ClientCredentialsGrant(),
                    resources: [api.baseURL]
                )
                let client = NetworkClient(
                    interceptors: [authenticator],
                    options: NetworkClient.Options(timeSource: time.timeSource)
                )
                let events = client.events(for: URLRequest(url: api.url(for: "/feed")))
                try await test(authorization, api, events, time)
            }
        }
    }

    @Test("Gets a new token when the old one was revoked while the stream ran", .shows("P29"))
    func revokedToken() async throws {
        try await withFeed { authorization, api, events, _ async throws in
            var data: [String] = []
            for try await event in events { data.append(event.data) }
            #expect(data == ["event 1", "event 2", "event 3"])
            #expect(authorization.tokenRequestCount == 2)
            // The third connection was rejected and sent again with the new token.
            #expect(api.requests.map { $0.headers["Last-Event-ID"] } == [nil, "1", "2", "2", "3"])
            #expect(Set(api.requests.map { $0.headers["Authorization"] }).count == 2)
        }
    }

    @Test("Survives an outage of the token endpoint while the token is refreshed")
    func tokenOutage() async throws {
        try await withFeed { authorization, _, events, time async throws in
            var iterator = events.makeAsyncIterator()
            #expect(try await iterator.next()?.data == "event 1")
            #expect(try await iterator.next()?.data == "event 2")
            authorization.misbehave(.unavailable())
            #expect(try await iterator.next()?.data == "event 3")
            #expect(authorization.tokenRequestCount == 3)
            // One reconnection after each of the two events, and one after the outage.
            #expect(time.sleeps.count == 3)
        }
    }

    @Test("Ends when the authorization server refuses the client for good")
    func revokedClient() async throws {
        try await withFeed { authorization, _, events, _ async throws in
            var iterator = events.makeAsyncIterator()
            #expect(try await iterator.next()?.data == "event 1")
            #expect(try await iterator.next()?.data == "event 2")
            authorization.register(.init(id: "reports", secret: "another"))
            let error = await #expect(throws: NetworkError(.requestNotMade, "")) { _ = try await iterator.next() }
            #expect((error?.cause as? OAuth2Error)?.code == .invalidClient)
            #expect(try await iterator.next() == nil)
        }
    }
}
