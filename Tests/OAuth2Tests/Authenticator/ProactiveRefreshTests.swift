import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

/// Tests that tokens are replaced before they expire, in the background.
@Suite("OAuth2Authenticator: refresh ahead of expiry", .limitedConcurrency, .tags(.concurrency))
struct ProactiveRefreshTests {
    @Test("Callers use the old token while one request gets a new one", .shows("4.21"))
    func staleWhileRefreshing() async throws {
        let gate = ResponseGate()
        let fixture = OAuth2Fixture(steps: [.tokens("a1"), .tokens("a2").gated(by: gate)])
        let authenticator = fixture.authenticator()
        #expect(try await authenticator.text() == "a1")
        fixture.time.advance(by: .seconds(3299))
        #expect(try await authenticator.text() == "a1")
        #expect(fixture.endpoint.requests.count == 1)
        fixture.time.advance(by: .seconds(1))
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 1...100 { group.addTask { try await authenticator.text() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(texts == Array(repeating: "a1", count: 100))
        try await fixture.land(gate)
        #expect(try await authenticator.text() == "a2")
        #expect(fixture.endpoint.requests.count == 2)
    }

    @Test("The time of the refresh is random for each token", .shows("O17"))
    func jitter() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1"), .tokens("a2")])
        let authenticator = fixture.authenticator(random: 0)
        _ = try await authenticator.text()
        fixture.time.advance(by: .seconds(3449))
        _ = try await authenticator.text()
        #expect(fixture.endpoint.requests.count == 1)
        fixture.time.advance(by: .seconds(1))
        _ = try await authenticator.text()
        try await fixture.endpoint.waitForRequests(count: 2)
    }

    @Test("A failed background refresh doesn't affect callers and is retried after 30 seconds", .shows("L7"))
    func failingRefresh() async throws {
        let gates = (1...3).map { _ in ResponseGate() }
        let fixture = OAuth2Fixture(steps: [
            .tokens("a1"), .status(503).gated(by: gates[0]), .status(503).gated(by: gates[1]),
            .tokens("a2").gated(by: gates[2]),
        ])
        let authenticator = fixture.authenticator()
        _ = try await authenticator.text()
        fixture.time.advance(by: .seconds(3300))
        for (gate, requests) in [(gates[0], 2), (gates[1], 3)] {
            #expect(try await authenticator.text() == "a1")
            try await fixture.land(gate)
            for _ in 1...10 { #expect(try await authenticator.text() == "a1") }
            #expect(fixture.time.sleeperCount == 0)
            #expect(fixture.endpoint.requests.count == requests)
            fixture.time.advance(by: .seconds(30))
        }
        #expect(try await authenticator.text() == "a1")
        try await fixture.land(gates[2])
        #expect(try await authenticator.text() == "a2")
        #expect(fixture.endpoint.requests.count == 4)
    }

    @Test("A background refresh that hangs times out and is retried after 30 seconds", .shows("L4"))
    func hangingRefresh() async throws {
        let gate = ResponseGate()
        let fixture = OAuth2Fixture(steps: [.tokens("a1"), .never, .tokens("a2").gated(by: gate)])
        let authenticator = fixture.authenticator()
        _ = try await authenticator.text()
        fixture.time.advance(by: .seconds(3300))
        #expect(try await authenticator.text() == "a1")
        try await fixture.time.waitForSleepers(count: 2)
        fixture.time.advance(by: .seconds(30))
        // The request is cancelled after the refresh has ended.
        while fixture.time.sleeperCount > 0 { await Task.yield() }
        for _ in 1...10 { #expect(try await authenticator.text() == "a1") }
        #expect(fixture.endpoint.requests.count == 2)
        fixture.time.advance(by: .seconds(30))
        _ = try await authenticator.text()
        try await fixture.land(gate)
        #expect(try await authenticator.text() == "a2")
    }

    @Test("Callers wait after the hard expiry, also for a refresh that began in the background")
    func hardExpiry() async throws {
        let gate = ResponseGate()
        let fixture = OAuth2Fixture(steps: [.tokens("a1", lifetime: 100), .tokens("a2").gated(by: gate)])
        let authenticator = fixture.authenticator()
        _ = try await authenticator.text()
        fixture.time.advance(by: .seconds(80))
        #expect(try await authenticator.text() == "a1")
        try await fixture.time.waitForSleepers(count: 2)
        fixture.time.advance(by: .seconds(11))
        let waiting = Task { try await authenticator.text(until: fixture.time.now + .seconds(120)) }
        try await fixture.time.waitForSleepers(count: 3)
        gate.open()
        #expect(try await waiting.value == "a2")
        #expect(fixture.endpoint.requests.count == 2)
    }

    @Test("When a background refresh ends the grant, callers use the last token until it expires")
    func deadInBackground() async throws {
        let gate = ResponseGate()
        let fixture = OAuth2Fixture(steps: [
            .tokens("a1", refresh: "r1", lifetime: 100), .error("invalid_grant").gated(by: gate),
        ])
        let authenticator = fixture.authenticator(grant: RefreshTokenGrant(refreshToken: Secret("r0")))
        _ = try await authenticator.text()
        fixture.time.advance(by: .seconds(80))
        #expect(try await authenticator.text() == "a1")
        try await fixture.land(gate)
        #expect(try await authenticator.text() == "a1")
        fixture.time.advance(by: .seconds(10))
        #expect(await failureCode { try await authenticator.text() } == .reauthenticationRequired)
        #expect(fixture.endpoint.requests.count == 2)
    }
}
