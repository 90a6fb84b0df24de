internal import OpenSSLCrypto

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

/// The target of the encoders and containers of one `Encodable` value.
///
/// Only containers that stay open at the same time as others (`nestedContainer`, `superEncoder`)
/// get a separate node. Its text is inserted when the enclosing value is complete.
struct JSONTextNode {
    fileprivate let state: ExclusiveBox<State>

    fileprivate struct State {
        var text: JSONText
        var path: [any CodingKey]
        var children: [JSONTextNode] = []
        var failure: EncodingError?
    }

    private init(path: [any CodingKey], levels: Int) {
        state = ExclusiveBox(State(text: JSONText(levels: levels), path: path))
    }

    /// Sorts the members; `hasUnusualNames` indicates characters that complicate sorting.
    static func encode(_ value: some Encodable) throws -> (json: [UInt8], hasUnusualNames: Bool) {
        let node = JSONTextNode(path: [], levels: 0)
        if let scalar = try node.scalar(value, nil) {
            node.state.withValue { $0.text.write(scalar) }
        } else {
            try node.writeNested(value, nil)
        }
        return node.state.withValue { ($0.text.takeJSON(), $0.text.hasUnusualNames) }
    }

    func codingPath(_ ticket: JSONText.Ticket) -> [any CodingKey] {
        state.withValue { $0.codingPath(ticket) }
    }

    func count(_ ticket: JSONText.Ticket) -> Int {
        state.withValue { $0.text.count(ticket) }
    }

    /// A failure is reported when the value ends.
    func startContainer(_ ticket: JSONText.Ticket, _ shape: JSONText.Shape) {
        state.withValue { state in
            if !state.text.startContainer(ticket, shape) {
                state.fail(ticket, "The value is encoded as two kinds of value, or after its end.")
            }
            if state.text.levels > JSONLimits.document.depth {
                state.fail(ticket, "The value is nested deeper than \(JSONLimits.document.depth) levels.")
            }
        }
    }

    func writeSingle(_ ticket: JSONText.Ticket, _ scalar: JSONScalar) throws {
        try state.withValue { state in
            guard state.text.startSingle(ticket) else { throw state.misuse(ticket) }
            state.text.write(scalar)
        }
    }

    func writeSingle(_ ticket: JSONText.Ticket, _ value: some Encodable) throws {
        if let scalar = try scalar(value, nil) { return try writeSingle(ticket, scalar) }
        try state.withValue { state in
            guard state.text.startSingle(ticket) else { throw state.misuse(ticket) }
        }
        try writeNested(value, nil)
    }

    func write(_ ticket: JSONText.Ticket, _ name: String?, _ scalar: JSONScalar) throws {
        try state.withValue { state in
            guard state.text.write(ticket, name, scalar) else { throw state.misuse(ticket) }
        }
    }

    /// A member that fails is removed.
    func write(_ ticket: JSONText.Ticket, _ name: String?, _ value: some Encodable, _ key: some CodingKey) throws {
        if let scalar = try scalar(value, key) { return try write(ticket, name, scalar) }
        let mark = try state.withValue { state in
            let mark = state.text.mark(ticket)
            guard state.text.startPart(ticket, name) else { throw state.misuse(ticket) }
            return mark
        }
        do {
            try writeNested(value, key)
        } catch {
            state.withValue { $0.text.goBack(to: mark) }
            throw error
        }
    }

    func startChild(_ ticket: JSONText.Ticket, _ name: String?, _ key: any CodingKey) -> JSONTextEncoder {
        let child = state.withValue { state in
            let child = JSONTextNode(path: state.codingPath(ticket) + [key], levels: state.text.levels)
            if state.text.startPart(ticket, name, child: state.children.count) {
                state.children.append(child)
            } else {
                state.fail(ticket, "A container was requested for a value that has ended.")
            }
            return child
        }
        return JSONTextEncoder(node: child, ticket: child.state.withValue { $0.text.open(pathCount: $0.path.count) })
    }

    func notFinite(
        _ value: some Encodable,
        _ key: (any CodingKey)?,
        _ reason: String = JSONScalar.NotFinite().reason
    ) -> EncodingError {
        let path = state.withValue { $0.path }
        return .invalidValue(value, .init(codingPath: path + (key.map { [$0] } ?? []), debugDescription: reason))
    }

    @inline(__always)
    private func scalar<Value: Encodable>(_ value: Value, _ key: (any CodingKey)?) throws -> JSONScalar? {
        do throws(JSONScalar.NotFinite) {
            return try JSONScalar.of(value)
        } catch {
            throw notFinite(value, key, error.reason)
        }
    }

    private func writeNested(_ value: some Encodable, _ key: (any CodingKey)?) throws {
        let (ticket, childCount) = try state.withValue { state in
            if let failure = state.failure { throw failure }
            // Values that aren't containers can also be nested without a limit.
            guard state.text.openValues < 4 * JSONLimits.document.depth else {
                throw EncodingError.invalidValue(
                    value,
                    .init(codingPath: state.path, debugDescription: "The value is nested too deeply.")
                )
            }
            if let key { state.path.append(key) }
            return (state.text.open(pathCount: state.path.count), state.children.count)
        }
        do {
            try value.encode(to: JSONTextEncoder(node: self, ticket: ticket))
        } catch {
            if key != nil { state.withValue { _ = $0.path.popLast() } }
            throw error
        }
        try state.withValue { state in
            if key != nil { state.path.removeLast() }
            try state.close(childrenFrom: childCount)
        }
    }
}

extension JSONTextNode.State {
    func codingPath(_ ticket: JSONText.Ticket) -> [any CodingKey] {
        Array(path.prefix(Int(ticket.pathCount)))
    }

    mutating func close(childrenFrom first: Int) throws {
        if let failure { throw failure }
        guard children.count > 0 else { return text.close() }
        // Children are numbered from the first of the node, so those of enclosing values are also
        // passed.
        var texts: [JSONText] = []
        for (index, child) in children.enumerated() {
            let text = try child.state.withValue { child in
                if index >= first { try child.close(childrenFrom: 0) }
                return child.text
            }
            texts.append(text)
        }
        text.close(with: texts)
        children.removeLast(children.count - first)
    }

    mutating func fail(_ ticket: JSONText.Ticket, _ reason: String) {
        if failure == nil {
            failure = .invalidValue(0, .init(codingPath: codingPath(ticket), debugDescription: reason))
        }
    }

    func misuse(_ ticket: JSONText.Ticket) -> EncodingError {
        let reason = "The value was written twice, while another value was being written, or after its end."
        return .invalidValue(0, .init(codingPath: codingPath(ticket), debugDescription: reason))
    }
}

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
