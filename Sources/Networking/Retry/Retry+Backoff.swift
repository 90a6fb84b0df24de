public import Foundation
import OpenSSLCrypto
import Synchronization

extension Retry {
    /// The delays between attempts, and the limit at which retries stop.
    public struct Backoff: Sendable {
        private let truncation: Truncation
        private let random: @Sendable () -> Double
        private let delay: @Sendable (_ retry: Int, _ previous: Duration?, _ random: () -> Double) -> Duration

        func action(_ state: State, atLeast minimum: Duration = .zero) -> Action {
            let left: Duration?
            switch truncation {
            case .maxRetries(let retries):
                guard state.retryCount < retries else { return .noRetry(.retries(retries)) }
                left = nil
            case .maxDelay(let total):
                let rest = total - state.totalDelay
                // A retry earlier than the server asked for would only fail again.
                guard rest > .zero, minimum <= rest else { return .noRetry(.delay(total)) }
                left = rest
            }
            let delay = delay(retry: state.retryCount + 1, after: state.delays.last, atLeast: minimum)
            return .retryAfter(left.map { min(delay, $0) } ?? delay)
        }

        /// Returns the delay before a retry, numbered from 1, regardless of the truncation.
        package func delay(
            retry: Int,
            after previous: Duration? = nil,
            random: Double? = nil,
            atLeast minimum: Duration = .zero
        ) -> Duration {
            max(delay(retry, previous) { random ?? self.random() }, minimum)
        }

        /// Returns a backoff with the same delay before every retry.
        ///
        /// - Parameters:
        ///   - delay: The delay before each retry.
        ///   - jitter: The random part of the delay. The default is `none`.
        ///   - truncation: The limit at which retries stop.
        ///   - random: A source of random numbers in 0..<1.
        /// - Returns: The backoff.
        public static func constant(
            _ delay: Duration,
            jitter: Jitter = .none,
            until truncation: Truncation,
            random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
        ) -> Self {
            Self(truncation: truncation, random: random) { jitter.applied(to: delay, $2) }
        }

        /// Returns a backoff whose delays grow with each retry.
        ///
        /// - Parameters:
        ///   - baseDelay: The delay before the first retry, with the default scale.
        ///   - maximum: The longest delay, before jitter. The default is 20 seconds.
        ///   - jitter: The random part of a delay. The default, `full`, keeps clients that failed
        ///     together from retrying together.
        ///   - scale: Returns the delay before the n-th retry, starting at 1. The default is the
        ///     base delay times 2ⁿ⁻¹.
        ///   - truncation: The limit at which retries stop.
        ///   - random: A source of random numbers in 0..<1.
        /// - Returns: The backoff.
        public static func exponential(
            _ baseDelay: Duration,
            maximum: Duration = .seconds(20),
            jitter: Jitter = .full,
            scale: @escaping @Sendable (_ baseDelay: Duration, _ retry: Int) -> Duration = {
                $0 * (1 << min($1 - 1, 30))
            },
            until truncation: Truncation,
            random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
        ) -> Self {
            let base = min(baseDelay, .tenYears)
            return Self(truncation: truncation, random: random) { retry, _, random in
                jitter.applied(to: min(scale(base, retry), maximum), random)
            }
        }

        /// Has no limit on retries, for code that counts its own attempts.
        package static func doubling(_ baseDelay: Duration, to maximum: Duration, jitter: Jitter = .none) -> Self {
            exponential(baseDelay, maximum: maximum, jitter: jitter, until: .maxRetries(.max))
        }

        /// Returns a backoff with decorrelated delays: each is a random time between the base delay
        /// and three times the previous delay.
        ///
        /// The delays of clients that failed together drift apart.
        ///
        /// - Parameters:
        ///   - baseDelay: The shortest delay.
        ///   - maximum: The longest delay. The default is 20 seconds.
        ///   - truncation: The limit at which retries stop.
        ///   - random: A source of random numbers in 0..<1.
        /// - Returns: The backoff.
        public static func decorrelated(
            _ baseDelay: Duration,
            maximum: Duration = .seconds(20),
            until truncation: Truncation,
            random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
        ) -> Self {
            Self(truncation: truncation, random: random) { _, previous, random in
                let upper = max(baseDelay, min(previous ?? baseDelay, maximum) * 3)
                return min(maximum, baseDelay + (upper - baseDelay) * random())
            }
        }
    }

