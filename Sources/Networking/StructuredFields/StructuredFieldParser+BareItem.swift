import Foundation

extension StructuredFieldParser {
    mutating func bareItem() throws(NetworkError) -> StructuredField.BareItem {
        switch next {
        case UInt8(ascii: "-")?, (UInt8(ascii: "0")...UInt8(ascii: "9"))?: return try number()
        case UInt8(ascii: "\"")?: return .string(try string())
        case UInt8(ascii: ":")?: return .byteSequence(try byteSequence())
        case UInt8(ascii: "?")?: return .boolean(try boolean())
        case UInt8(ascii: "@")?: return .date(try date())
        case UInt8(ascii: "%")?: return .displayString(try displayString())
        case let byte? where StructuredFieldSyntax.startsToken(byte): return .token(try token())
        default: throw defect("expected a value")
        }
    }

    private mutating func number() throws(NetworkError) -> StructuredField.BareItem {
        let isNegative = skip("-")
        var value: Int64 = 0
        var digits = 0
        var fraction: Int?
        while let byte = next {
            if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
                digits += 1
                fraction = fraction.map { $0 + 1 }
                guard digits <= 15, fraction ?? 0 <= 3 else { throw defect("a number has too many digits") }
                value = value * 10 + Int64(byte - UInt8(ascii: "0"))
            } else if byte == UInt8(ascii: "."), fraction == nil, digits > 0 {
                guard digits <= 12 else { throw defect("a number has too many digits") }
                fraction = 0
            } else {
                break
            }
            position += 1
        }
        guard digits > 0, fraction != 0 else { throw defect("expected a digit") }
        guard let fraction else { return .integer(isNegative ? -value : value) }
        // Foundation represents NaN as a negative zero.
        guard value != 0 else { return .decimal(0) }
        return .decimal(
            Decimal(sign: isNegative ? .minus : .plus, exponent: -fraction, significand: Decimal(value))
        )
    }

    private mutating func date() throws(NetworkError) -> Int64 {
        position += 1
        guard case .integer(let seconds) = try number() else { throw defect("a date must be an integer") }
        return seconds
    }

    private mutating func boolean() throws(NetworkError) -> Bool {
        position += 1
        if skip("1") { return true }
        guard skip("0") else { throw defect("a Boolean value must be ?0 or ?1") }
        return false
    }

    private mutating func token() throws(NetworkError) -> String {
        let range = skip(while: StructuredFieldSyntax.isTokenByte)
        guard range.count <= limits.tokenLength else { throw Self.excess(limits.tokenLength, "bytes in a token") }
        return text(range)
    }

    private mutating func string() throws(NetworkError) -> String {
        position += 1
        var content: [UInt8] = []
        while var byte = take() {
            if byte == UInt8(ascii: "\"") { return String(decoding: content, as: UTF8.self) }
            if byte == UInt8(ascii: "\\") {
                guard let escaped = take(), escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\") else {
                    throw defect("only quotation marks and backslashes can be escaped")
                }
                byte = escaped
            }
            try append(byte, to: &content)
        }
        throw defect("a string has no end")
    }

    private mutating func displayString() throws(NetworkError) -> String {
        position += 1
        guard skip("\"") else { throw defect("a display string must begin with %\"") }
        var content: [UInt8] = []
        while var byte = take() {
            if byte == UInt8(ascii: "\"") {
                guard let text = String(validating: content, as: UTF8.self) else {
                    throw defect("a display string isn't UTF-8")
                }
                return text
            }
            if byte == UInt8(ascii: "%") {
                guard let high = take().flatMap(Self.hexadecimal), let low = take().flatMap(Self.hexadecimal) else {
                    throw defect("expected two lowercase hexadecimal digits")
                }
                byte = high << 4 | low
                guard content.count < limits.stringLength else {
                    throw Self.excess(limits.stringLength, "bytes in a string")
                }
                content.append(byte)
            } else {
                try append(byte, to: &content)
            }
        }
        throw defect("a display string has no end")
    }

    /// Appends a byte that was sent as itself.
    private func append(_ byte: UInt8, to content: inout [UInt8]) throws(NetworkError) {
        guard StructuredFieldSyntax.isPrintable(byte) else { throw defect("a string has a control character") }
        guard content.count < limits.stringLength else { throw Self.excess(limits.stringLength, "bytes in a string") }
        content.append(byte)
    }

    private static func hexadecimal(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    /// Parses bytes in base64.
    ///
    /// The padding may be missing and the pad bits needn't be zero, as §4.2.7 recommends. Any other
    /// padding than the right one is malformed.
    private mutating func byteSequence() throws(NetworkError) -> Data {
        position += 1
        let digits = skip(while: StructuredFieldSyntax.isBase64Digit)
        let padding = skip { $0 == UInt8(ascii: "=") }
        guard skip(":") else { throw defect("a byte sequence must be base64 between colons") }
        guard digits.count / 4 * 3 + digits.count % 4 * 3 / 4 <= limits.byteSequenceLength else {
            throw Self.excess(limits.byteSequenceLength, "bytes in a byte sequence")
        }
        let (length, missing) = (digits.count + padding.count, (4 - digits.count % 4) % 4)
        guard padding.isEmpty || length % 4 == 0 && padding.count < 3,
            let content = Data(base64Encoded: text(digits) + String(repeating: "=", count: missing))
        else { throw defect("a byte sequence has the wrong padding") }
        return content
    }
}
