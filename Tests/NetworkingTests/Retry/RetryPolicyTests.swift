import Foundation
import FoundationNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("Retry", .computing)
struct RetryPolicyTests {
    private let error = NetworkError(.connectionLost, "lost")
    private let request = HTTPRequest(url: URL(filePath: "/"))

    private func state(failures: Int, delay: Duration = .zero) -> Retry.State {
        Retry.State(errors: Array(repeating: error, count: failures), totalDelay: delay)
    }

    private func action(_ policy: Retry.Policy, _ state: Retry.State) -> String {
        "\(self.action(policy, after: error, state))"
    }

    private func action(
        _ policy: Retry.Policy,
        after error: any Error,
        _ state: Retry.State = Retry.State(),
        method: HTTPMethod = .get
    ) -> Retry.Action {
        var request = request
        request.method = method
        return policy.evaluateFailedRequest(
            FailedRequest(request, error: error, context: InterceptorContext(retryState: state))
        )
    }

    @Test("Stops at the maximum number of retries", .shows("1.19"))
    func maxRetries() {
        #expect(action(.maxRetries(3), state(failures: 2)) == "\(Retry.Action.retry)")
        #expect(action(.maxRetries(3), state(failures: 3)) == "\(Retry.Action.noRetry(.retries(3)))")
        #expect(action(.maxRetries(0), state(failures: 0)) == "\(Retry.Action.noRetry(.retries(0)))")
    }

    @Test("Stops a constant backoff at a number of retries", .shows("1.22", "4.12"))
    func constantRetries() {
        let policy = Retry.Policy.backoff(.constant(.seconds(1), until: .maxRetries(3)))
        #expect(action(policy, state(failures: 2)) == "\(Retry.Action.retryAfter(.seconds(1)))")
        #expect(action(policy, state(failures: 3)) == "\(Retry.Action.noRetry(.retries(3)))")
    }

    @Test("Exponential backoff calls its scale with the retry's number, unless it is exhausted", .shows("0.23"))
    func exponentialRetries() {
        let asked = Mutex<[Int]>([])
        let policy = Retry.Policy.backoff(
            .exponential(
                .milliseconds(100),
                jitter: .none,
                scale: { base, retry in
                    asked.withLock { $0.append(retry) }
                    return base * retry
                },
                until: .maxRetries(3)
            )
        )
        #expect(action(policy, state(failures: 2)) == "\(Retry.Action.retryAfter(.milliseconds(300)))")
        #expect(action(policy, state(failures: 3)) == "\(Retry.Action.noRetry(.retries(3)))")
        #expect(asked.withLock { $0 } == [3])
    }

    @Test("The default scale doubles without overflowing")
    func defaultScale() {
        let policy = Retry.Policy.backoff(.exponential(.milliseconds(100), jitter: .none, until: .maxRetries(1_000)))
        let delays = [100, 200, 400, 800].map { Retry.Action.retryAfter(.milliseconds($0)) }
        #expect((0..<4).map { action(policy, state(failures: $0)) } == delays.map { "\($0)" })
        #expect(action(policy, state(failures: 900)).contains("retryAfter"))
    }

