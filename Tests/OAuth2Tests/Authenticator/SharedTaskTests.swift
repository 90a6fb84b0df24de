import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

/// Tests that concurrent callers share one token request.
@Suite("OAuth2Authenticator: single-flight refresh", .limitedConcurrency, .tags(.concurrency))
struct SharedTaskTests {
    @Test(
        "A thousand callers without a token make one token request",
        .shows("L2", "O1", "3.8", "4.21", "RFC 6749 §4.4")
    )
    func thousandCallers() async throws {
        let gate = ResponseGate()
        let fixture = OAuth2Fixture(steps: [.tokens("a1").gated(by: gate)])
        let authenticator = fixture.authenticator()
        let deadline = fixture.time.now + .seconds(120)
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 1...1000 { group.addTask { try await authenticator.text(until: deadline) } }
            // The deadline of each caller, the refresh and the request sleep: all thousand are
            // waiting now.
            try await fixture.time.waitForSleepers(count: 1002)
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(texts == Array(repeating: "a1", count: 1000))
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test("A failed request fails all waiting callers, and the next caller sends another")
    func failureIsShared() async throws {
        let gate = ResponseGate()
        let fixture = OAuth2Fixture(steps: [.error("invalid_scope").gated(by: gate)])
        let authenticator = fixture.authenticator()
        let deadline = fixture.time.now + .seconds(120)
        let codes = try await withThrowingTaskGroup(of: OAuth2Error.Code?.self) { group in
            for _ in 1...50 {
                group.addTask { await failureCode { try await authenticator.text(until: deadline) } }
            }
            try await fixture.time.waitForSleepers(count: 52)
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes == Array(repeating: .requestRejected, count: 50))
        #expect(fixture.endpoint.requests.count == 1)
        fixture.time.advance(by: .seconds(1))
        #expect(try await authenticator.text() == "access-1")
    }

    @Test("A cancelled caller returns at once, and the refresh continues for the others", .shows("L3", "O18"))
    func cancelledWaiter() async throws {
        let gate = ResponseGate()
        let fixture = OAuth2Fixture(steps: [.tokens("a1").gated(by: gate)])
        let authenticator = fixture.authenticator()
        let deadline = fixture.time.now + .seconds(120)
        let first = Task { try await authenticator.text(until: deadline) }
        let other = Task { try await authenticator.text(until: deadline) }
        try await fixture.time.waitForSleepers(count: 4)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(!gate.isOpen)
        gate.open()
        #expect(try await other.value == "a1")
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test("A caller that is already cancelled gets no token and doesn't affect others")
    func cancelledBefore() async throws {
        let gate = ResponseGate()
        let fixture = OAuth2Fixture(steps: [.tokens("a1").gated(by: gate)])
        let authenticator = fixture.authenticator()
        let cancelled = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await authenticator.text()
        }
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        gate.open()
        #expect(try await authenticator.text() == "a1")
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test("A call that is cancelled while it waits for a token ends as cancelled")
    func cancelledCall() async throws {
        let fixture = OAuth2Fixture(steps: [.never])
        let client = fixture.client(fixture.authenticator())
        let call = Task { try await client.makeRequest(URLRequest(url: OAuth2Fixture.api)) }
        try await fixture.endpoint.waitForRequests(count: 1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(fixture.resource.requests.isEmpty)
        await fixture.runOut()
    }

    @Test("A refresh completes and stores its tokens after all callers have been cancelled", .shows("L3", "O18"))
    func allCancelled() async throws {
        let gate = ResponseGate()
        let stored = ResponseGate()
        let store = ProbedTokenStore { _ in stored.open() }
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "r1").gated(by: gate)])
        let authenticator = fixture.authenticator(store: store)
        let deadline = fixture.time.now + .seconds(120)
        let callers = (1...10).map { _ in Task { try await authenticator.text(until: deadline) } }
        try await fixture.time.waitForSleepers(count: 12)
        for caller in callers { caller.cancel() }
        for caller in callers { await #expect(throws: CancellationError.self) { try await caller.value } }
        gate.open()
        try await stored.wait()
        #expect(try await authenticator.text() == "a1")
        #expect(store.written.map(\.refresh) == ["r1"])
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test("A refresh that hangs fails at its deadline, and the next caller starts another", .shows("L4"))
    func hangingRefresh() async throws {
        let fixture = OAuth2Fixture(steps: [.never])
        let authenticator = fixture.authenticator()
        let callers = (1...3).map { _ in Task { try await authenticator.text(until: fixture.time.now + .seconds(45)) } }
        try await fixture.time.waitForSleepers(count: 5)
        fixture.time.advance(by: .seconds(30))
        for caller in callers {
            #expect(await failureCode { try await caller.value } == .serverUnreachable)
        }
        #expect(try await authenticator.text() == "access-1")
        #expect(fixture.endpoint.requests.count == 2)
    }

    @Test("A caller with an earlier deadline times out without affecting the others", .shows("L5"))
    func callersDeadline() async throws {
        let gate = ResponseGate()
        let fixture = OAuth2Fixture(steps: [.tokens("a1").gated(by: gate)])
        let authenticator = fixture.authenticator()
        let hasty = Task { try await authenticator.text(until: fixture.time.now + .seconds(5)) }
        let patient = Task { try await authenticator.text(until: fixture.time.now + .seconds(25)) }
        try await fixture.time.waitForSleepers(count: 4)
        fixture.time.advance(by: .seconds(5))
        await #expect(throws: NetworkError(.timedOut, "")) { try await hasty.value }
        gate.open()
        #expect(try await patient.value == "a1")
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test("A deadline in the past is a timeout, not a cancellation")
    func deadlineInThePast() async throws {
        let fixture = OAuth2Fixture(steps: [.never])
        let authenticator = fixture.authenticator()
        let past = fixture.time.now - .seconds(1)
        for _ in 1...100 {
            await #expect(throws: NetworkError(.timedOut, "")) { try await authenticator.text(until: past) }
        }
        try await fixture.endpoint.waitForRequests(count: 1)
        #expect(fixture.endpoint.requests.count == 1)
        await fixture.runOut()
    }

    @Test("An operation's timeout includes the time to get its token", .shows("L5"))
    func operationTimeout() async throws {
        let fixture = OAuth2Fixture(steps: [.never])
        let client = fixture.client(fixture.authenticator(), timeout: .seconds(5))
        let call = Task { try await client.makeRequest(URLRequest(url: OAuth2Fixture.api)) }
        try await fixture.time.waitForSleepers(count: 3)
        fixture.time.advance(by: .seconds(5))
        await #expect(throws: NetworkError(.timedOut, "")) { try await call.value }
        #expect(fixture.resource.requests.isEmpty)
        await fixture.runOut()
    }

    @Test("Task-local values of the first caller don't reach the refresh", .shows("L6"))
    func taskLocals() async throws {
        let journal = Journal()
        let fixture = OAuth2Fixture(steps: [
            .handler { _ in
                journal.add(Tracing.requestID)
                return .json(#"{"access_token":"a1","token_type":"Bearer"}"#)
            }
        ])
        let authenticator = fixture.authenticator()
        let text = try await Tracing.$requestID.withValue("the first caller's") { try await authenticator.text() }
        #expect(text == "a1")
        #expect(journal.entries == ["none"])
    }

    @Test("Authenticators that share a store share a token")
    func sharedStore() async throws {
        let fixture = OAuth2Fixture()
        let store = InMemoryTokenStore()
        let authenticators = (1...10).map { _ in fixture.authenticator(store: store) }
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for authenticator in authenticators { group.addTask { try await authenticator.text() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(texts == Array(repeating: "access-1", count: 10))
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test("Grants with different scopes don't share a token", .shows("G4"))
    func scopesApart() async throws {
        let fixture = OAuth2Fixture()
        let store = InMemoryTokenStore()
        let reading = fixture.authenticator(grant: ClientCredentialsGrant(scope: "read"), store: store)
        let writing = fixture.authenticator(grant: ClientCredentialsGrant(scope: "write"), store: store)
        #expect(try await reading.text() == "access-1")
        #expect(try await writing.text() == "access-2")
    }

    @Test(
        "Doesn't use a stored token of another type, or one that expires within a second",
        arguments: [("DPoP", 3600.0), ("Bearer", 0.5), ("Bearer", -60.0)]
    )
    func unusableRecord(type: String, left: Double) async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", lifetime: 1)])
        let store = TamperedStore { record in
            record.tokenType = type
            record.expiration = fixture.time.date.addingTimeInterval(left)
        }
        _ = try await fixture.authenticator(store: store).text()
        #expect(try await fixture.authenticator(store: store).text() == "access-1")
    }

    @Test("Uses a stored token without an expiry until it's rejected")
    func recordWithoutExpiry() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1")])
        let store = TamperedStore { $0.expiration = nil }
        _ = try await fixture.authenticator(store: store).text()
        let client = fixture.client(fixture.authenticator(store: store))
        _ = try await client.makeRequest(URLRequest(url: OAuth2Fixture.api))
        #expect(fixture.credentials == ["Bearer a1", "Bearer access-1"])
    }
}

private enum Tracing {
    @TaskLocal static var requestID = "none"
}

/// A store that modifies records before it writes them.
private final class TamperedStore: TokenStoreWrapper {
    let store = InMemoryTokenStore()
    private let change: @Sendable (inout TokenRecord) -> Void

    init(_ change: @escaping @Sendable (inout TokenRecord) -> Void) { self.change = change }

    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) -> TokenRecordVersion? {
        var record = record
        change(&record)
        return store.compareAndSwap(key, expectedVersion: expectedVersion, record: record)
    }
}
