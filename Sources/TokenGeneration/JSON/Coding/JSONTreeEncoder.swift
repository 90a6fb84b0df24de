internal import FoundationEssentials

/// The encoder of one value, with the parts that are complete.
///
/// A part is added after its own value was encoded, so that one that fails leaves nothing.
final class JSONTreeEncoder: Encoder {
    private enum Shape {
        case nothing, single, array, object, ended
    }

    private let parent: JSONTreeEncoder?
    private let key: (any CodingKey)?
    private let nesting: Int
    private var level: Int
    private var shape = Shape.nothing
    private var single = JSONValue.null
    /// The elements of an array have empty names.
    private var parts: [JSONObject.Member] = []
    /// The encoders of parts that stay open until this value ends.
    private var children: [(index: Int, encoder: JSONTreeEncoder)] = []
    /// An error of a function that can't throw.
    private var failure: (any Error)?

    private init(parent: JSONTreeEncoder? = nil, key: (any CodingKey)? = nil) {
        self.parent = parent
        self.key = key
        nesting = (parent?.nesting ?? 0) + 1
        level = parent?.level ?? 0
    }

    static func encode(_ value: some Encodable) throws -> JSONValue {
        let encoder = JSONTreeEncoder()
        return try encoder.direct(value, nil) ?? encoder.result(of: value)
    }

    var codingPath: [any CodingKey] {
        var path = parent?.codingPath ?? []
        if let key { path.append(key) }
        return path
    }

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        start(.object)
        return KeyedEncodingContainer(EncodedMembers<Key>(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        start(.array)
        return EncodedValues(encoder: self, isArray: true)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        EncodedValues(encoder: self, isArray: false)
    }

    private func start(_ container: Shape) {
        if shape == .nothing {
            shape = container
            level += 1
            // A token has about this many claims. Without the reservation, each growth step costs
            // an allocation.
            if level == 1 { parts.reserveCapacity(8) }
        }
        if shape != container {
            fail(misuse)
        } else if level > JSONLimits.document.depth {
            fail(invalid(0, Self.isTooDeep))
        }
    }

    private func result(of value: some Encodable) throws -> JSONValue {
        defer { end() }
        try value.encode(to: self)
        return try finished()
    }

    private func finished() throws -> JSONValue {
        if let failure { throw failure }
        for child in children { parts[child.index].value = try child.encoder.finished() }
        switch shape {
        case .array: return .array(parts.map(\.value))
        case .single: return single
        case .nothing, .object, .ended:
            parts.sortByName()
            return .object(JSONObject(distinctMembers: parts))
        }
    }

    /// Makes later writes errors, and releases the children, which refer to their parent.
    private func end() {
        shape = .ended
        for child in children { child.encoder.end() }
        parts = []
        children = []
    }

    private func fail(_ error: any Error) {
        if failure == nil { failure = error }
    }

    private var misuse: EncodingError {
        invalid(0, "The value was written twice, as two kinds of value, or after its end.")
    }

    private static let isTooDeep = "The value is nested deeper than \(JSONLimits.document.depth) levels."

    private func invalid(_ value: Any, _ reason: String, _ key: (any CodingKey)? = nil) -> EncodingError {
        .invalidValue(value, .init(codingPath: codingPath + (key.map { [$0] } ?? []), debugDescription: reason))
    }
}

extension JSONTreeEncoder {
    fileprivate var count: Int { parts.count }

    fileprivate func set(_ value: JSONValue) throws {
        guard shape == .nothing else { throw misuse }
        shape = .single
        single = value
    }

    /// Adds a member, or an element if there's no name.
    fileprivate func add(_ value: consuming JSONValue, _ name: String?) throws {
        guard shape == (name == nil ? .array : .object) else { throw misuse }
        parts.append(JSONObject.Member(name: name ?? "", value: value))
    }

    fileprivate func child(_ name: String?, _ key: some CodingKey) -> JSONTreeEncoder {
        // An encoder that has failed stands in for its children, whose number is thus limited.
        guard failure == nil else { return self }
        do {
            try add(.null, name)
        } catch {
            fail(error)
            return self
        }
        let child = JSONTreeEncoder(parent: self, key: key)
        children.append((parts.count - 1, child))
        return child
    }

    fileprivate func json(
        _ value: some Encodable,
        _ key: @autoclosure () -> (any CodingKey)?
    ) throws -> JSONValue {
        if let value = try direct(value, key()) { return value }
        if let failure { throw failure }
        // Values that aren't containers can also be nested without a limit.
        guard nesting < 4 * JSONLimits.document.depth else { throw invalid(value, Self.isTooDeep) }
        return try JSONTreeEncoder(parent: self, key: key()).result(of: value)
    }

