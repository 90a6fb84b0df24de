internal import OpenSSLCrypto

/// A strict, single-pass JSON parser for UTF-8 bytes
/// ([RFC 8259](https://www.rfc-editor.org/rfc/rfc8259)).
///
/// Foundation's parser isn't safe for tokens: of two members with the same name, it silently keeps
/// the first, while other libraries keep the last.
struct JSONParser {
    private let bytes: [UInt8]
    private let limits: JSONLimits
    private var position = 0

    static func parse(_ bytes: [UInt8], limits: JSONLimits) throws(TokenError) -> JSONValue {
        guard bytes.count <= limits.size else {
            throw TokenError(.tooLarge, "the JSON has \(bytes.count) bytes, but the limit is \(limits.size)")
        }
        var parser = JSONParser(bytes: bytes, limits: limits)
        do throws(Failure) {
            return try parser.parseDocument()
        } catch {
            throw error.tokenError
        }
    }

    private mutating func parseDocument() throws(Failure) -> JSONValue {
        let value = try parseValue(depth: 0)
        skipWhiteSpace()
        guard position == bytes.count else { throw Failure("unexpected text after the value", at: position) }
        return value
    }

    private mutating func parseValue(depth: Int) throws(Failure) -> JSONValue {
        skipWhiteSpace()
        guard let byte = next else { throw Failure("missing value", at: position) }
        switch byte {
        case UInt8(ascii: "{"): return .object(try parseObject(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try parseArray(depth: depth + 1))
        case UInt8(ascii: "\""): return .string(try parseString())
        case UInt8(ascii: "t"): return try parse("true", as: .bool(true))
        case UInt8(ascii: "f"): return try parse("false", as: .bool(false))
        case UInt8(ascii: "n"): return try parse("null", as: .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try parseNumber())
        default: throw Failure("invalid value", at: position)
        }
    }

    private mutating func parseObject(depth: Int) throws(Failure) -> JSONObject {
        try checkDepth(depth)
        var members: [JSONObject.Member] = []
        // A token has about this many claims. Without the reservation, each growth step costs an
        // allocation.
        if depth == 1 { members.reserveCapacity(8) }
        var names = JSONMemberIndex()
        position += 1
        skipWhiteSpace()
        if consume(UInt8(ascii: "}")) { return JSONObject() }
        repeat {
            skipWhiteSpace()
            let start = position
            guard next == UInt8(ascii: "\"") else { throw Failure("missing member name", at: position) }
            let name = try parseString()
            guard members.count < limits.members else {
                throw Failure("an object has more than \(limits.members) members", at: start, isLimit: true)
            }
            guard names.insert(name, after: members) else {
                throw Failure("duplicate member \(TokenError.shown(name))", at: start)
            }
            skipWhiteSpace()
            guard consume(UInt8(ascii: ":")) else { throw Failure("missing “:”", at: position).inMember(name) }
            do throws(Failure) {
                members.append(JSONObject.Member(name: name, value: try parseValue(depth: depth)))
            } catch {
                throw error.inMember(name)
            }
            skipWhiteSpace()
        } while consume(UInt8(ascii: ","))
        guard consume(UInt8(ascii: "}")) else { throw Failure("missing “,” or “}”", at: position) }
        return JSONObject(distinctMembers: members, names)
    }

    private mutating func parseArray(depth: Int) throws(Failure) -> [JSONValue] {
        try checkDepth(depth)
        var elements: [JSONValue] = []
        position += 1
        skipWhiteSpace()
        if consume(UInt8(ascii: "]")) { return elements }
        repeat {
            elements.append(try parseValue(depth: depth))
            skipWhiteSpace()
        } while consume(UInt8(ascii: ","))
        guard consume(UInt8(ascii: "]")) else { throw Failure("missing “,” or “]”", at: position) }
        return elements
    }

    private mutating func parseNumber() throws(Failure) -> JSONNumber {
        guard let end = JSONNumber.end(ofNumberIn: bytes, from: position) else {
            throw Failure("malformed number", at: position)
        }
        defer { position = end }
        return JSONNumber(checkedLiteral: String(checkedASCII: bytes.span.extracting(position..<end)))
    }

    private mutating func parse(_ word: StaticString, as value: JSONValue) throws(Failure) -> JSONValue {
        guard isNext(word) else {
            throw Failure("invalid value", at: position)
        }
        position += word.utf8CodeUnitCount
        return value
    }

    private mutating func parseString() throws(Failure) -> String {
        let opening = position
        let (end, isASCII) = plainText(from: opening + 1)
        guard end < bytes.count else { throw Failure("unterminated string", at: opening) }
        position = end
        switch bytes[end] {
        case UInt8(ascii: "\""):
            position += 1
            // ASCII is always valid UTF-8.
            if isASCII { return String(checkedASCII: bytes.span.extracting(opening + 1..<end)) }
            return try string(from: bytes.span.extracting(opening + 1..<end), openedAt: opening)
        case UInt8(ascii: "\\"):
            return try parseEscapedString(from: opening + 1, openedAt: opening)
        default:
            throw Failure("unescaped control character", at: end)
        }
    }

    private func plainText(from start: Int) -> (end: Int, isASCII: Bool) {
        let text = bytes.span
        var index = start
        var all: UInt8 = 0
        while index &+ 8 <= text.count, text.bigEndianWord(at: index).isPlainJSONText { index &+= 8 }
        while index < text.count {
            let byte = text[index]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 { break }
            all |= byte
            index += 1
        }
        return (index, all < 0x80)
    }

    private mutating func parseEscapedString(from start: Int, openedAt opening: Int) throws(Failure) -> String {
        var text = Array(bytes[start..<position])
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                return try string(from: text.span, openedAt: opening)
            case UInt8(ascii: "\\"):
                try parseEscape(into: &text)
            case 0x00..<0x20:
                throw Failure("unescaped control character", at: position - 1)
            default:
                text.append(byte)
            }
        }
        throw Failure("unterminated string", at: opening)
    }

    private mutating func parseEscape(into text: inout [UInt8]) throws(Failure) {
        let start = position - 1
        guard let byte = next else { throw Failure("incomplete escape", at: start) }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: String(Character(try parseUnicodeEscape(from: start))).utf8)
        default: throw Failure("invalid escape", at: start)
        }
    }

    private mutating func parseUnicodeEscape(from start: Int) throws(Failure) -> Unicode.Scalar {
        let unit = try parseHexDigits(from: start)
        var codePoint = UInt32(unit)
        if UTF16.isLeadSurrogate(unit) {
            guard consume(UInt8(ascii: "\\")), consume(UInt8(ascii: "u")) else {
                throw Failure("unpaired surrogate", at: start)
            }
            let trail = try parseHexDigits(from: start)
            guard UTF16.isTrailSurrogate(trail) else { throw Failure("unpaired surrogate", at: start) }
            codePoint = 0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(trail) - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(codePoint) else { throw Failure("unpaired surrogate", at: start) }
        return scalar
    }

    private mutating func parseHexDigits(from start: Int) throws(Failure) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = next?.hexadecimalValue else {
                throw Failure("“\\u” requires four hexadecimal digits", at: start)
            }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }

    private func string(from text: Span<UInt8>, openedAt opening: Int) throws(Failure) -> String {
        do throws(UTF8.ValidationError) {
            return String(copying: try UTF8Span(validating: text))
        } catch {
            throw Failure("the string isn't valid UTF-8", at: opening)
        }
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func isNext(_ word: StaticString) -> Bool {
        guard bytes.count - position >= word.utf8CodeUnitCount else { return false }
        return bytes[position..<position + word.utf8CodeUnitCount].elementsEqual(word.description.utf8)
    }

    private mutating func consume(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipWhiteSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private func checkDepth(_ depth: Int) throws(Failure) {
        guard depth <= limits.depth else {
            throw Failure("more than \(limits.depth) levels", at: position, isLimit: true)
        }
    }

    private struct Failure: Error {
        let reason: String
        let offset: Int
        let isLimit: Bool
        private(set) var path: [String] = []

        init(_ reason: String, at offset: Int, isLimit: Bool = false) {
            self.reason = reason
            self.offset = offset
            self.isLimit = isLimit
        }

        func inMember(_ name: String) -> Failure {
            var failure = self
            failure.path.insert(name, at: 0)
            return failure
        }

        var tokenError: TokenError {
            let place = path.isEmpty ? "" : ", in member \(TokenError.shown(path.joined(separator: ".")))"
            return TokenError(isLimit ? .tooLarge : .malformedJSON, "\(reason), at byte \(offset)\(place)")
        }
    }
}

/// The maximum size of a JSON text, so that an untrusted text can't exhaust the process.
package struct JSONLimits: Sendable {
    package var size: Int
    /// A flat object has depth 1.
    package var depth = 64
    package var members = 1_000

    package static let header = JSONLimits(size: 8_192)
    /// For a document that isn't part of a token, such as a key set.
    package static let document = JSONLimits(size: 1_048_576)
}
