extension JSONOutput {
    /// Writes a value.
    mutating func append(_ scalar: JSONScalar) {
        switch scalar {
        case .null: append(literal: "null")
        case .bool(let bool): append(literal: bool ? "true" : "false")
        case .number(let number): append(literal: number.literal)
        case .string(let string): append(quoted: string)
        case .strings(let strings):
            append(UInt8(ascii: "["))
            for index in strings.indices {
                if index > 0 { append(UInt8(ascii: ",")) }
                append(quoted: strings[index])
            }
            append(UInt8(ascii: "]"))
        case .json(let value):
            var writer = JSONWriter()
            writer.write(value)
            append(writer.finished().span)
        }
    }
}
