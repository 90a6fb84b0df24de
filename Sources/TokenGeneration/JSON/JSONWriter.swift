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
        between opening: StaticString,
        _ closing: StaticString,
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
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func breakLine() {
        guard isPretty else { return }
        bytes.append(UInt8(ascii: "\n"))
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * level))
    }

    private mutating func append(_ text: StaticString) {
        bytes.append(contentsOf: text.description.utf8)
    }
}

extension JSONObject {
    /// The members sorted by the UTF-8 bytes of their names.
    fileprivate var inSerializationOrder: [Member] {
        sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }
}
