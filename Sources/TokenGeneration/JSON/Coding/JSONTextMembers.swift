/// An encoding container for the members of an object.
struct JSONTextMembers<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: JSONTextNode
    let ticket: JSONText.Ticket

    var codingPath: [any CodingKey] { node.codingPath(ticket) }

    func encodeNil(forKey key: Key) throws { try put(.null, key) }
    func encode(_ value: Bool, forKey key: Key) throws { try put(.bool(value), key) }
    func encode(_ value: String, forKey key: Key) throws { try put(.string(value), key) }

    func encode<Value: BinaryFloatingPoint & LosslessStringConvertible & Encodable>(
        _ value: Value,
        forKey key: Key
    ) throws {
        guard let scalar = JSONScalar(value) else { throw node.notFinite(value, key) }
        try put(scalar, key)
    }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try node.write(ticket, key.stringValue, value, key)
    }

    func encode<Value: FixedWidthInteger & Encodable>(_ value: Value, forKey key: Key) throws {
        try put(JSONScalar(integer: value), key)
    }

    // Without these two, the standard library's implementations would throw.
    func encode(_ value: Int128, forKey key: Key) throws { try put(JSONScalar(integer: value), key) }
    func encode(_ value: UInt128, forKey key: Key) throws { try put(JSONScalar(integer: value), key) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy keyType: Nested.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        node.startChild(ticket, key.stringValue, key).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        node.startChild(ticket, key.stringValue, key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder {
        node.startChild(ticket, "super", JSONPathKey(stringValue: "super"))
    }

    func superEncoder(forKey key: Key) -> any Encoder { node.startChild(ticket, key.stringValue, key) }

    @inline(__always)
    private func put(_ scalar: JSONScalar, _ key: Key) throws {
        try node.write(ticket, key.stringValue, scalar)
    }
}
