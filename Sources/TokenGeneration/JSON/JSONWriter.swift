internal import OpenSSLCrypto

/// A writer of sorted JSON that produces the same bytes for equal values.
struct JSONWriter {
    /// The array is larger than needed, so that most bytes cost only a store.
    private var storage = [UInt8](zeros: 256)
    private var count = 0
    private let isPretty: Bool
    private var level = 0

    init(isPretty: Bool = false) {
        self.isPretty = isPretty
    }

    consuming func finished() -> [UInt8] {
        storage.removeLast(storage.count - count)
        return storage
    }

    mutating func write(_ object: JSONObject) {
        append(UInt8(ascii: "{"))
        level += 1
        var isFirst = true
        let members = object.sortedMembers
        let span = members.span
        for index in span.indices {
            separate(&isFirst)
            append(quoted: span[index].name)
            append(UInt8(ascii: ":"))
            if isPretty { append(UInt8(ascii: " ")) }
            write(span[index].value)
        }
        level -= 1
        if !isFirst { breakLine() }
        append(UInt8(ascii: "}"))
    }

    mutating func write(_ value: JSONValue) {
        switch value {
        case .null: append(literal: "null")
        case .bool(let bool): append(literal: bool ? "true" : "false")
        case .number(let number): append(literal: number.literal)
        case .string(let string): append(quoted: string)
        case .array(let array): write(array)
        case .object(let object): write(object)
        }
    }

    private mutating func write(_ array: [JSONValue]) {
        append(UInt8(ascii: "["))
        level += 1
        var isFirst = true
        for element in array {
            separate(&isFirst)
            write(element)
        }
        level -= 1
        if !isFirst { breakLine() }
        append(UInt8(ascii: "]"))
    }

    private mutating func separate(_ isFirst: inout Bool) {
        if !isFirst { append(UInt8(ascii: ",")) }
        isFirst = false
        breakLine()
    }

    private mutating func breakLine() {
        guard isPretty else { return }
        append(UInt8(ascii: "\n"))
        for _ in 0..<2 * level { append(UInt8(ascii: " ")) }
    }

    private mutating func append(_ byte: UInt8) {
        reserve(1)
        storage[count] = byte
        count += 1
    }

    /// The literal is a keyword, or a number that is already formatted.
    private mutating func append(literal: String) {
        let text = literal.utf8.span
        reserve(text.count)
        let start = count
        var target = storage.mutableSpan
        target.store(text, at: start)
        count = start + text.count
    }

    private mutating func append(quoted string: String) {
        let text = string.utf8.span
        reserve(text.count + 2)
        if !appendPlain(text) { appendEscaped(text) }
    }

    /// Returns `false` if a character must be escaped and nothing was written.
    @inline(__always)
    private mutating func appendPlain(_ text: Span<UInt8>) -> Bool {
        var index = count
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
            guard byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else { return false }
            target[index] = byte
            index &+= 1
            place &+= 1
        }
        target[index] = UInt8(ascii: "\"")
        count = index + 1
        return true
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

extension [JSONObject.Member] {
    /// Sorts by the UTF-8 bytes of the names, and keeps the last of several members with the same
    /// name.
    mutating func sortByName() {
        guard !areSortedByName else { return }
        if count > 16 {
            sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        } else {
            var members = mutableSpan
            guard members.sortByName() else { return }
        }
        for index in indices.dropLast().reversed() where self[index].name.isExactly(self[index + 1].name) {
            remove(at: index)
        }
    }

    /// Returns `false` also if a name is repeated.
    private var areSortedByName: Bool {
        let members = span
        var last: UInt64 = 0
        for index in members.indices {
            let word = members[index].name.firstWord
            if index > 0, word <= last {
                let (left, right) = (members[index - 1].name.utf8, members[index].name.utf8)
                guard word == last, left.lexicographicallyPrecedes(right) else { return false }
            }
            last = word
        }
        return true
    }
}

extension MutableSpan<JSONObject.Member> {
    /// Returns `true` if a name may be repeated.
    ///
    /// Unlike `sort`, swapping doesn't count references.
    fileprivate mutating func sortByName() -> Bool {
        var hasTies = false
        var words = InlineArray<16, UInt64>(repeating: 0)
        for end in indices {
            words[end] = self[end].name.firstWord
            var index = end
            while index > 0, words[index] <= words[index - 1] {
                if words[index] == words[index - 1] {
                    hasTies = true
                    let (left, right) = (self[index - 1].name.utf8, self[index].name.utf8)
                    guard right.lexicographicallyPrecedes(left) else { break }
                }
                swapAt(index, index - 1)
                words.swapAt(index, index - 1)
                index -= 1
            }
        }
        return hasTies
    }
}

extension String {
    /// The first eight UTF-8 bytes in big-endian order, padded with zeros.
    ///
    /// Most names of claims differ in it. Comparing whole names takes several times as long.
    fileprivate var firstWord: UInt64 {
        let text = utf8.span
        if text.count >= 8 { return text.bigEndianWord(at: 0) }
        var word: UInt64 = 0
        for index in text.indices { word |= UInt64(text[index]) << (56 - 8 * UInt64(index)) }
        return word
    }
}
