/// Writes JSON: sorted, and the same bytes for equal values.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    private let isPretty: Bool
    private var level = 0

    init(isPretty: Bool = false) {
        self.isPretty = isPretty
    }

    mutating func write(_ object: JSONObject) {
        write(object.inSerializationOrder, between: "{", "}") { writer, member in
            writer.write(member.name)
            writer.append(writer.isPretty ? ": " : ":")
            writer.write(member.value)
        }
    }

    private mutating func write(_ value: JSONValue) {
        switch value {
        case .null: append("null")
        case .bool(let bool): append(bool ? "true" : "false")
        case .number(let number): bytes.append(contentsOf: number.literal.utf8)
        case .string(let string): write(string)
        case .array(let array): write(array, between: "[", "]") { writer, element in writer.write(element) }
        case .object(let object): write(object)
        }
    }

    private mutating func write<Elements: Collection>(
        _ elements: Elements,
        between opening: String,
        _ closing: String,
        _ writeElement: (inout JSONWriter, Elements.Element) -> Void
    ) {
        append(opening)
        level += 1
        var isFirst = true
        for element in elements {
            if !isFirst { append(",") }
            isFirst = false
            breakLine()
            writeElement(&self, element)
        }
        level -= 1
        if !isFirst { breakLine() }
        append(closing)
    }

    private mutating func write(_ string: String) {
        bytes.append(UInt8(ascii: "\""))
        defer { bytes.append(UInt8(ascii: "\"")) }
        guard Self.hasEscapes(string.utf8.span) else {
            bytes.append(contentsOf: string.utf8)
            return
        }
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""): append("\\\"")
            case UInt8(ascii: "\\"): append("\\\\")
            case 0x08: append("\\b")
            case 0x09: append("\\t")
            case 0x0A: append("\\n")
            case 0x0C: append("\\f")
            case 0x0D: append("\\r")
            case 0x00..<0x20:
                append("\\u00")
                bytes.append(byte < 0x10 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
                bytes.append(contentsOf: String(byte & 15, radix: 16).utf8)
            default: bytes.append(byte)
            }
        }
    }

    private static func hasEscapes(_ text: Span<UInt8>) -> Bool {
        for index in text.indices {
            let byte = text[index]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return true }
        }
        return false
    }

    private mutating func breakLine() {
        guard isPretty else { return }
        bytes.append(UInt8(ascii: "\n"))
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * level))
    }

    private mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }
}

extension JSONObject {
    /// The members sorted by the UTF-8 bytes of their names.
    fileprivate var inSerializationOrder: [Member] {
        sorted { Self.precedes($0.name.utf8.span, $1.name.utf8.span) }
    }

    private static func precedes(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        for index in 0..<Swift.min(left.count, right.count) where left[index] != right[index] {
            return left[index] < right[index]
        }
        return left.count < right.count
    }
}
