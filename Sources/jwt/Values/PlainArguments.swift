import TokenGeneration

/// Text that isn't empty.
///
/// An empty value is almost always an unset shell variable. `--claim NAME=` sets an empty claim on
/// purpose.
extension String: ArgumentValue {
    init(argument: String) throws(ValueError) {
        guard !argument.isEmpty else { throw ValueError(message: "must not be empty") }
        self = argument
    }
}

/// A number of decoys, or a range from which each object and array gets a random number.
struct DecoyCount: ArgumentValue, Equatable {
    private static let limit = 100

    let range: ClosedRange<Int>

    init(argument: String) throws(ValueError) {
        let numbers = argument.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false).map(Self.number)
        guard let first = numbers.first ?? nil, let last = numbers.last ?? nil, first <= last else {
            throw ValueError(
                message: "must be a number from 0 to \(Self.limit), or a range of two such numbers, such as 2-5"
            )
        }
        range = first...last
    }

    private static func number(_ text: Substring) -> Int? {
        guard text.utf8.allSatisfy(\.isDigit) else { return nil }
        return Int(text).flatMap { $0 <= limit ? $0 : nil }
    }
}
