public import Foundation
public import FoundationNetworking

extension Retry {
    /// A rule that says whether and when a failed attempt is repeated.
    ///
    /// A policy is an interceptor: give it to a client beside the others.
    ///
    /// ```swift
    /// let client = NetworkClient(interceptors: [Retry.Policy.maxRetries(2)])
    /// ```
    public struct Policy: RequestInterceptor {
        /// A rule of the user's own.
        ///
        /// It gets the error, what happened before, and the exchange that failed.
        public typealias Rule = @Sendable (any Swift.Error, State, Metadata) -> Action

        /// The exchange that failed.
        public struct Metadata: Sendable {
            /// The request as it was sent.
            public let request: URLRequest
            /// The response, if there was one.
            public let response: HTTPResponse?
            /// Whether sending the request twice has the effect of sending it once: what the operation's ``RequestTraits`` say, or else
            /// its method, or that it has an `Idempotency-Key`.
            public let isIdempotent: Bool

            /// Makes metadata, for tests of rules.
            ///
            /// - Parameters:
            ///   - request: The request as it was sent.
            ///   - response: The response.
            ///   - isIdempotent: Whether the request may be sent twice; `nil` for what it says itself.
            public init(
                request: URLRequest,
                response: HTTPResponse? = nil,
                isIdempotent: Bool? = nil
            ) {
                self.request = request
                self.response = response
                self.isIdempotent =
                    isIdempotent
                    ?? ((request.httpMethod.map(HTTPMethod.init) ?? .get)?.isIdempotent == true
                        || request.value(forHTTPHeaderField: "Idempotency-Key") != nil)
            }
        }

        private let rule: Rule

        /// Repeats at once, or when the server asks for it, a number of times.
        ///
        /// - Parameters:
        ///   - retries: How many attempts are made after the first. With 0 the first failure is the last.
        ///   - condition: Which failures it is about; ``Condition/safeToRepeat`` by default.
        ///   - maximumServerDelay: The longest `Retry-After` that is waited for; a longer one ends the retries. 60 seconds by default.
        ///   - date: The wall-clock time, which a `Retry-After` can refer to.
        /// - Returns: A policy that answers `retry`, or `retryAfter` if the server asks for it, until the retries are used up, then
        ///   `noRetry`.
        public static func maxRetries(
            _ retries: Int,
            when condition: Condition = .safeToRepeat,
            maximumServerDelay: Duration = .seconds(60),
            date: @escaping @Sendable () -> Date = { Date() }
        ) -> Self {
            Self { error, state, metadata in
                guard condition.applies(to: error, metadata) else { return .none }
                guard state.retryCount < retries else { return .noRetry(.retries(retries)) }
                guard let asked = metadata.serverDelay(now: date()), asked > .zero else { return .retry }
                return asked > maximumServerDelay ? .noRetry(.serverDelay(asked)) : .retryAfter(asked)
            }
        }

        /// Repeats after a delay.
        ///
        /// - Parameters:
        ///   - backoff: How long to wait, and when to stop.
        ///   - condition: Which failures it is about; ``Condition/safeToRepeat`` by default.
        ///   - maximumServerDelay: The longest `Retry-After` that is waited for; a longer one ends the retries. 60 seconds by default.
        ///     A shorter one is the least that is waited, also if the backoff is shorter.
        ///   - date: The wall-clock time, which a `Retry-After` can refer to.
        /// - Returns: A policy that answers `retryAfter` until the backoff's truncation, then `noRetry`.
        public static func backoff(
            _ backoff: Backoff,
            when condition: Condition = .safeToRepeat,
            maximumServerDelay: Duration = .seconds(60),
            date: @escaping @Sendable () -> Date = { Date() }
        ) -> Self {
            Self { error, state, metadata in
                guard condition.applies(to: error, metadata) else { return .none }
                let asked = metadata.serverDelay(now: date()) ?? .zero
                let action = backoff.action(state, atLeast: asked)
                if case .retryAfter = action, asked > maximumServerDelay { return .noRetry(.serverDelay(asked)) }
                return action
            }
        }

        /// Applies a rule of the user's own, to every failure.
        ///
        /// - Parameter rule: What to do after a failure.
        /// - Returns: A policy that answers what the rule says.
        public static func custom(_ rule: @escaping Rule) -> Self {
            Self(rule: rule)
        }

        /// What the policy says of a failure.
        ///
        /// - Parameters:
        ///   - error: Why the attempt failed.
        ///   - state: What happened before.
        ///   - metadata: The exchange that failed.
        /// - Returns: What should happen.
        public func shouldRetry(after error: any Swift.Error, state: State, metadata: Metadata) -> Action {
            rule(error, state, metadata)
        }

        /// Applies the policy to a failed request.
        ///
        /// - Parameters:
        ///   - request: The request as it was sent.
        ///   - response: The response, if there was one.
        ///   - error: Why the attempt failed.
        ///   - context: What is known about the operation.
        /// - Returns: What should happen.
        public func evaluateFailedRequest(
            _ request: URLRequest,
            response: HTTPResponse?,
            error: any Swift.Error,
            context: InterceptorContext
        ) -> Action {
            let isIdempotent = context.traits.isIdempotent
            let metadata = Metadata(request: request, response: response, isIdempotent: isIdempotent)
            return rule(error, context.retryState, metadata)
        }
    }
}

extension Retry {
    /// Which failures a policy is about.
    public struct Condition: Sendable {
        private let predicate: @Sendable (any Swift.Error, Policy.Metadata) -> Bool

        /// Makes a condition.
        ///
        /// - Parameter predicate: Whether a policy is about a failure.
        public init(_ predicate: @escaping @Sendable (any Swift.Error, Policy.Metadata) -> Bool) {
            self.predicate = predicate
        }

        func applies(to error: any Swift.Error, _ metadata: Policy.Metadata) -> Bool {
            predicate(error, metadata)
        }

        /// Every failure of every request, also of a `POST`.
        public static let always = Condition { _, _ in true }

        /// A failure that can pass, of a request that may be sent twice, or that no server has acted on.
        ///
        /// The transport timed out, found no address, could not connect or lost the connection, or the status is 408, 429, 500, 502, 503
        /// or 504; and the request is idempotent ([RFC 9110 §9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)), or the error
        /// says that it was not processed (``NetworkError/isUnprocessed``), which a `POST` may be that found no connection.
        public static let safeToRepeat = Condition { error, metadata in
            if let server = error as? ServerError {
                return metadata.isIdempotent && [408, 429, 500, 502, 503, 504].contains(server.errorCode)
            }
            guard let error = error as? NetworkError, metadata.isIdempotent || error.isUnprocessed else { return false }
            return [.timedOut, .cannotResolveHost, .cannotConnect, .connectionLost].contains(error.code)
        }
    }
}