    @Test("Never exceeds the total delay", .shows("1.22", "1.23"))
    func maxDelay() {
        let policy = Retry.Policy.backoff(
            .exponential(.milliseconds(100), jitter: .none, scale: { $0 * $1 }, until: .maxDelay(.milliseconds(400)))
        )
        var (state, delays) = (Retry.State(), [Duration]())
        while case .retryAfter(let delay) = action(policy, after: error, state) {
            delays.append(delay)
            state = Retry.State(errors: state.errors + [error], totalDelay: state.totalDelay + delay)
        }
        // Alicerce's own code waits 0.6 s here with a limit of 0.4 s.
        #expect(delays == [.milliseconds(100), .milliseconds(200), .milliseconds(100)])
        #expect(action(policy, state) == "\(Retry.Action.noRetry(.delay(.milliseconds(400))))")
        let constant = Retry.Policy.backoff(.constant(.seconds(3), until: .maxDelay(.seconds(4))))
        #expect(
            action(constant, self.state(failures: 1, delay: .seconds(3))) == "\(Retry.Action.retryAfter(.seconds(1)))"
        )
    }

    @Test("A custom rule gets the error, the state and the request, and its action applies", .shows("0.23", "1.24"))
    func custom() throws {
        let seen = Mutex<(code: NetworkError.Code?, retries: Int, url: URL?)>((nil, 0, nil))
        let policy = Retry.Policy.custom { failure in
            let retries = failure.context.retryState.retryCount
            seen.withLock { $0 = ((failure.error as? NetworkError)?.code, retries, failure.request.url) }
            return .retryAfter(.seconds(7))
        }
        #expect(action(policy, state(failures: 2)) == "\(Retry.Action.retryAfter(.seconds(7)))")
        #expect(seen.withLock { $0.code } == .connectionLost)
        #expect(seen.withLock { $0.retries } == 2)
        #expect(seen.withLock { $0.url } == request.url)
    }

    @Test(
        "The action with the highest priority wins in either order, and the first of two noRetry",
        .shows("1.17", "1.18")
    )
    func priority() {
        let (none, retry) = (Retry.Action.none, Retry.Action.retry)
        let (short, long) = (Retry.Action.retryAfter(.seconds(1)), Retry.Action.retryAfter(.seconds(2)))
        let (stop, stopToo) = (Retry.Action.noRetry(.retries(1)), Retry.Action.noRetry(.retries(2)))
        let ascending = [none, retry, short, long, stop]
        for (index, weaker) in ascending.enumerated() {
            for stronger in ascending[index...] {
                #expect("\(Retry.Action.highestPriority(weaker, stronger))" == "\(stronger)")
                #expect("\(Retry.Action.highestPriority(stronger, weaker))" == "\(stronger)")
            }
        }
        #expect("\(Retry.Action.highestPriority(stop, stopToo))" == "\(stop)")
        #expect("\(Retry.Action.highestPriority(stopToo, stop))" == "\(stopToo)")
    }

    @Test("Counts attempts and retries", .shows("0.12", "1.20", "4.13"))
    func counting() {
        #expect(Retry.State().retryCount == 0)
        #expect(state(failures: 2).retryCount == 2)
        #expect(Retry.State(authenticationErrors: [error]).retryCount == 0)
    }

    @Test(
        "Retries transient failures of requests that may be sent twice",
        .shows("H15", "P2", "1.21", "RFC 9110 §9.2"),
        arguments: [
            ("GET", 500, true), ("GET", 408, true), ("GET", 429, true), ("PUT", 503, true), ("DELETE", 504, true),
            ("GET", 501, false), ("GET", 404, false), ("GET", 401, false), ("POST", 503, false), ("PATCH", 502, false),
        ]
    )
    func condition(_ method: String, _ status: Int, _ isRepeated: Bool) throws {
        let method = try #require(HTTPMethod(method))
        let error = ServerError(endpoint: nil, errorCode: status)
        #expect("\(action(.maxRetries(1), after: error, method: method))" == (isRepeated ? "retry" : "none"))
        #expect("\(action(.maxRetries(1, when: .always), after: error, method: method))" == "retry")
    }

    @Test(
        "Retries a POST only if it was not processed",
        arguments: [
            (NetworkError(.cannotConnect, ""), true), (NetworkError(.cannotResolveHost, ""), true),
            (NetworkError(.timedOut, "", timeout: .init(limit: .deadline, phase: .queued)), true),
            (NetworkError(.timedOut, "", timeout: .init(limit: .connect, phase: .tlsHandshake)), true),
            (NetworkError(.timedOut, "", timeout: .init(limit: .idle, phase: .sending)), false),
            (NetworkError(.timedOut, "", timeout: .init(limit: .firstByte, phase: .firstByte)), false),
            (NetworkError(.connectionLost, ""), false), (NetworkError(.connectionLost, "", isUnprocessed: true), true),
            (NetworkError(.cannotConnect, "", isUnprocessed: false), false),
            (NetworkError(.tls, "", isUnprocessed: true), false),
        ]
    )
    func unprocessed(_ error: NetworkError, _ isRepeated: Bool) {
        #expect("\(action(.maxRetries(1), after: error, method: .post))" == (isRepeated ? "retry" : "none"))
    }

    @Test("Doesn't retry permanent errors", .shows("0.21"))
    func permanentErrors() {
        for code in [NetworkError.Code.tls, .invalidRequest, .bodyTooLarge, .invalidResponse] {
            #expect("\(action(.maxRetries(1), after: NetworkError(code, "")))" == "none", "\(code)")
        }
        #expect("\(action(.maxRetries(1), after: CancellationError()))" == "none")
    }
}
