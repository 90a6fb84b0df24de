/// Reads the elements of an array.
struct JSONTreeElements: UnkeyedDecodingContainer {
    let decoder: JSONTreeDecoder
    let elements: [JSONValue]
    private(set) var currentIndex = 0

    init(decoder: JSONTreeDecoder, elements: [JSONValue]) {
        self.decoder = decoder
        self.elements = elements
    }

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    mutating func decodeNil() throws -> Bool {
        guard case .null = try next(Never.self) else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try read { try $0.decode(type, from: $1, $2) }
    }

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

    /// Reads the element that is next, and goes on only if that succeeds.
    private mutating func read<Value>(
        _ body: (JSONTreeDecoder, JSONValue, JSONPathKey) throws -> Value
    ) throws -> Value {
        let value = try body(decoder, try next(Value.self), JSONPathKey(index: currentIndex))
        currentIndex += 1
        return value
    }

    private func next(_ type: Any.Type) throws -> JSONValue {
        guard currentIndex < elements.count else {
            throw DecodingError.valueNotFound(
                type,
                decoder.context("The array has ended.", JSONPathKey(index: currentIndex))
            )
        }
        return elements[currentIndex]
    }
}
