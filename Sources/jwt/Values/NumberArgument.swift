import TokenGeneration

/// A whole number in a range.
protocol NumberArgument: ArgumentValue, Equatable {
    /// The kind of number in messages.
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

/// A number of repetitions.
struct Count: NumberArgument {
    static let placeholder = "COUNT"
    static let range = 0...100

    let number: Int
}

/// The number of an entry in a recording, from 1.
struct EntryNumber: NumberArgument {
    static let range = 1...Int.max

    let number: Int
}

/// The number of PBKDF2 iterations of a password-based algorithm.
struct IterationCount: NumberArgument {
    static let range = 1_000...10_000_000

    let number: Int
}

/// A TCP port number.
struct PortNumber: NumberArgument {
    static let placeholder = "PORT"
    static let noun = "port number"
    static let range = 1...65_535

    let number: Int
}

/// The size of an RSA key, in bits.
struct RSAKeySize: NumberArgument {
    static let placeholder = "BITS"
    static let noun = "number of bits"
    static let range = 2_048...8_192

    let number: Int
}
