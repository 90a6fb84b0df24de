import Synchronization

extension MockTransport {
    /// A difference between the requests and the expectations.
    ///
    /// The description explains it to the reader of a failed test: what was expected, what arrived,
    /// and how they differ, without secrets.
    public struct Discrepancy: Sendable, Hashable, CustomStringConvertible {
        /// The kind of a discrepancy.
        @nonexhaustive
        public enum Kind: Sendable, Hashable {
            /// A request didn't arrive, or not often enough.
            case unmet
            /// A request arrived that no expectation or script matches.
            case unexpected
            /// A request arrived more often than expected.
            case tooOften
            /// Requests arrived in a different order than expected.
            case outOfOrder
        }

        /// The kind of discrepancy.
        public let kind: Kind
        /// The expectation, and the requests that arrived instead.
        public let description: String
    }

    /// Adds an expected request and its responses.
    ///
    /// A request meets the first expectation, in the order of their addition, that it matches and
    /// that hasn't been met often enough. Only requests that match no expectation use the script.
    ///
    /// - Parameters:
    ///   - expectation: The expected request.
    ///   - answers: The responses, in order. The last one repeats. The default is a 200 without a
    ///     body.
    ///   - count: The expected number of requests. With `nil`, the default, one for each response.
    public func expect(_ expectation: RequestExpectation, _ answers: Step..., count: Int? = nil) {
        ledger.withLock { $0.add(expectation, count: count ?? max(answers.count, 1), answers: answers) }
    }

    /// Adds responses to a request that may arrive any number of times.
    ///
    /// - Parameters:
    ///   - expectation: The requests to respond to.
    ///   - answers: The responses, in order. The last one repeats. The default is a 200 without a
    ///     body.
    public func on(_ expectation: RequestExpectation, _ answers: Step...) {
        ledger.withLock { $0.add(expectation, count: nil, answers: answers) }
    }

    /// Returns the differences between the requests and the expectations: missing and unexpected
    /// requests, those that arrived too often, and those in the wrong order.
    ///
    /// ```swift
    /// #expect(transport.discrepancies() == [])
    /// ```
    ///
    /// - Parameter inOrder: Whether requests must arrive in the order of the expectations. The
    ///   default is `false`.
    /// - Returns: The discrepancies, whose descriptions a failed test shows.
    public func discrepancies(inOrder: Bool = false) -> [Discrepancy] {
        ledger.withLock { $0.discrepancies(inOrder: inOrder) }
    }
}
