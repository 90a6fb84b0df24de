/// An encoder that writes a value to a node.
struct JSONTextEncoder: Encoder {
    let node: JSONTextNode
    let ticket: JSONText.Ticket

    var codingPath: [any CodingKey] { node.codingPath(ticket) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.startContainer(ticket, .object)
        return KeyedEncodingContainer(JSONTextMembers<Key>(node: node, ticket: ticket))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.startContainer(ticket, .array)
        return JSONTextElements(node: node, ticket: ticket)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        JSONTextSingleValue(node: node, ticket: ticket)
    }
}

/// An encoding container for a value that isn't an object or an array.
private struct JSONTextSingleValue: SingleValueEncodingContainer {
    let node: JSONTextNode
    let ticket: JSONText.Ticket

    var codingPath: [any CodingKey] { node.codingPath(ticket) }

    func encodeNil() throws { try node.writeSingle(ticket, JSONScalar.null) }
    func encode(_ value: Bool) throws { try node.writeSingle(ticket, JSONScalar.bool(value)) }
    func encode(_ value: String) throws { try node.writeSingle(ticket, JSONScalar.string(value)) }

    func encode<Value: BinaryFloatingPoint & LosslessStringConvertible & Encodable>(
        _ value: Value
    ) throws {
        guard let scalar = JSONScalar(value) else { throw node.notFinite(value, nil) }
        try node.writeSingle(ticket, scalar)
    }

    func encode<Value: Encodable>(_ value: Value) throws { try node.writeSingle(ticket, value) }

    func encode<Value: FixedWidthInteger & Encodable>(_ value: Value) throws {
        try node.writeSingle(ticket, JSONScalar(integer: value))
    }

    // Without these two, the standard library's implementations would throw.
    func encode(_ value: Int128) throws { try node.writeSingle(ticket, JSONScalar(integer: value)) }
    func encode(_ value: UInt128) throws { try node.writeSingle(ticket, JSONScalar(integer: value)) }
}
