import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("Retry.Backoff", .limitedConcurrency, .tags(.concurrency))
struct RetryBackoffTests {
    private let error = NetworkError(.connectionLost, "lost")
    private let request = HTTPRequest(url: URL(filePath: "/"))

    /// Returns the delays of a policy until it ends, and the reason for its end.
    private func delays(_ backoff: Retry.Backoff, limit: Int = 50) -> (delays: [Duration], end: String) {
        let policy = Retry.Policy.backoff(backoff)
        var state = Retry.State()
        for _ in 0..<limit {
            let context = InterceptorContext(retryState: state)
            let action = policy.evaluateFailedRequest(FailedRequest(request, error: error, context: context))
            guard case .retryAfter(let delay) = action else { return (state.delays, "\(action)") }
            state = Retry.State(errors: state.errors + [error], delays: state.delays + [delay])
        }
        return (state.delays, "no end")
    }

    @Test("An exponential delay doubles up to its maximum, with full jitter by default")
    func exponential() {
        let plain = delays(.exponential(.seconds(1), maximum: .seconds(5), jitter: .none, until: .maxRetries(5)))
        #expect(plain.delays == [1, 2, 4, 5, 5].map { .seconds($0) })
        let full = delays(.exponential(.seconds(1), maximum: .seconds(5), until: .maxRetries(5), random: { 0.25 }))
        #expect(full.delays == [250, 500, 1_000, 1_250, 1_250].map { .milliseconds($0) })
        let equal = delays(.exponential(.seconds(1), jitter: .equal, until: .maxRetries(3), random: { 0.5 }))
        #expect(equal.delays == [750, 1_500, 3_000].map { .milliseconds($0) })
        let constant = delays(.constant(.seconds(2), jitter: .full, until: .maxRetries(1), random: { 0.5 }))
        #expect(constant.delays == [.seconds(1)])
    }

    @Test("Doubles the longest duration without overflow")
    func longest() {
        let longest = Duration.seconds(Int64.max)
        let few = delays(.exponential(longest, maximum: .seconds(60), jitter: .none, until: .maxRetries(40)))
        #expect(few.delays == Array(repeating: .seconds(60), count: 40))
        let decorrelated = delays(.decorrelated(longest, maximum: longest, until: .maxRetries(2), random: { 1 }))
        #expect(decorrelated.delays == [longest, longest])
    }

    @Test("Jitter covers its whole range, and stays within it", .shows("1.25"), arguments: [Retry.Jitter.full, .equal])
    func bounds(_ jitter: Retry.Jitter) {
        var lowest = Duration.seconds(9)
        var highest = Duration.zero
        for _ in 0..<400 {
            let delay = delays(.exponential(.seconds(1), jitter: jitter, until: .maxRetries(1))).delays[0]
            lowest = min(lowest, delay)
            highest = max(highest, delay)
        }
        let floor: Duration = if case .full = jitter { .zero } else { .milliseconds(500) }
        #expect(lowest >= floor && highest < .seconds(1))
        // The probability that 400 draws miss the lowest or highest tenth is below 10⁻¹⁸.
        #expect(lowest < floor + (.seconds(1) - floor) / 10)
        #expect(highest > .seconds(1) - (.seconds(1) - floor) / 10)
    }

    @Test(
        "A decorrelated delay lies between the base and three times the previous one, up to its maximum",
        .shows("P3")
    )
    func decorrelated() {
        let highest = delays(.decorrelated(.seconds(1), maximum: .seconds(20), until: .maxRetries(5), random: { 1 }))
        #expect(highest.delays == [3, 9, 20, 20, 20].map { .seconds($0) })
        let lowest = delays(.decorrelated(.seconds(1), until: .maxRetries(3), random: { 0 }))
        #expect(lowest.delays == [1, 1, 1].map { .seconds($0) })
        for _ in 0..<50 {
            var previous = Duration.seconds(1)
            for delay in delays(.decorrelated(.seconds(1), maximum: .seconds(20), until: .maxRetries(10))).delays {
                #expect(delay >= .seconds(1) && delay <= .seconds(20) && delay <= previous * 3)
                previous = delay
            }
        }
    }

