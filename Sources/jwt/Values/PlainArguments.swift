import TokenGeneration

/// Text that isn't empty.
///
/// An empty value is almost always an unset shell variable. `--claim NAME=` sets an empty claim on
/// purpose.
struct NonEmptyText: ArgumentValue {
    let text: String

    init(argument: String) throws(ValueError) {
        guard !argument.isEmpty else { throw ValueError(message: "must not be empty") }
        text = argument
    }
}

protocol NumberArgument: ArgumentValue, Equatable {
    static var noun: String { get }
    static var range: ClosedRange<Int> { get }

    init(number: Int)
}

extension NumberArgument {
    static var noun: String { "number" }
    static var placeholder: String { "NUMBER" }

    init(argument: String) throws(ValueError) {
        guard argument.utf8.allSatisfy(\.isDigit), let number = Int(argument), Self.range.contains(number)
        else {
            let end = Self.range.upperBound == .max ? "" : " to \(Self.range.upperBound)"
            throw ValueError(message: "must be a \(Self.noun) from \(Self.range.lowerBound)\(end)")
        }
        self.init(number: number)
    }
}

struct Count: NumberArgument {
    static let placeholder = "COUNT"
    static let range = 0...100

    let number: Int
}

struct EntryNumber: NumberArgument {
    static let range = 1...Int.max

    let number: Int
}

struct IterationCount: NumberArgument {
    static let range = 1_000...10_000_000

    let number: Int
}

struct PortNumber: NumberArgument {
    static let placeholder = "PORT"
    static let noun = "port number"
    static let range = 1...65_535

    let number: Int
}

struct RSAKeySize: NumberArgument {
    static let placeholder = "BITS"
    static let noun = "number of bits"
    static let range = 2_048...8_192

    let number: Int
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
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int(text).flatMap { $0 <= limit ? $0 : nil }
    }
}
