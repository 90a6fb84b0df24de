/// The encoder of one value, and the value as far as it is written.
///
/// A type may keep containers open beside each other; each writes to its encoder, and the value is read at the end.
final class JSONTreeEncoder: Encoder {
    private enum Shape { case nothing, single, object, array, ended }

    /// A member or an element: a value, or an encoder that may still be written to.
    private enum Part {
        case value(JSONValue)
        case encoder(JSONTreeEncoder)

        func finished() throws -> JSONValue {
            switch self {
            case .value(let value): value
            case .encoder(let encoder): try encoder.finish()
            }
        }
    }

    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }
    /// The number of objects and arrays around the value.
    private let level: Int
    /// The number of encoders around this one.
    private let depth: Int
    private var shape = Shape.nothing
    private var names: [String] = []
    private var parts: [Part] = []
    private var failure: EncodingError?

    private init(_ codingPath: [any CodingKey] = [], level: Int = 0, depth: Int = 0) {
        self.codingPath = codingPath
        self.level = level
        self.depth = depth
    }

    /// Encodes a value: members sorted, and of those with the same name the last one.
    ///
    /// - Throws: `EncodingError`, or what the value throws.
    static func encode(_ value: some Encodable) throws -> JSONValue {
        let encoder = JSONTreeEncoder()
        return try encoder.part(of: value, nil).finished()
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        start(.object)
        return KeyedEncodingContainer(JSONTreeMembersEncoder<Key>(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        start(.array)
        return JSONTreeElementsEncoder(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { JSONTreeSingleEncoder(encoder: self) }
}

extension JSONTreeEncoder {
    /// The number of elements.
    var count: Int { parts.count }

    /// Writes a member, or an element if there is no name; one that fails leaves nothing behind.
    func write(_ name: String?, _ value: some Encodable, _ key: any CodingKey) throws {
        try check(name)
        let part = try part(of: value, key)
        try check(name)
        append(name, part)
    }

    /// Makes the value what another one is.
    func writeSingle(_ value: some Encodable) throws {
        guard shape == .nothing else { throw misuse }
        let part = try part(of: value, nil)
        guard shape == .nothing else { throw misuse }
        shape = .single
        parts = [part]
    }

    /// Adds a member or an element that is written later.
    func child(_ name: String?, _ key: any CodingKey) -> JSONTreeEncoder {
        let child = JSONTreeEncoder(codingPath + [key], level: level + 1, depth: depth + 1)
        do {
            try check(name)
            append(name, .encoder(child))
        } catch {
            failure = failure ?? misuse
        }
        return child
    }

    private func append(_ name: String?, _ part: Part) {
        if let name { names.append(name) }
        parts.append(part)
    }

    private func check(_ name: String?) throws {
        if let failure { throw failure }
        guard shape == (name == nil ? .array : .object) else { throw misuse }
    }

    /// Makes the value an object or an array; a failure is thrown later, because containers can't throw here.
    private func start(_ shape: Shape) {
        guard self.shape != shape else { return }
        if self.shape != .nothing {
            failure = failure ?? misuse
        } else if level >= JSONLimits.document.depth {
            failure = failure ?? error(0, nil, "It is nested deeper than \(JSONLimits.document.depth) levels.")
        } else {
            self.shape = shape
        }
    }

    private func part<Value: Encodable>(of value: Value, _ key: (any CodingKey)?) throws -> Part {
        let isContainer = shape == .object || shape == .array
        let level = isContainer ? level + 1 : level
        switch JSONValue.plain(value, maximumDepth: JSONLimits.document.depth - level) {
        case .value(let value): return .value(value)
        case .failure(let reason): throw error(value, key, reason)
        case .other: break
        }
        // Values that are no containers can be nested without a bound, too.
        guard depth < 4 * JSONLimits.document.depth else { throw error(value, key, "It is nested too deeply.") }
        let child = JSONTreeEncoder(key.map { codingPath + [$0] } ?? codingPath, level: level, depth: depth + 1)
        try value.encode(to: child)
        return .encoder(child)
    }

    private var misuse: EncodingError {
        error(0, nil, "It is encoded as two values, or after it had ended.")
    }

    private func error(_ value: some Encodable, _ key: (any CodingKey)?, _ reason: String) -> EncodingError {
        .invalidValue(value, .init(codingPath: key.map { codingPath + [$0] } ?? codingPath, debugDescription: reason))
    }

    // MARK: The end

    private func finish() throws -> JSONValue {
        if let failure { throw failure }
        let value: JSONValue =
            switch shape {
            case .nothing, .ended: .object([:])
            case .single: try parts[0].finished()
            case .array: .array(try parts.map { try $0.finished() })
            case .object: .object(try sortedMembers())
            }
        (shape, names, parts) = (.ended, [], [])
        return value
    }

    private func sortedMembers() throws -> JSONObject {
        var order = Array(names.indices)
        order.sort { names[$0].precedes(names[$1]) || $0 < $1 && !names[$1].precedes(names[$0]) }
        var members: [JSONObject.Member] = []
        members.reserveCapacity(order.count)
        for (place, index) in order.enumerated() {
            if place + 1 < order.count, names[index].isExactly(names[order[place + 1]]) { continue }
            members.append(JSONObject.Member(name: names[index], value: try parts[index].finished()))
        }
        return JSONObject(distinctMembers: members)
    }
}

// A generic function stands for all of the functions that a container has for numbers and strings.

/// Writes the members of an object.
private struct JSONTreeMembersEncoder<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: JSONTreeEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil(forKey key: Key) throws { try encode(JSONValue.null, forKey: key) }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try encoder.write(key.stringValue, value, key)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy keyType: Nested.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        encoder.child(key.stringValue, key).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.child(key.stringValue, key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder.child("super", JSONPathKey(stringValue: "super")) }
    func superEncoder(forKey key: Key) -> any Encoder { encoder.child(key.stringValue, key) }
}

/// Writes the elements of an array.
private struct JSONTreeElementsEncoder: UnkeyedEncodingContainer {
    let encoder: JSONTreeEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.count }

    func encodeNil() throws { try encode(JSONValue.null) }
    func encode<Value: Encodable>(_ value: Value) throws { try encoder.write(nil, value, key) }

    func nestedContainer<Nested: CodingKey>(keyedBy keyType: Nested.Type) -> KeyedEncodingContainer<Nested> {
        encoder.child(nil, key).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.child(nil, key).unkeyedContainer() }
    func superEncoder() -> any Encoder { encoder.child(nil, key) }

    private var key: JSONPathKey { JSONPathKey(index: count) }
}

/// Writes a value that is no container.
private struct JSONTreeSingleEncoder: SingleValueEncodingContainer {
    let encoder: JSONTreeEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil() throws { try encode(JSONValue.null) }
    func encode<Value: Encodable>(_ value: Value) throws { try encoder.writeSingle(value) }
}
