/// The vocabulary of trying again.
public enum Retry {}

extension Retry {
    /// What should happen after a failed attempt, in one interceptor's opinion.
    ///
    /// Of several actions the one with the highest priority wins: `noRetry` over `retryAfter` (the longer one) over `retry` over
    /// `none`; of two `noRetry` the first.
    public enum Action: Sendable {
        /// No opinion.
        case none
        /// Do not try again, for the reason given.
        case noRetry(Retry.Error)
        /// Try again at once.
        case retry
        /// Try again after a delay. A delay of zero or less is the same as ``retry``.
        case retryAfter(Duration)
    }

    /// Why there is no further attempt.
    @nonexhaustive
    public enum Error: Swift.Error, Sendable {
        /// All retries are used up; the number is the policy's limit.
        case retries(Int)
        /// The delays would exceed the policy's total; the duration is the policy's limit.
        case delay(Duration)
        /// The request's body can be sent only once.
        case bodyNotReplayable
        /// The server asks to wait for longer than the policy accepts; the duration is what it asks for.
        case serverDelay(Duration)
        /// The budget that the client's operations share is used up, see ``Retry/Budget``.
        case budget
        /// An interceptor's or authenticator's own reason.
        case custom(any Swift.Error)
    }

    /// What has happened so far.
    public struct State: Sendable {
        /// The failures that counted as ordinary attempts, oldest first; the current one is not in it.
        public internal(set) var errors: [any Swift.Error] = []
        /// The failures after which an authenticator asked for another attempt, oldest first.
        ///
        /// They are counted apart, so that a used-up policy can't suppress the retry that a fresh token needs, and a 401
        /// does not use up a policy.
        public internal(set) var authenticationErrors: [any Swift.Error] = []
        /// The delays waited for so far, oldest first; retries at once have none.
        public internal(set) var delays: [Duration] = []
        /// The sum of the delays waited for so far.
        public internal(set) var totalDelay: Duration = .zero
        /// When the operation began.
        public internal(set) var started: ContinuousClock.Instant?

        /// A state in which nothing has happened yet.
        public static let empty = State()

        /// How many retries have been made; those made for an authenticator do not count.
        public var retryCount: Int { errors.count }

        /// Makes a state, for tests of policies and authenticators.
        ///
        /// - Parameters:
        ///   - errors: The failures that counted as ordinary attempts.
        ///   - authenticationErrors: The failures after which an authenticator asked for another attempt.
        ///   - delays: The delays waited for so far.
        ///   - totalDelay: The sum of the delays; by default that of `delays`.
        ///   - started: When the operation began.
        public init(
            errors: [any Swift.Error] = [],
            authenticationErrors: [any Swift.Error] = [],
            delays: [Duration] = [],
            totalDelay: Duration? = nil,
            started: ContinuousClock.Instant? = nil
        ) {
            self.errors = errors
            self.authenticationErrors = authenticationErrors
            self.delays = delays
            self.totalDelay = totalDelay ?? delays.reduce(.zero, +)
            self.started = started
        }

        /// Adds a failure that another attempt follows, or would have.
        mutating func append(_ error: any Swift.Error, isForAuthentication: Bool) {
            if isForAuthentication {
                authenticationErrors.append(error)
            } else {
                errors.append(error)
            }
        }
    }
}
