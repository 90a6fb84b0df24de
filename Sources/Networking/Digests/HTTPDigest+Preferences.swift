extension HTTPDigest {
    /// The value of a `Want-Content-Digest` or `Want-Repr-Digest` field
    /// ([RFC 9530 §4](https://www.rfc-editor.org/rfc/rfc9530#section-4)).
    ///
    /// The field is a hint, which the receiver can ignore.
    public struct Preferences: Hashable, Sendable {
        private let weights: [Weight]

        private struct Weight: Hashable {
            let key: String
            let value: Int64
        }

        /// Creates preferences.
        ///
        /// - Parameter algorithms: The algorithms, the most preferred first.
        public init(_ algorithms: [Algorithm]) {
            weights = algorithms.enumerated().map { Weight(key: $1.rawValue, value: Int64(max(1, 10 - $0))) }
        }

        /// Parses a field; a missing field has no preferences.
        ///
        /// - Parameter lines: The field's values; see ``HTTPHeaders/values(for:)``.
        /// - Throws: ``NetworkError`` with the code `invalidField` if the field is malformed, or a
        ///   weight isn't an integer from 0 to 10.
        public init(parsing lines: [String]) throws(NetworkError) {
            var weights: [Weight] = []
            for (key, member) in try StructuredField.Dictionary(parsing: lines) {
                guard case .item(let item) = member, case .integer(let weight) = item.value,
                    (0...10).contains(weight)
                else { throw NetworkError(.invalidField, "the weight of a digest isn't an integer from 0 to 10") }
                weights.append(Weight(key: key, value: weight))
            }
            self.weights = weights
        }

        /// The supported algorithms that are acceptable, the most preferred first.
        ///
        /// Algorithms with the same weight keep their order.
        public var algorithms: [Algorithm] {
            // The standard library's sort is stable.
            weights.filter { $0.value > 0 }.sorted { $0.value > $1.value }
                .compactMap { Algorithm(rawValue: $0.key) }
        }

        /// The value of a `Want-Content-Digest` or `Want-Repr-Digest` field.
        public var fieldValue: String { weights.map { "\($0.key)=\($0.value)" }.joined(separator: ", ") }
    }
}
