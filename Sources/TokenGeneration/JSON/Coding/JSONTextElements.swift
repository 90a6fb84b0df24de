/// An encoding container for the elements of an array.
struct JSONTextElements: UnkeyedEncodingContainer {
    let node: JSONTextNode
    let ticket: JSONText.Ticket

    var codingPath: [any CodingKey] { node.codingPath(ticket) }
    var count: Int { node.count(ticket) }

    func encodeNil() throws { try put(.null) }
    func encode(_ value: Bool) throws { try put(.bool(value)) }
    func encode(_ value: String) throws { try put(.string(value)) }

    func encode<Value: BinaryFloatingPoint & LosslessStringConvertible & Encodable>(
        _ value: Value
    ) throws {
        guard let scalar = JSONScalar(value) else { throw node.notFinite(value, key) }
        try put(scalar)
    }

    func encode<Value: Encodable>(_ value: Value) throws { try node.write(ticket, nil, value, key) }

    func encode<Value: FixedWidthInteger & Encodable>(_ value: Value) throws { try put(JSONScalar(integer: value)) }
    // Without these two, the standard library's implementations would throw.
    func encode(_ value: Int128) throws { try put(JSONScalar(integer: value)) }
    func encode(_ value: UInt128) throws { try put(JSONScalar(integer: value)) }

    func nestedContainer<Nested: CodingKey>(keyedBy keyType: Nested.Type) -> KeyedEncodingContainer<Nested> {
        node.startChild(ticket, nil, key).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        node.startChild(ticket, nil, key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { node.startChild(ticket, nil, key) }

    private var key: JSONPathKey { JSONPathKey(intValue: count) }

    private func put(_ scalar: JSONScalar) throws {
        try node.write(ticket, nil, scalar)
    }
}
