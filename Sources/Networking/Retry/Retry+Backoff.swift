extension Retry {
    /// How long to wait before an attempt, and when to stop.
    public struct Backoff: Sendable {
        private let truncation: Truncation
        private let delay: @Sendable (State) -> Duration

        private init(until truncation: Truncation, delay: @escaping @Sendable (State) -> Duration) {
            self.truncation = truncation
            self.delay = delay
        }

        /// What to do after a failure.
        ///
        /// - Parameters:
        ///   - state: What happened before.
        ///   - minimum: How long the server asks to wait.
        /// - Returns: `retryAfter` or `noRetry`.
        func action(_ state: State, atLeast minimum: Duration = .zero) -> Action {
            truncation.action(delay: { max(delay(state), minimum) }, atLeast: minimum, state: state)
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
            Self(until: truncation) { _ in jitter.applied(to: delay, random) }
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
            Self(until: truncation) { state in
                jitter.applied(to: min(scale(baseDelay, state.retryCount + 1), maximum), random)
            }
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
            Self(until: truncation) { state in
                let upper = max(baseDelay, min(state.delays.last ?? baseDelay, maximum) * 3)
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
            case .full: delay * random()
            case .equal: delay / 2 + delay / 2 * random()
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
