internal import FoundationEssentials
internal import OpenSSLCrypto

final class JSONTreeDecoder: Decoder {
    let value: JSONValue
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
        var path = parent?.codingPath ?? []
        if let key { path.append(key) }
        return path
    }

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object = value else { throw mismatch(value, [String: Any].self, nil) }
        return KeyedDecodingContainer(JSONTreeMembers<Key>(decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let array) = value else { throw mismatch(value, [Any].self, nil) }
        return JSONTreeElements(decoder: self, elements: array)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }
}

extension JSONTreeDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool {
        if case .null = value { true } else { false }
    }

    func decode(_ type: Bool.Type) throws -> Bool { try bool(value, nil) }
    func decode(_ type: String.Type) throws -> String { try string(value, nil) }
    func decode(_ type: Double.Type) throws -> Double { try double(value, nil) }
    func decode(_ type: Float.Type) throws -> Float { try float(value, nil) }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decode(type, from: value, nil) }
    func decode<Value: FixedWidthInteger & Decodable>(_ type: Value.Type) throws -> Value { try integer(value, nil) }

    // Without these two, the standard library's implementations would throw.
    func decode(_ type: Int128.Type) throws -> Int128 { try integer(value, nil) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try integer(value, nil) }
}

extension JSONTreeDecoder {
    /// Decodes JSON types directly, and the Foundation types that Foundation's coder also handles
    /// specially: `Date` from NumericDate, `Data` from base64, `URL` from a string, `Decimal` from
    /// a number.
    func decode<Value: Decodable>(_ type: Value.Type, from value: JSONValue, _ key: (any CodingKey)?) throws -> Value {
        if type == String.self, let value = try string(value, key) as? Value { return value }
        if type == Int.self, let value = (try integer(value, key) as Int) as? Value { return value }
        if type == Date.self, let value = try date(value, key) as? Value { return value }
        if type == [String].self, let value = try strings(value, key) as? Value { return value }
        if type == Data.self, let value = try data(value, key) as? Value { return value }
        if type == URL.self, let value = try url(value, key) as? Value { return value }
        if type == Decimal.self, let value = try decimal(value, key) as? Value { return value }
        if type == JSONValue.self, let value = value as? Value { return value }
        if type == JSONObject.self, let value = try object(value, key) as? Value { return value }
        guard let key else { return try type.init(from: self) }
        return try type.init(from: JSONTreeDecoder(value, parent: self, key: key))
    }

    func bool(_ value: JSONValue, _ key: (any CodingKey)?) throws -> Bool {
        guard case .bool(let bool) = value else { throw mismatch(value, Bool.self, key) }
        return bool
    }

    @inline(__always)
    func string(_ value: JSONValue, _ key: (any CodingKey)?) throws -> String {
        guard case .string(let string) = value else { throw mismatch(value, String.self, key) }
        return string
    }

    func double(_ value: JSONValue, _ key: (any CodingKey)?) throws -> Double {
        guard case .number(let number) = value else { throw mismatch(value, Double.self, key) }
        guard let double = number.double else { throw doesNotFit(Double.self, key) }
        return double
    }

    func float(_ value: JSONValue, _ key: (any CodingKey)?) throws -> Float {
        guard case .number(let number) = value else { throw mismatch(value, Float.self, key) }
        guard let float = Float(number.literal), float.isFinite else { throw doesNotFit(Float.self, key) }
        return float
    }

    func integer<Value: FixedWidthInteger>(_ value: JSONValue, _ key: (any CodingKey)?) throws -> Value {
        guard case .number(let number) = value else { throw mismatch(value, Value.self, key) }
        if let integer = number.integer.flatMap(Value.init(exactly:)) ?? Value(number.literal) { return integer }
        throw doesNotFit(Value.self, key)
    }

    func object(_ value: JSONValue, _ key: (any CodingKey)?) throws -> JSONObject {
        guard case .object(let object) = value else { throw mismatch(value, JSONObject.self, key) }
        return object
    }

    private func strings(_ value: JSONValue, _ key: (any CodingKey)?) throws -> [String] {
        guard case .array(let array) = value else { throw mismatch(value, [Any].self, key) }
        var strings: [String] = []
        strings.reserveCapacity(array.count)
        for (index, element) in array.enumerated() {
            guard case .string(let string) = element else {
                let decoder = key.map { JSONTreeDecoder(value, parent: self, key: $0) } ?? self
                throw decoder.mismatch(element, String.self, JSONPathKey(intValue: index))
            }
            strings.append(string)
        }
        return strings
    }

    private func date(_ value: JSONValue, _ key: (any CodingKey)?) throws -> Date {
        let seconds = try double(value, key)
        guard NumericDate.range.contains(seconds) else { throw corrupted(NumericDate.isOutside, key) }
        return Date(timeIntervalSince1970: seconds)
    }

    private func data(_ value: JSONValue, _ key: (any CodingKey)?) throws -> Data {
        guard let data = Data(base64Encoded: try string(value, key)) else { throw corrupted("It isn't base64.", key) }
        return data
    }

    private func url(_ value: JSONValue, _ key: (any CodingKey)?) throws -> URL {
        guard let url = URL(string: try string(value, key)) else { throw corrupted("It isn't a URL.", key) }
        return url
    }

    private func decimal(_ value: JSONValue, _ key: (any CodingKey)?) throws -> Decimal {
        guard case .number(let number) = value else { throw mismatch(value, Decimal.self, key) }
        guard let decimal = Decimal(string: number.literal), !decimal.isNaN else { throw doesNotFit(Decimal.self, key) }
        return decimal
    }

    func mismatch(_ found: JSONValue, _ expected: Any.Type, _ key: (any CodingKey)?) -> DecodingError {
        let context = context("Found \(found.kind) instead of \(expected).", key)
        if case .null = found { return .valueNotFound(expected, context) }
        return .typeMismatch(expected, context)
    }

    func context(_ description: String, _ key: (any CodingKey)?) -> DecodingError.Context {
        .init(codingPath: codingPath + (key.map { [$0] } ?? []), debugDescription: description)
    }

    private func corrupted(_ description: String, _ key: (any CodingKey)?) -> DecodingError {
        .dataCorrupted(context(description, key))
    }

    private func doesNotFit(_ type: Any.Type, _ key: (any CodingKey)?) -> DecodingError {
        corrupted("The number doesn't fit into \(type).", key)
    }
}

struct JSONTreeMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: JSONTreeDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { decoder.object.compactMap { Key(stringValue: $0.name) } }

    func contains(_ key: Key) -> Bool { decoder.object[key.stringValue] != nil }

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
        return JSONTreeDecoder(decoder.object[key.stringValue] ?? .null, parent: decoder, key: key)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        JSONTreeDecoder(decoder.object[key.stringValue] ?? .null, parent: decoder, key: key)
    }

    private func nested(_ key: Key) throws -> JSONTreeDecoder {
        JSONTreeDecoder(try value(key), parent: decoder, key: key)
    }

    @inline(__always)
    private func value(_ key: Key) throws -> JSONValue {
        guard let value = decoder.object[key.stringValue] else {
            throw DecodingError.keyNotFound(key, decoder.context("The object has no member with that name.", nil))
        }
        return value
    }
}

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

    /// Advances only if decoding succeeds.
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
