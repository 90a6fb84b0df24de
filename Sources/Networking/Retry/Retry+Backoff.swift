extension Retry {
    /// How long to wait before an attempt, and when to stop.
    public struct Backoff: Sendable {
        private let truncation: Truncation
        private let random: @Sendable () -> Double
        private let delay: @Sendable (_ retry: Int, _ previous: Duration?, _ random: () -> Double) -> Duration

        private init(
            until truncation: Truncation,
            random: @escaping @Sendable () -> Double,
            delay: @escaping @Sendable (_ retry: Int, _ previous: Duration?, _ random: () -> Double) -> Duration
        ) {
            self.truncation = truncation
            self.random = random
            self.delay = delay
        }

        /// What to do after a failure.
        ///
        /// - Parameters:
        ///   - state: What happened before.
        ///   - minimum: How long the server asks to wait.
        /// - Returns: `retryAfter` or `noRetry`.
        func action(_ state: State, atLeast minimum: Duration = .zero) -> Action {
            truncation.action(
                delay: { delay(retry: state.retryCount + 1, after: state.delays.last, atLeast: minimum) },
                atLeast: minimum,
                state: state
            )
        }

        /// Returns the delay before a retry, whatever the truncation says.
        ///
        /// - Parameters:
        ///   - retry: The number of the retry, from 1.
        ///   - previous: The delay before the retry before this one.
        ///   - random: A number of 0…1; by default the backoff's own.
        ///   - minimum: How long the server asks to wait.
        /// - Returns: The delay.
        package func delay(
            retry: Int,
            after previous: Duration? = nil,
            random: Double? = nil,
            atLeast minimum: Duration = .zero
        ) -> Duration {
            max(delay(retry, previous) { random ?? self.random() }, minimum)
        }

        /// Waits equally long before each retry.
        ///
        /// - Parameters:
        ///   - delay: How long to wait.
        ///   - jitter: How much of it is random; nothing by default.
        ///   - truncation: When to stop.
        ///   - random: Numbers of at least 0 and less than 1.
        /// - Returns: The backoff.
        public static func constant(
            _ delay: Duration,
            jitter: Jitter = .none,
            until truncation: Truncation,
            random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
        ) -> Self {
            Self(until: truncation, random: random) { jitter.applied(to: delay, $2) }
        }

        /// Waits longer before each retry.
        ///
        /// - Parameters:
        ///   - baseDelay: How long to wait before the first retry, if the scale doubles.
        ///   - maximum: The longest delay, before jitter; 20 seconds by default.
        ///   - jitter: How much of a delay is random; by default all of it, so that clients that failed together do not come back
        ///     together.
        ///   - scale: The delay before the n-th retry, n counting from 1; by default the base delay times 2ⁿ⁻¹.
        ///   - truncation: When to stop.
        ///   - random: Numbers of at least 0 and less than 1.
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
            Self(until: truncation, random: random) { retry, _, random in
                jitter.applied(to: min(scale(baseDelay, retry), maximum), random)
            }
        }

        /// Doubles the delay without an end, for code that counts its attempts itself.
        ///
        /// - Parameters:
        ///   - baseDelay: How long to wait before the first retry.
        ///   - maximum: The longest delay.
        ///   - jitter: How much of a delay is random.
        /// - Returns: The backoff.
        package static func doubling(_ baseDelay: Duration, to maximum: Duration, jitter: Jitter = .none) -> Self {
            exponential(baseDelay, maximum: maximum, jitter: jitter, until: .maxRetries(.max))
        }

        /// Waits a random time between the base delay and three times the delay before, so that the delays of clients that failed
        /// together drift apart.
        ///
        /// - Parameters:
        ///   - baseDelay: The shortest delay.
        ///   - maximum: The longest delay; 20 seconds by default.
        ///   - truncation: When to stop.
        ///   - random: Numbers of at least 0 and less than 1.
        /// - Returns: The backoff.
        public static func decorrelated(
            _ baseDelay: Duration,
            maximum: Duration = .seconds(20),
            until truncation: Truncation,
            random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
        ) -> Self {
            Self(until: truncation, random: random) { _, previous, random in
                let upper = max(baseDelay, min(previous ?? baseDelay, maximum) * 3)
                return min(maximum, baseDelay + (upper - baseDelay) * random())
            }
        }
    }

    /// How much of a delay is random.
    @nonexhaustive
    public enum Jitter: Sendable {
        /// Nothing.
        case none
        /// All of it: anything between nothing and the delay.
        case full
        /// Half of it: anything between half the delay and the delay.
        case equal

        func applied(to delay: Duration, _ random: () -> Double) -> Duration {
            switch self {
            case .none: delay
            case .full: delay * min(max(random(), 0), 1)
            case .equal: delay / 2 + delay / 2 * min(max(random(), 0), 1)
            }
        }
    }

    /// When to stop trying.
    @nonexhaustive
    public enum Truncation: Sendable {
        /// After a number of retries.
        case maxRetries(Int)
        /// When the delays add up to a duration, which is never exceeded: the last delay is cut to what is left.
        case maxDelay(Duration)

        func action(delay: () -> Duration, atLeast minimum: Duration, state: State) -> Action {
            switch self {
            case .maxRetries(let retries):
                return state.retryCount >= retries ? .noRetry(.retries(retries)) : .retryAfter(delay())
            case .maxDelay(let total):
                let left = total - state.totalDelay
                // A server that wants more time than is left would only refuse again.
                return left <= .zero || minimum > left ? .noRetry(.delay(total)) : .retryAfter(min(delay(), left))
            }
        }
    }
}
