internal import OpenSSLCrypto

/// A writer of sorted JSON that produces the same bytes for equal values.
struct JSONWriter {
    private var output = JSONOutput()
    private let isPretty: Bool
    private var level = 0

    init(isPretty: Bool = false) {
        self.isPretty = isPretty
    }

    consuming func finished() -> [UInt8] { output.finished() }

    mutating func write(_ object: JSONObject) {
        output.append(UInt8(ascii: "{"))
        level += 1
        var isFirst = true
        for member in object.inSerializationOrder {
            separate(&isFirst)
            output.append(quoted: member.name)
            output.append(UInt8(ascii: ":"))
            if isPretty { output.append(UInt8(ascii: " ")) }
            write(member.value)
        }
        level -= 1
        if !isFirst { breakLine() }
        output.append(UInt8(ascii: "}"))
    }

    mutating func write(_ value: JSONValue) {
        switch value {
        case .null: output.append(literal: "null")
        case .bool(let bool): output.append(literal: bool ? "true" : "false")
        case .number(let number): output.append(literal: number.literal)
        case .string(let string): output.append(quoted: string)
        case .array(let array): write(array)
        case .object(let object): write(object)
        }
    }

    private mutating func write(_ array: [JSONValue]) {
        output.append(UInt8(ascii: "["))
        level += 1
        var isFirst = true
        for element in array {
            separate(&isFirst)
            write(element)
        }
        level -= 1
        if !isFirst { breakLine() }
        output.append(UInt8(ascii: "]"))
    }

    private mutating func separate(_ isFirst: inout Bool) {
        if !isFirst { output.append(UInt8(ascii: ",")) }
        isFirst = false
        breakLine()
    }

    private mutating func breakLine() {
        guard isPretty else { return }
        output.append(UInt8(ascii: "\n"))
        for _ in 0..<2 * level { output.append(UInt8(ascii: " ")) }
    }
}

extension JSONObject {
    fileprivate var inSerializationOrder: [Member] {
        let areInOrder = { (left: Member, right: Member) in left.name.utf8.lexicographicallyPrecedes(right.name.utf8) }
        return zip(self, dropFirst()).allSatisfy(areInOrder) ? Array(self) : sorted(by: areInOrder)
    }
}

/// A buffer that writes the JSON text of values.
///
/// The array is larger than needed, so that most bytes cost only a store.
struct JSONOutput {
    private var storage: [UInt8]
    private(set) var count = 0

    init(capacity: Int = 256) {
        storage = [UInt8](zeros: capacity)
    }

    init(continuing bytes: [UInt8]) {
        self.init(bytes, count: bytes.count)
    }

    init(_ bytes: [UInt8], count: Int) {
        storage = bytes
        self.count = count
    }

    /// Only the first ``count`` bytes are valid.
    var buffer: [UInt8] { storage }

    consuming func finished() -> [UInt8] {
        storage.removeLast(storage.count - count)
        return storage
    }

    mutating func take() -> [UInt8] {
        var bytes: [UInt8] = []
        swap(&bytes, &storage)
        bytes.removeLast(bytes.count - count)
        count = 0
        return bytes
    }

    mutating func append(_ byte: UInt8) {
        reserve(1)
        storage[count] = byte
        count += 1
    }

    /// The literal is a keyword, or a number that is already formatted.
    mutating func append(literal: String) {
        append(literal.utf8.span)
    }

    mutating func append(_ bytes: Span<UInt8>) {
        reserve(bytes.count)
        let start = count
        var target = storage.mutableSpan
        target.store(bytes, at: start)
        count = start + bytes.count
    }

    mutating func truncate(to count: Int) {
        self.count = min(count, self.count)
    }

    /// Returns `true` if the string was ASCII without escapes.
    @discardableResult
    mutating func append(quoted string: String) -> Bool {
        let text = string.utf8.span
        reserve(text.count + 2)
        guard let all = appendPlain(text) else {
            appendEscaped(text)
            return false
        }
        return all < 0x80
    }

    /// Returns the bitwise OR of all bytes, or `nil` if a character must be escaped and nothing was
    /// written.
    @inline(__always)
    private mutating func appendPlain(_ text: Span<UInt8>) -> UInt8? {
        var index = count
        var all: UInt8 = 0
        var target = storage.mutableSpan
        target[index] = UInt8(ascii: "\"")
        index += 1
        var place = 0
        while place &+ 8 <= text.count {
            let word = text.bigEndianWord(at: place)
            guard word.isPlainJSONText else { break }
            target.store(bigEndianWord: word, at: index)
            place &+= 8
            index &+= 8
        }
        while place < text.count {
            let byte = text[place]
            guard byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else { return nil }
            target[index] = byte
            index &+= 1
            place &+= 1
            all |= byte
        }
        target[index] = UInt8(ascii: "\"")
        count = index + 1
        return all
    }

    private mutating func appendEscaped(_ text: Span<UInt8>) {
        append(UInt8(ascii: "\""))
        for place in text.indices {
            let byte = text[place]
            switch byte {
            case UInt8(ascii: "\""): append(literal: "\\\"")
            case UInt8(ascii: "\\"): append(literal: "\\\\")
            case 0x08: append(literal: "\\b")
            case 0x09: append(literal: "\\t")
            case 0x0A: append(literal: "\\n")
            case 0x0C: append(literal: "\\f")
            case 0x0D: append(literal: "\\r")
            case 0x00..<0x20:
                append(literal: byte < 0x10 ? "\\u000" : "\\u001")
                let digit = byte & 15
                append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            default: append(byte)
            }
        }
        append(UInt8(ascii: "\""))
    }

    @inline(__always)
    private mutating func reserve(_ additional: Int) {
        if storage.count - count < additional { grow(additional) }
    }

    @inline(never)
    private mutating func grow(_ additional: Int) {
        storage.append(contentsOf: repeatElement(0, count: max(additional, storage.count)))
    }
}
