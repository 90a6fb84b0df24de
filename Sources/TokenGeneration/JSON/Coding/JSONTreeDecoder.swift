/// A decoder for a parsed JSON value.
final class JSONTreeDecoder: Decoder {
    let value: JSONValue
    /// The value if it's an object, or an empty object.
    let object: JSONObject
    private let parent: JSONTreeDecoder?
    private let key: (any CodingKey)?

    init(_ value: JSONValue, parent: JSONTreeDecoder? = nil, key: (any CodingKey)? = nil) {
        self.value = value
        if case .object(let object) = value { self.object = object } else { object = JSONObject() }
        self.parent = parent
        self.key = key
    }

    var codingPath: [any CodingKey] {
        var path: [any CodingKey] = []
        var next: JSONTreeDecoder? = self
        while let decoder = next {
            if let key = decoder.key { path.append(key) }
            next = decoder.parent
        }
        path.reverse()
        return path
    }

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// Returns the value of a member, or `nil` if no member has that name.
    func member(_ name: String) -> JSONValue? {
        object[name]
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object = value else { throw mismatch(value, [String: Any].self, nil) }
        return KeyedDecodingContainer(JSONTreeMembers<Key>(decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let array) = value else { throw mismatch(value, [Any].self, nil) }
        return JSONTreeElements(decoder: self, elements: array)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { JSONTreeSingleValue(decoder: self) }
}

/// A decoding container for a value that isn't an object or an array.
private struct JSONTreeSingleValue: SingleValueDecodingContainer {
    let decoder: JSONTreeDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }

    func decodeNil() -> Bool {
        if case .null = decoder.value { true } else { false }
    }

    func decode(_ type: Bool.Type) throws -> Bool { try decoder.bool(decoder.value, nil) }
    func decode(_ type: String.Type) throws -> String { try decoder.string(decoder.value, nil) }
    func decode(_ type: Double.Type) throws -> Double { try decoder.double(decoder.value, nil) }
    func decode(_ type: Float.Type) throws -> Float { try decoder.float(decoder.value, nil) }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try decoder.decode(type, from: decoder.value, nil)
    }

    func decode<Value: FixedWidthInteger & Decodable>(_ type: Value.Type) throws -> Value {
        try decoder.integer(decoder.value, nil)
    }

    // Without these two, the standard library's implementations would throw.
    func decode(_ type: Int128.Type) throws -> Int128 { try decoder.integer(decoder.value, nil) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try decoder.integer(decoder.value, nil) }
}
