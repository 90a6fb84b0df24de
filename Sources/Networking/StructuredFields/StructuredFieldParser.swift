import Foundation

/// A parser of structured fields
/// ([RFC 9651 §4.2](https://www.rfc-editor.org/rfc/rfc9651#section-4.2)).
///
/// It reads each byte once, and its limits bound the result.
struct StructuredFieldParser {
    private let bytes: [UInt8]
    let limits: StructuredField.Limits
    var position = 0

    init(_ lines: [String], limits: StructuredField.Limits) throws(NetworkError) {
        self.limits = limits
        let count = lines.reduce(max(0, lines.count - 1) * 2) { $0 + $1.utf8.count }
        guard count <= limits.length else { throw Self.excess(limits.length, "bytes") }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        for (index, line) in lines.enumerated() {
            if index > 0 { bytes += [UInt8(ascii: ","), UInt8(ascii: " ")] }
            bytes += line.utf8
        }
        self.bytes = bytes
        if let index = bytes.firstIndex(where: { $0 >= 0x80 }) {
            position = index
            throw defect("a byte isn't ASCII")
        }
    }

    static func whole<Value>(
        _ lines: [String],
        _ limits: StructuredField.Limits,
        _ parse: (inout Self) throws(NetworkError) -> Value
    ) throws(NetworkError) -> Value {
        var parser = try Self(lines, limits: limits)
        parser.skip { $0 == UInt8(ascii: " ") }
        let value = try parse(&parser)
        parser.skip { $0 == UInt8(ascii: " ") }
        guard parser.next == nil else { throw parser.defect("unexpected text after the value") }
        return value
    }

    // MARK: Bytes

    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func take() -> UInt8? {
        guard let byte = next else { return nil }
        position += 1
        return byte
    }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    /// Returns the range of the bytes that match.
    @discardableResult
    mutating func skip(while matches: (UInt8) -> Bool) -> Range<Int> {
        let start = position
        while let byte = next, matches(byte) { position += 1 }
        return start..<position
    }

    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    // MARK: Errors

    func defect(_ reason: String) -> NetworkError {
        NetworkError(.invalidField, "a structured field is malformed at byte \(position): \(reason)")
    }

    static func excess(_ limit: Int, _ unit: String) -> NetworkError {
        NetworkError(.invalidField, "a structured field exceeds the limit of \(limit) \(unit)")
    }

    mutating func list() throws(NetworkError) -> StructuredField.List {
        var list = StructuredField.List()
        while next != nil {
            guard list.members.count < limits.members else { throw Self.excess(limits.members, "members") }
            list.members.append(try member())
            try separator()
        }
        return list
    }

    /// Without `uniqueKeys`, the last member of a repeated key is used.
    mutating func dictionary(uniqueKeys: Bool) throws(NetworkError) -> StructuredField.Dictionary {
        var dictionary = StructuredField.Dictionary()
        // Repeated members count, too, because reading them takes time.
        var count = 0
        while next != nil {
            guard count < limits.members else { throw Self.excess(limits.members, "members") }
            count += 1
            let key = try key()
            guard !uniqueKeys || dictionary[key] == nil else { throw defect("a key is repeated") }
            dictionary[key] =
                try skip("=") ? member() : .item(StructuredField.Item(.boolean(true), parameters: parameters()))
            try separator()
        }
        return dictionary
    }

    private mutating func separator() throws(NetworkError) {
        skip { $0.isHTTPWhitespace }
        guard next != nil else { return }
        guard skip(",") else { throw defect("expected a comma") }
        skip { $0.isHTTPWhitespace }
        guard next != nil else { throw defect("a comma at the end") }
    }

    private mutating func member() throws(NetworkError) -> StructuredField.Member {
        if next == UInt8(ascii: "(") { return .innerList(try innerList()) }
        return .item(try item())
    }

    mutating func innerList() throws(NetworkError) -> StructuredField.InnerList {
        guard skip("(") else { throw defect("expected an inner list") }
        var items: [StructuredField.Item] = []
        while true {
            skip { $0 == UInt8(ascii: " ") }
            if skip(")") { return StructuredField.InnerList(items, parameters: try parameters()) }
            guard items.count < limits.innerListItems else {
                throw Self.excess(limits.innerListItems, "items in an inner list")
            }
            items.append(try item())
            guard next == UInt8(ascii: " ") || next == UInt8(ascii: ")") else {
                throw defect("expected a space or parenthesis after an item of an inner list")
            }
        }
    }

    mutating func item() throws(NetworkError) -> StructuredField.Item {
        let value = try bareItem()
        return StructuredField.Item(value, parameters: try parameters())
    }

    private mutating func parameters() throws(NetworkError) -> StructuredField.Parameters {
        var parameters = StructuredField.Parameters()
        var count = 0
        while skip(";") {
            guard count < limits.parameters else { throw Self.excess(limits.parameters, "parameters") }
            count += 1
            skip { $0 == UInt8(ascii: " ") }
            let key = try key()
            parameters[key] = try skip("=") ? bareItem() : .boolean(true)
        }
        return parameters
    }

    private mutating func key() throws(NetworkError) -> String {
        guard let first = next, StructuredFieldSyntax.startsKey(first) else {
            throw defect("a key must begin with a lowercase letter or an asterisk")
        }
        let range = skip(while: StructuredFieldSyntax.isKeyByte)
        guard range.count <= limits.keyLength else { throw Self.excess(limits.keyLength, "bytes in a key") }
        return text(range)
    }

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

    /// The byte was sent as itself.
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

    /// The padding may be missing and the pad bits needn't be zero, as §4.2.7 recommends; any other
    /// padding than the right one is malformed.
    private mutating func byteSequence() throws(NetworkError) -> Data {
        position += 1
        let digits = skip { $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: "=") }
        let padding = skip { $0 == UInt8(ascii: "=") }
        guard skip(":") else { throw defect("a byte sequence must be base64 between colons") }
        guard digits.count / 4 * 3 + digits.count % 4 * 3 / 4 <= limits.byteSequenceLength else {
            throw Self.excess(limits.byteSequenceLength, "bytes in a byte sequence")
        }
        let (length, missing) = (digits.count + padding.count, (4 - digits.count % 4) % 4)
        guard padding.isEmpty || length % 4 == 0 && padding.count < 3,
            let content = Data(base64Encoded: text(digits) + String(repeating: "=", count: missing))
        else { throw defect("a byte sequence isn't base64 with the right padding") }
        return content
    }
}

/// The character classes of structured fields
/// ([RFC 9651 appendix C](https://www.rfc-editor.org/rfc/rfc9651#appendix-C)).
package enum StructuredFieldSyntax {
    package static func isKey(_ text: String) -> Bool {
        guard let first = text.utf8.first, startsKey(first) else { return false }
        return text.utf8.allSatisfy(isKeyByte)
    }

    static func startsKey(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "*")
    }

    static func isKeyByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."): true
        default: startsKey(byte)
        }
    }

    static func startsToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "*"): true
        default: false
        }
    }

    static func isTokenByte(_ byte: UInt8) -> Bool {
        HTTPSyntax.isTokenByte(byte) || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "/")
    }

    /// A string can contain the byte, if necessary escaped.
    static func isPrintable(_ byte: UInt8) -> Bool { (0x20...0x7E).contains(byte) }
}
