extension MockTransport {
    /// A way in which what came is not what was expected.
    ///
    /// Its description is for a person who reads a failed test: what was expected, what came, and how they differ, without secrets.
    public struct Discrepancy: Sendable, Hashable, CustomStringConvertible {
        /// What kind of discrepancy it is.
        @nonexhaustive
        public enum Kind: Sendable, Hashable {
            /// A request did not come, or not often enough.
            case unmet
            /// A request came that nothing expected or answered.
            case unexpected
            /// A request came more often than expected.
            case tooOften
            /// Requests came in another order than expected.
            case outOfOrder
        }

        /// What kind of discrepancy it is.
        public let kind: Kind
        /// What was expected and what came.
        public let description: String
    }
}

extension MockTransport.Discrepancy.Kind: CustomStringConvertible {
    /// A name for it.
    public var description: String {
        switch self {
        case .unmet: "unmet"
        case .unexpected: "unexpected"
        case .tooOften: "too often"
        case .outOfOrder: "out of order"
        }
    }
}
