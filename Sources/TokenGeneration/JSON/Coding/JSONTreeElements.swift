/// A decoding container for the elements of an array.
struct JSONTreeElements: UnkeyedDecodingContainer {
    let decoder: JSONTreeDecoder
    let elements: [JSONValue]
    private(set) var currentIndex = 0

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    mutating func decodeNil() throws -> Bool {
        guard case .null = try next(Never.self) else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try read { try $0.bool($1, $2) } }
    mutating func decode(_ type: String.Type) throws -> String { try read { try $0.string($1, $2) } }
    mutating func decode(_ type: Double.Type) throws -> Double { try read { try $0.double($1, $2) } }
    mutating func decode(_ type: Float.Type) throws -> Float { try read { try $0.float($1, $2) } }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try read { try $0.decode(type, from: $1, $2) }
    }

    mutating func decode<Value: FixedWidthInteger & Decodable>(_ type: Value.Type) throws -> Value {
        try read { try $0.integer($1, $2) }
    }

    // Without these two, the standard library's implementations would throw.
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try read { try $0.integer($1, $2) } }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try read { try $0.integer($1, $2) } }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try read { try JSONTreeDecoder($1, parent: $0, key: $2).container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try read { try JSONTreeDecoder($1, parent: $0, key: $2).unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder {
        try read { JSONTreeDecoder($1, parent: $0, key: $2) }
    }

    /// Decodes the next element, and advances only if that succeeds.
    private mutating func read<Value>(
        _ body: (JSONTreeDecoder, JSONValue, JSONPathKey) throws -> Value
    ) throws -> Value {
        let value = try body(decoder, try next(Value.self), JSONPathKey(intValue: currentIndex))
        currentIndex += 1
        return value
    }

    private func next(_ type: Any.Type) throws -> JSONValue {
        guard currentIndex < elements.count else {
            throw DecodingError.valueNotFound(
                type,
                decoder.context("The array has ended.", JSONPathKey(intValue: currentIndex))
            )
        }
        return elements[currentIndex]
    }
}
