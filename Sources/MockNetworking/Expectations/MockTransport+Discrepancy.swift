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
}