    /// The random part of a delay.
    @nonexhaustive
    public enum Jitter: Sendable {
        /// The delay isn't random.
        case none
        /// The whole delay is random: between zero and the full delay.
        case full
        /// Half of the delay is random: between half of the delay and the full delay.
        case equal

        func applied(to delay: Duration, _ random: () -> Double) -> Duration {
            switch self {
            case .none: delay
            case .full: delay * min(max(random(), 0), 1)
            case .equal: delay / 2 + delay / 2 * min(max(random(), 0), 1)
            }
        }
    }

    /// The limit at which retries stop.
    @nonexhaustive
    public enum Truncation: Sendable {
        /// Stops after a number of retries.
        case maxRetries(Int)
        /// Stops when the delays add up to a duration, shortening the last delay to fit.
        case maxDelay(Duration)
    }

    /// A limit on the retries of all operations of a client, for each origin.
    ///
    /// Each retry costs tokens. When an origin's tokens are used up, failures are final at once. A
    /// server that fails every request therefore gets at most about 7 % additional requests, not
    /// the several-fold load that independent retries would cause. A retry that succeeds returns
    /// its tokens, and each success at the first attempt earns one token.
    public final class Budget: Sendable {
        private let capacity: Int
        private let throttlingCost: Int
        private let transientCost: Int

        private static let maximumOrigins = 1_024

        /// The balances of the origins that have less than the full capacity.
        private let balances = Mutex<[HTTPOrigin: Int]>([:])

        /// Creates a budget.
        ///
        /// - Parameters:
        ///   - capacity: The initial and maximum number of tokens. The default is 500.
        ///   - transientCost: The cost of a retry. The default is 14.
        ///   - throttlingCost: The cost of a retry after 429 or 503. The default is 5.
        public init(capacity: Int = 500, transientCost: Int = 14, throttlingCost: Int = 5) {
            self.capacity = max(0, capacity)
            self.transientCost = max(0, transientCost)
            self.throttlingCost = max(0, throttlingCost)
        }

        /// Returns the number of tokens left for an origin.
        ///
        /// - Parameter url: Any URL of the origin.
        /// - Returns: The number of tokens.
        public func balance(for url: URL) -> Int {
            guard let origin = HTTPOrigin(url) else { return capacity }
            return balances.withLock { $0[origin] ?? capacity }
        }

        /// Returns `nil` if the balance is too low.
        func withdraw(for error: any Swift.Error, _ url: URL?) -> Int? {
            guard let origin = url.flatMap({ HTTPOrigin($0) }) else { return 0 }
            let status = (error as? ServerError)?.errorCode
            let cost = status == 429 || status == 503 ? throttlingCost : transientCost
            return balances.withLock { balances in
                let balance = balances[origin] ?? capacity
                guard balance >= cost else { return nil }
                // Any other origin is forgotten, because one that's never called again stays low.
                if balances.count >= Self.maximumOrigins, balances[origin] == nil, let other = balances.keys.first {
                    balances[other] = nil
                }
                balances[origin] = balance - cost
                return cost
            }
        }

        /// Gives the cost of a successful operation's last retry back, or adds one token if it
        /// wasn't retried.
        func deposit(_ cost: Int?, _ url: @autoclosure () -> URL?) {
            let isFull = balances.withLock { $0.isEmpty }
            guard !isFull, let origin = url().flatMap({ HTTPOrigin($0) }) else { return }
            balances.withLock { balances in
                guard let balance = balances[origin] else { return }
                let sum = balance + (cost ?? 1)
                balances[origin] = sum < capacity ? sum : nil
            }
        }
    }
}

/// The delay in a `Retry-After` header field, in seconds or as any of HTTP's date formats
/// ([RFC 9110 §10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3)).
package enum RetryAfter {
    /// Returns `nil` for a missing or invalid field.
    ///
    /// A date is relative to the response's own `Date`, so clock differences don't matter, or to
    /// the current date without one. A date in the past gives zero.
    package static func delay(_ text: String?, responseDate: String?, now: Date) -> Duration? {
        guard let text = text?.trimmingCharacters(in: .whitespaces), !text.isEmpty else { return nil }
        if text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // Larger numbers are capped at ten years.
            return Duration(clampingSeconds: min(Int(text) ?? .max, 315_360_000))
        }
        let reference = responseDate.flatMap { HTTPDate.parse($0, now: now) } ?? now
        guard let date = HTTPDate.parse(text, now: now) else { return nil }
        return max(.zero, Duration(clampingSeconds: date.timeIntervalSince(reference)))
    }
}
