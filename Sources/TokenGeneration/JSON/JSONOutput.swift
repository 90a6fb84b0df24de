internal import OpenSSLCrypto

/// JSON text in the making: the spelling of each kind of value, and nothing of where it stands.
///
/// The bytes are written into an array that is kept larger than needed, so that most of them cost a store and no more.
struct JSONOutput {
    private var storage: [UInt8]
    /// How many bytes have been written.
    private(set) var count = 0

    init(capacity: Int = 256) {
        storage = [UInt8](zeros: capacity)
    }

    /// What was written.
    consuming func finished() -> [UInt8] {
        storage.removeLast(storage.count - count)
        return storage
    }

    mutating func append(_ byte: UInt8) {
        reserve(1)
        storage[count] = byte
        count += 1
    }

    /// Writes a name of JSON's own or a number that is spelled already.
    mutating func append(literal: String) {
        append(literal.utf8.span)
    }

    /// Writes bytes as they are.
    mutating func append(_ bytes: Span<UInt8>) {
        reserve(bytes.count)
        let start = count
        var target = storage.mutableSpan
        target.store(bytes, at: start)
        count = start + bytes.count
    }

    /// Writes a string with its quotation marks; only what must be escaped is.
    mutating func append(quoted string: String) {
        let text = string.utf8.span
        reserve(text.count + 2)
        if !appendPlain(text) { appendEscaped(text) }
    }

    /// Writes a string that has nothing to escape, for which there is room.
    ///
    /// - Returns: `false` if something must be escaped, and then nothing is written.
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
