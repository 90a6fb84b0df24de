/// A JSON number, kept as the text it was written with ([RFC 8259 §6](https://www.rfc-editor.org/rfc/rfc8259#section-6)).
///
/// The text keeps every digit and every size, so reading a number from outside can't trap or round; asking for
/// ``integer`` or ``double`` says whether it fits. Two numbers are equal if their texts are: `1` and `1.0` differ.
public struct JSONNumber: Sendable, Hashable, CustomStringConvertible, ExpressibleByIntegerLiteral {
    /// The number as it stands in JSON.
    public let literal: String

    /// Makes a whole number.
    ///
    /// - Parameter value: The number.
    public init(_ value: some BinaryInteger) {
        literal = String(value)
    }

    /// Makes a number from a floating-point value, or returns `nil` for infinity and not-a-number.
    ///
    /// Whole values are written without a fraction, others with the fewest digits that give the value back.
    ///
    /// - Parameter value: The number.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        if let whole = Int64(exactly: value), whole != 0 || value.sign == .plus, whole.magnitude <= 1 << 53 {
            literal = String(whole)
        } else {
            literal = value.description
        }
    }

    /// Makes a number from its text, or returns `nil` if that is not a JSON number.
    ///
    /// - Parameter literal: The text.
    public init?(literal: String) {
        let bytes = Array(literal.utf8)
        guard let end = Self.end(ofNumberIn: bytes, from: 0), end == bytes.count else { return nil }
        self.literal = literal
    }

    /// Makes a whole number.
    ///
    /// - Parameter value: The literal.
    public init(integerLiteral value: Int) {
        self.init(value)
    }

    /// Keeps a text that the parser has found to be a number.
    init(checkedLiteral literal: String) {
        self.literal = literal
    }

    /// The value if it is whole and fits: `12`, `12.0` and `1.2e1` all give 12.
    public var integer: Int? {
        Int(literal) ?? exactInteger
    }

    /// The nearest value, or `nil` if the number is too large for a `Double`.
    public var double: Double? {
        if literal.utf8.count <= 15, literal.utf8.first != UInt8(ascii: "-"), let whole = Int(literal) {
            return Double(whole)
        }
        guard let value = Double(literal), value.isFinite else { return nil }
        return value
    }

    /// The number as it stands in JSON.
    public var description: String { literal }

    /// The value of a number that is written with a fraction or an exponent, worked out in decimal.
    private var exactInteger: Int? {
        var digits: [UInt8] = []
        var scale = 0
        var isFraction = false
        var exponent: Substring = ""
        for (index, byte) in zip(literal.indices, literal.utf8) {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                digits.append(byte)
                if isFraction { scale -= 1 }
            case UInt8(ascii: "."):
                isFraction = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"):
                exponent = literal[literal.index(after: index)...]
            default:
                break
            }
            if !exponent.isEmpty { break }
        }
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            scale += 1
        }
        guard !digits.isEmpty else { return 0 }
        if !exponent.isEmpty {
            guard let power = Int(exponent) else { return nil }
            let (sum, overflow) = scale.addingReportingOverflow(power)
            guard !overflow else { return nil }
            scale = sum
        }
        // No `Int` has more than 19 digits.
        guard scale >= 0, scale < 19 else { return nil }
        let sign = literal.utf8.first == UInt8(ascii: "-") ? "-" : ""
        return Int(sign + String(decoding: digits, as: UTF8.self) + String(repeating: "0", count: scale))
    }
}

extension JSONNumber {
    /// The end of the number that starts at an index, or `nil` if none does.
    static func end(ofNumberIn bytes: [UInt8], from start: Int) -> Int? {
        var index = start
        if index < bytes.count, bytes[index] == UInt8(ascii: "-") { index += 1 }
        let wholePart = index
        guard skipDigits(in: bytes, &index) else { return nil }
        guard bytes[wholePart] != UInt8(ascii: "0") || index == wholePart + 1 else { return nil }
        if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
            index += 1
            guard skipDigits(in: bytes, &index) else { return nil }
        }
        if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
            index += 1
            if index < bytes.count, bytes[index] == UInt8(ascii: "+") || bytes[index] == UInt8(ascii: "-") {
                index += 1
            }
            guard skipDigits(in: bytes, &index) else { return nil }
        }
        return index
    }

    private static func skipDigits(in bytes: [UInt8], _ index: inout Int) -> Bool {
        let start = index
        while index < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[index]) { index += 1 }
        return index > start
    }
}
