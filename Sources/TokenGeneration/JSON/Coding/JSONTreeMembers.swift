/// A decoding container for the members of an object.
struct JSONTreeMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: JSONTreeDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { decoder.object.compactMap { Key(stringValue: $0.name) } }

    func contains(_ key: Key) -> Bool { decoder.member(key.stringValue) != nil }

    func decodeNil(forKey key: Key) throws -> Bool {
        if case .null = try value(key) { true } else { false }
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decoder.bool(value(key), key) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try decoder.string(value(key), key) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try decoder.double(value(key), key) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try decoder.float(value(key), key) }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try decoder.decode(type, from: value(key), key)
    }

    func decode<Value: FixedWidthInteger & Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try decoder.integer(value(key), key)
    }

    // Without these two, the standard library's implementations would throw.
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try decoder.integer(value(key), key) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try decoder.integer(value(key), key) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try nested(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try nested(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        let key = JSONPathKey(stringValue: "super")
        return JSONTreeDecoder(decoder.member(key.stringValue) ?? .null, parent: decoder, key: key)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        JSONTreeDecoder(decoder.member(key.stringValue) ?? .null, parent: decoder, key: key)
    }

    private func nested(_ key: Key) throws -> JSONTreeDecoder {
        JSONTreeDecoder(try value(key), parent: decoder, key: key)
    }

    @inline(__always)
    private func value(_ key: Key) throws -> JSONValue {
        guard let value = decoder.member(key.stringValue) else {
            throw DecodingError.keyNotFound(key, decoder.context("The object has no member with that name.", nil))
        }
        return value
    }
}