    fileprivate func finite(
        _ value: some DirectlyConvertible,
        _ key: @autoclosure () -> (any CodingKey)?
    ) throws -> JSONValue {
        guard let json = value.jsonValue else { throw invalid(value, "JSON has no infinity and no NaN.", key()) }
        return json
    }

    /// Encodes JSON types without their `encode(to:)`, and the Foundation types that Foundation's
    /// coder also handles specially: `Date` as NumericDate, `Data` as base64, `URL` as a string,
    /// `Decimal` as a number.
    private func direct<Value: Encodable>(
        _ value: Value,
        _ key: @autoclosure () -> (any CodingKey)?
    ) throws -> JSONValue? {
        func exactly<Wanted>(_ type: Wanted.Type) -> Wanted? { Value.self == type ? value as? Wanted : nil }
        if let string = exactly(String.self) { return .string(string) }
        if let integer = exactly(Int.self) { return .number(JSONNumber(integer)) }
        if let date = exactly(Date.self) {
            guard let seconds = NumericDate(date).seconds else { throw invalid(date, NumericDate.isOutside, key()) }
            return .number(JSONNumber(seconds))
        }
        if level < JSONLimits.document.depth, let strings = exactly([String].self) {
            return .array(strings.map(JSONValue.string))
        }
        if let data = exactly(Data.self) { return .string(data.base64EncodedString()) }
        if let url = exactly(URL.self) { return .string(url.absoluteString) }
        if let decimal = exactly(Decimal.self) { return try finite(decimal, key()) }
        guard let json = exactly(JSONValue.self) ?? exactly(JSONObject.self).map(JSONValue.object) else { return nil }
        guard json.fits(levels: JSONLimits.document.depth - level) else { throw invalid(json, Self.isTooDeep, key()) }
        return json
    }
}

extension JSONValue {
    fileprivate func fits(levels: Int) -> Bool {
        switch self {
        case .array(let array): levels > 0 && array.allSatisfy { $0.fits(levels: levels - 1) }
        case .object(let object): levels > 0 && object.allSatisfy { $0.value.fits(levels: levels - 1) }
        default: true
        }
    }
}

private struct EncodedMembers<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: JSONTreeEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil(forKey key: Key) throws { try put(.null, key) }

    func encode<Value: DirectlyConvertible & Encodable>(_ value: Value, forKey key: Key) throws {
        try put(encoder.finite(value, key), key)
    }

    func encode<Value: FixedWidthInteger & Encodable>(_ value: Value, forKey key: Key) throws {
        try put(.number(JSONNumber(value)), key)
    }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try put(encoder.json(value, key), key) }

    // Without these two, the standard library's implementations would throw.
    func encode(_ value: Int128, forKey key: Key) throws { try put(.number(JSONNumber(value)), key) }
    func encode(_ value: UInt128, forKey key: Key) throws { try put(.number(JSONNumber(value)), key) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy keyType: Nested.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        child(key).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { child(key).unkeyedContainer() }
    func superEncoder() -> any Encoder { child(JSONPathKey(stringValue: "super")) }
    func superEncoder(forKey key: Key) -> any Encoder { child(key) }

    private func put(_ value: JSONValue, _ key: Key) throws { try encoder.add(value, key.stringValue) }
    private func child(_ key: some CodingKey) -> JSONTreeEncoder { encoder.child(key.stringValue, key) }
}

/// The elements of an array, or a single value.
private struct EncodedValues: UnkeyedEncodingContainer, SingleValueEncodingContainer {
    let encoder: JSONTreeEncoder
    let isArray: Bool

    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.count }

    func encodeNil() throws { try put(.null) }
    func encode<Value: DirectlyConvertible & Encodable>(_ value: Value) throws { try put(encoder.finite(value, key)) }
    func encode<Value: FixedWidthInteger & Encodable>(_ value: Value) throws { try put(.number(JSONNumber(value))) }
    func encode<Value: Encodable>(_ value: Value) throws { try put(encoder.json(value, key)) }
    // Without these two, the standard library's implementations would throw.
    func encode(_ value: Int128) throws { try put(.number(JSONNumber(value))) }
    func encode(_ value: UInt128) throws { try put(.number(JSONNumber(value))) }

    func nestedContainer<Nested: CodingKey>(keyedBy keyType: Nested.Type) -> KeyedEncodingContainer<Nested> {
        child.container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { child.unkeyedContainer() }
    func superEncoder() -> any Encoder { child }

    private var key: JSONPathKey? { isArray ? JSONPathKey(intValue: count) : nil }
    private var child: JSONTreeEncoder { encoder.child(nil, JSONPathKey(intValue: count)) }

    private func put(_ value: JSONValue) throws {
        if isArray { try encoder.add(value, nil) } else { try encoder.set(value) }
    }
}
