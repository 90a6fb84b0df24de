internal import OpenSSLCrypto

/// Knows the JSON that most claims are without reading it into values: an object of texts without escapes in ASCII, numbers, literals and
/// arrays of these.
///
/// What it does not know may be good as well; ``JSONParser`` decides then, and says what is wrong.
struct PlainJSON: ~Escapable {
    /// More members than this are left to the parser, which looks for names that are there twice faster.
    private static let memberLimit = 16

    private let text: Span<UInt8>
    private var position = 0

    /// Whether the whole text is an object of that kind, so that ``JSONParser`` would accept it.
    static func isObject(_ text: [UInt8]) -> Bool {
        var reader = PlainJSON(text.span)
        guard reader.skipObject() else { return false }
        reader.skipWhiteSpace()
        return reader.position == text.count
    }

    @_lifetime(copy text)
    private init(_ text: Span<UInt8>) {
        self.text = text
    }

    @_lifetime(self: copy self)
    private mutating func skipObject() -> Bool {
        var names = InlineArray<16, Range<Int>>(repeating: 0..<0)
        var count = 0
        guard consume(UInt8(ascii: "{")) else { return false }
        if consume(UInt8(ascii: "}")) { return true }
        repeat {
            skipWhiteSpace()
            let start = position
            guard count < Self.memberLimit, skipString() else { return false }
            let name = start + 1..<position - 1
            for index in 0..<count where isSame(names[index], name) { return false }
            names[count] = name
            count += 1
            guard consume(UInt8(ascii: ":")), skipValue() else { return false }
        } while consume(UInt8(ascii: ","))
        return consume(UInt8(ascii: "}"))
    }

    @_lifetime(self: copy self)
    private mutating func skipValue() -> Bool {
        guard consume(UInt8(ascii: "[")) else { return skipScalar() }
        if consume(UInt8(ascii: "]")) { return true }
        repeat {
            guard skipScalar() else { return false }
        } while consume(UInt8(ascii: ","))
        return consume(UInt8(ascii: "]"))
    }

    @_lifetime(self: copy self)
    private mutating func skipScalar() -> Bool {
        skipWhiteSpace()
        guard position < text.count else { return false }
        switch text[position] {
        case UInt8(ascii: "\""): return skipString()
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): return skipInteger()
        case UInt8(ascii: "t"): return skip("true")
        case UInt8(ascii: "f"): return skip("false")
        case UInt8(ascii: "n"): return skip("null")
        default: return false
        }
    }

    @_lifetime(self: copy self)
    private mutating func skipString() -> Bool {
        guard position < text.count, text[position] == UInt8(ascii: "\"") else { return false }
        var index = position + 1
        while index &+ 8 <= text.count, text.bigEndianWord(at: index).isPlainJSONText { index &+= 8 }
        while index < text.count {
            let byte = text[index]
            index += 1
            if byte == UInt8(ascii: "\"") {
                position = index
                return true
            }
            guard byte >= 0x20, byte < 0x80, byte != UInt8(ascii: "\\") else { return false }
        }
        return false
    }

    /// Digits without a leading zero, perhaps negative; fractions and exponents are left to the parser.
    @_lifetime(self: copy self)
    private mutating func skipInteger() -> Bool {
        if text[position] == UInt8(ascii: "-") { position += 1 }
        let start = position
        while position < text.count, (0x30...0x39).contains(text[position]) { position += 1 }
        guard position > start, text[start] != UInt8(ascii: "0") || position == start + 1 else { return false }
        return position == text.count || ![0x2E, 0x45, 0x65].contains(text[position])
    }

    @_lifetime(self: copy self)
    private mutating func skip(_ word: StaticString) -> Bool {
        guard text.count - position >= word.utf8CodeUnitCount else { return false }
        for (offset, byte) in word.description.utf8.enumerated() where text[position + offset] != byte { return false }
        position += word.utf8CodeUnitCount
        return true
    }

    /// Skips white space and, after it, a byte.
    @_lifetime(self: copy self)
    private mutating func consume(_ byte: UInt8) -> Bool {
        skipWhiteSpace()
        guard position < text.count, text[position] == byte else { return false }
        position += 1
        return true
    }

    @_lifetime(self: copy self)
    private mutating func skipWhiteSpace() {
        while position < text.count {
            switch text[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    private func isSame(_ first: Range<Int>, _ second: Range<Int>) -> Bool {
        guard first.count == second.count else { return false }
        for offset in 0..<first.count where text[first.lowerBound + offset] != text[second.lowerBound + offset] {
            return false
        }
        return true
    }
}
