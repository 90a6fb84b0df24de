/// A writer of sorted JSON that produces the same bytes for equal values.
struct JSONWriter {
    private var output = JSONOutput()
    private let isPretty: Bool
    private var level = 0

    init(isPretty: Bool = false) {
        self.isPretty = isPretty
    }

    /// Returns the written bytes.
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
    /// The members sorted by the UTF-8 bytes of their names.
    fileprivate var inSerializationOrder: [Member] {
        let areInOrder = { (left: Member, right: Member) in left.name.utf8.lexicographicallyPrecedes(right.name.utf8) }
        return zip(self, dropFirst()).allSatisfy(areInOrder) ? Array(self) : sorted(by: areInOrder)
    }
}