    @Test("Never exceeds the total delay with any jitter", arguments: [0.1, 0.5, 0.99])
    func total(_ random: Double) {
        let backoffs: [Retry.Backoff] = [
            .exponential(.milliseconds(100), until: .maxDelay(.seconds(1)), random: { random }),
            .decorrelated(.milliseconds(100), until: .maxDelay(.seconds(1)), random: { random }),
            .constant(.milliseconds(300), until: .maxDelay(.seconds(1))),
        ]
        for backoff in backoffs {
            let (delays, end) = delays(backoff, limit: 500)
            #expect(delays.reduce(.zero, +) == .seconds(1))
            #expect(end == "\(Retry.Action.noRetry(.delay(.seconds(1))))")
        }
    }

    @Test("A doubling backoff uses the caller's count, and waits at least as long as the server asks")
    func doubling() {
        let backoff = Retry.Backoff.doubling(.seconds(1), to: .seconds(60), jitter: .equal)
        #expect(
            [1, 2, 6, 7, .max].map { backoff.delay(retry: $0, random: 1) }
                == [1, 2, 32, 60, 60].map { Duration.seconds($0) }
        )
        #expect([-1, 0, 2].map { backoff.delay(retry: 2, random: $0) } == [1, 1, 2].map { Duration.seconds($0) })
        #expect(backoff.delay(retry: 1, random: 0, atLeast: .seconds(5)) == .seconds(5))
        let unspread = Retry.Backoff.doubling(.milliseconds(100), to: .seconds(1))
        #expect(
            (1...5).map { unspread.delay(retry: $0) } == [100, 200, 400, 800, 1000].map { Duration.milliseconds($0) }
        )
    }

    private func action(
        _ policy: Retry.Policy,
        after value: String?,
        status: Int = 503,
        date: String? = nil,
        state: Retry.State = Retry.State()
    ) throws -> String {
        let url = try #require(URL(string: "http://a.example/"))
        var fields: HTTPHeaders = [:]
        fields["Retry-After"] = value
        fields["Date"] = date
        let response = HTTPResponse(url: url, status: status, headers: fields)
        let failure = FailedRequest(
            HTTPRequest(url: url),
            response: response,
            error: ServerError(endpoint: nil, errorCode: status),
            context: InterceptorContext(retryState: state)
        )
        return "\(policy.evaluateFailedRequest(failure))"
    }

    /// Returns a policy whose clock stands at 1994-11-06T08:49:37Z.
    private func policy(_ backoff: Retry.Backoff) -> Retry.Policy {
        .backoff(backoff, date: { Date(timeIntervalSince1970: 784_111_777) })
    }

    @Test(
        "Waits at least for Retry-After, in seconds and in all of HTTP's date formats",
        .shows("1.25", "RFC 9110 §10.2.3"),
        arguments: [
            ("5", 5), ("0", 1), ("1", 1), (" 7 ", 7), ("Sun, 06 Nov 1994 08:49:47 GMT", 10),
            ("Sunday, 06-Nov-94 08:49:47 GMT", 10), ("Sun Nov  6 08:49:47 1994", 10),
            ("Sun, 06 Nov 1994 08:00:00 GMT", 1),
            ("-5", 1), ("5.5", 1), ("soon", 1), ("", 1), ("5, 6", 1),
        ]
    )
    func retryAfter(_ value: String, _ seconds: Int) throws {
        let policy = policy(.constant(.seconds(1), until: .maxRetries(3)))
        #expect(try action(policy, after: value) == "\(Retry.Action.retryAfter(.seconds(seconds)))")
    }

    @Test("Interprets a date relative to the response's own date")
    func skew() throws {
        let policy = policy(.constant(.seconds(1), until: .maxRetries(3)))
        let action = try action(policy, after: "Sat, 01 Jan 2000 00:00:30 GMT", date: "Sat, 01 Jan 2000 00:00:00 GMT")
        #expect(action == "\(Retry.Action.retryAfter(.seconds(30)))")
    }

    @Test(
        "A longer delay than accepted ends the retries",
        arguments: ["61", "99999999999999999999", "Mon, 07 Nov 1994 00:00:00 GMT"]
    )
    func tooLong(_ value: String) throws {
        let policy = policy(.constant(.seconds(1), until: .maxRetries(3)))
        #expect(try action(policy, after: value).hasPrefix("noRetry(not retried: the server asked for a delay of "))
        let patient = Retry.Policy.backoff(
            .constant(.seconds(1), until: .maxRetries(3)),
            maximumServerDelay: .seconds(90)
        )
        #expect(try action(patient, after: "61") == "\(Retry.Action.retryAfter(.seconds(61)))")
    }

    @Test("A server's delay neither extends an exhausted policy nor exceeds the total delay")
    func limits() throws {
        let policy = policy(.constant(.seconds(1), until: .maxRetries(0)))
        #expect(try action(policy, after: "5") == "\(Retry.Action.noRetry(.retries(0)))")
        let total = self.policy(.constant(.seconds(1), until: .maxDelay(.seconds(4))))
        #expect(try action(total, after: "4") == "\(Retry.Action.retryAfter(.seconds(4)))")
        #expect(try action(total, after: "5") == "\(Retry.Action.noRetry(.delay(.seconds(4))))")
    }

    @Test("A policy without a backoff waits if the server asks for it")
    func withoutBackoff() throws {
        #expect(try action(.maxRetries(1), after: "5") == "\(Retry.Action.retryAfter(.seconds(5)))")
        #expect(try action(.maxRetries(1), after: "0") == "retry")
        #expect(try action(.maxRetries(1), after: nil) == "retry")
        #expect(try action(.maxRetries(1), after: "61").hasPrefix("noRetry"))
    }
}

