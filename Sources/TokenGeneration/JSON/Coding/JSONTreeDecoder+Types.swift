internal import Foundation
internal import OpenSSLCrypto

extension JSONTreeDecoder {
    /// Decodes a value of any type.
    ///
    /// Types that JSON has, and those of Foundation that its own coder treats apart, are read at once: `Date` as
    /// NumericDate, `Data` as base64, `URL` as a string, `Decimal` as a number.
    ///
    /// - Throws: `DecodingError`, or what the type throws.
    func decode<Value: Decodable>(_ type: Value.Type, from value: JSONValue, _ key: (any CodingKey)?) throws -> Value {
        if let plain = try plain(type, from: value, key), let value = plain as? Value { return value }
        guard let key else { return try type.init(from: self) }
        return try type.init(from: JSONTreeDecoder(value, parent: self, key: key))
    }

    /// - Returns: `nil` for a type that must decode itself.
    private func plain(_ type: Any.Type, from value: JSONValue, _ key: (any CodingKey)?) throws -> Any? {
        if type == String.self { return try string(value, key) }
        if type == Int.self { return try integer(Int.self, value, key) }
        if type == Bool.self { return try bool(value, key) }
        if type == Double.self { return try double(value, key) }
        if type == Date.self { return try date(value, key) }
        if type == JSONValue.self { return value }
        if type == JSONObject.self { return try object(value, key) }
        if type == Data.self { return try data(value, key) }
        if type == URL.self { return try url(value, key) }
        if type == Decimal.self { return try decimal(value, key) }
        if type == Float.self { return try float(value, key) }
        guard JSONNumber.isStandardInteger(type), let type = type as? any FixedWidthInteger.Type else { return nil }
        return try integer(type, value, key)
    }

    private func bool(_ value: JSONValue, _ key: (any CodingKey)?) throws -> Bool {
        guard case .bool(let bool) = value else { throw mismatch(value, Bool.self, key) }
        return bool
    }

    private func string(_ value: JSONValue, _ key: (any CodingKey)?) throws -> String {
        guard case .string(let string) = value else { throw mismatch(value, String.self, key) }
        return string
    }

    private func double(_ value: JSONValue, _ key: (any CodingKey)?) throws -> Double {
        guard case .number(let number) = value else { throw mismatch(value, Double.self, key) }
        guard let double = number.double else { throw doesNotFit(Double.self, key) }
        return double
    }

    private func float(_ value: JSONValue, _ key: (any CodingKey)?) throws -> Float {
        guard case .number(let number) = value else { throw mismatch(value, Float.self, key) }
        guard let float = Float(number.literal), float.isFinite else { throw doesNotFit(Float.self, key) }
        return float
    }

    private func integer<Value: FixedWidthInteger>(
        _ type: Value.Type,
        _ value: JSONValue,
        _ key: (any CodingKey)?
    ) throws -> Value {
        guard case .number(let number) = value else { throw mismatch(value, Value.self, key) }
        if let integer = number.integer.flatMap(Value.init(exactly:)) ?? Value(number.literal) { return integer }
        throw doesNotFit(Value.self, key)
    }

    private func object(_ value: JSONValue, _ key: (any CodingKey)?) throws -> JSONObject {
        guard case .object(let object) = value else { throw mismatch(value, JSONObject.self, key) }
        return object
    }

    private func date(_ value: JSONValue, _ key: (any CodingKey)?) throws -> Date {
        let seconds = try double(value, key)
        guard NumericDate.range.contains(seconds) else { throw corrupted(NumericDate.isOutside, key) }
        return Date(timeIntervalSince1970: seconds)
    }

    private func data(_ value: JSONValue, _ key: (any CodingKey)?) throws -> Data {
        guard let data = Data(base64Encoded: try string(value, key)) else { throw corrupted("It is not base64.", key) }
        return data
    }

    private func url(_ value: JSONValue, _ key: (any CodingKey)?) throws -> URL {
        guard let url = URL(string: try string(value, key)) else { throw corrupted("It is not a URL.", key) }
        return url
    }

    private func decimal(_ value: JSONValue, _ key: (any CodingKey)?) throws -> Decimal {
        guard case .number(let number) = value else { throw mismatch(value, Decimal.self, key) }
        guard let decimal = Decimal(string: number.literal), !decimal.isNaN else { throw doesNotFit(Decimal.self, key) }
        return decimal
    }
}

extension JSONTreeDecoder {
    /// The error for a value of the wrong kind.
    func mismatch(_ found: JSONValue, _ expected: Any.Type, _ key: (any CodingKey)?) -> DecodingError {
        let context = context("It is \(found.kind), \(expected) is expected.", key)
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
        corrupted("The number does not fit \(type).", key)
    }
}