@Suite("Retry.Budget", .limitedConcurrency, .tags(.concurrency))
struct RetryBudgetTests {
    private let url = URL(string: "http://a.example/")!
    private let time = ManualTime(advancesWhenSleeping: true)

    private func client(_ transport: MockTransport, _ budget: Retry.Budget?, retries: Int = 100) -> NetworkClient {
        NetworkClient(
            transport: transport,
            interceptors: [Retry.Policy.maxRetries(retries)],
            options: .init(timeout: nil, timeSource: time.timeSource, retryBudget: budget)
        )
    }

    private var request: URLRequest { URLRequest(url: url, timeoutInterval: .infinity) }

    @Test("Retries cost tokens, more for failures than for throttling, until the budget is used up", .shows("P3"))
    func exhausted() async throws {
        let budget = Retry.Budget(capacity: 30, transientCost: 14, throttlingCost: 5)
        let transport = MockTransport(.status(500), .status(503), .status(429), .status(500))
        let error = await #expect(throws: ServerError.self) { try await client(transport, budget).makeRequest(request) }
        #expect(transport.requests.count == 4)
        #expect(budget.balance(for: url) == 30 - 14 - 5 - 5)
        expectReason(.budget, error?.retry)
        #expect(
            error?.description.hasSuffix("not retried again: the retry budget for this server is exhausted") == true
        )
        #expect(error?.errorCode == 500 && error?.retry?.state.errors.count == 3)
    }

    @Test("Refunds the tokens of a successful retry, and adds one for a first success")
    func refilling() async throws {
        let budget = Retry.Budget(capacity: 30)
        let transport = MockTransport(.status(500), .status(500), .text("ok"), .text("ok"), .text("ok"))
        let client = client(transport, budget)
        _ = try await client.makeRequest(request)
        #expect(budget.balance(for: url) == 16)
        _ = try await client.makeRequest(request)
        _ = try await client.makeRequest(request)
        #expect(budget.balance(for: url) == 18)
        let small = Retry.Budget(capacity: 20)
        let other = self.client(MockTransport(.status(500), .text("ok"), .text("ok")), small)
        for _ in 0..<2 { _ = try await other.makeRequest(request) }
        #expect(small.balance(for: url) == 20, "never more than the capacity")
    }

    @Test("Keeps the balances of a bounded number of origins")
    func manyOrigins() async throws {
        let budget = Retry.Budget(capacity: 30)
        let client = client(MockTransport { _ in HTTPTransportResponse(status: 500) }, budget, retries: 1)
        let urls = try (0..<1_100).map { try #require(URL(string: "http://host\($0).example/")) }
        for url in urls { _ = try? await client.makeRequest(URLRequest(url: url, timeoutInterval: .infinity)) }
        #expect(urls.count { budget.balance(for: $0) < 30 } == 1_024)
    }

    @Test("Each origin has its own balance")
    func origins() async throws {
        let budget = Retry.Budget(capacity: 14)
        let other = try #require(URL(string: "http://b.example/"))
        let transport = MockTransport(.status(500), .status(500), .status(500), .text("ok"))
        let client = client(transport, budget)
        await #expect(throws: ServerError.self) { try await client.makeRequest(request) }
        #expect(budget.balance(for: url) == 0 && budget.balance(for: other) == 14)
        #expect(try await client.makeRequest(URLRequest(url: other, timeoutInterval: .infinity)) == Data("ok".utf8))
    }

    @Test("An authenticator's retry costs nothing")
    func authentication() async throws {
        let budget = Retry.Budget(capacity: 0)
        let transport = MockTransport(.status(401), .text("ok"))
        let client = NetworkClient(
            transport: transport,
            interceptors: [CountingAuthenticator { status, _ in status == 401 ? .retry : .none }],
            options: .init(timeSource: time.timeSource, retryBudget: budget)
        )
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
    }

    @Test("Allows 35 retries in a row by default, and any number without a budget")
    func defaults() async throws {
        let transport = MockTransport { _ in HTTPTransportResponse(status: 500) }
        await #expect(throws: ServerError.self) { try await client(transport, Retry.Budget()).makeRequest(request) }
        #expect(transport.requests.count == 36)
        await #expect(throws: ServerError.self) { try await client(transport, nil, retries: 60).makeRequest(request) }
        #expect(transport.requests.count == 36 + 61)
    }

    @Test("The state contains the delays so far", .shows("1.20"))
    func delays() async throws {
        let transport = MockTransport(.status(500), .status(503, headers: ["Retry-After": "3"]), .status(500))
        let policy = Retry.Policy.backoff(.exponential(.seconds(1), jitter: .none, until: .maxRetries(2)))
        let client = NetworkClient(
            transport: transport,
            interceptors: [policy],
            options: .init(timeout: nil, timeSource: time.timeSource)
        )
        let error = await #expect(throws: ServerError.self) { try await client.makeRequest(request) }
        #expect(error?.retry?.state.delays == [.seconds(1), .seconds(3)])
        #expect(error?.retry?.state.totalDelay == .seconds(4))
        #expect(time.sleeps == [.seconds(1), .seconds(3)])
    }

    @Test("Expresses STRV's three retries after two seconds in one line", .shows("4.11"))
    func constant() async throws {
        let transport = MockTransport(.status(500), .status(500), .text("ok"))
        let policy = Retry.Policy.backoff(.constant(.seconds(2), until: .maxRetries(3)))
        let client = NetworkClient(
            transport: transport,
            interceptors: [policy],
            options: .init(timeout: nil, timeSource: time.timeSource)
        )
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
        #expect(time.sleeps == [.seconds(2), .seconds(2)])
    }
}
