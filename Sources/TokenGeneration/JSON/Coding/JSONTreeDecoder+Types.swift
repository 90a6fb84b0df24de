internal import Foundation
internal import OpenSSLCrypto

extension JSONTreeDecoder {
    /// Decodes a value of any type.
    ///
    /// JSON types, and the Foundation types that Foundation's coder also handles specially, are
    /// decoded directly: `Date` from NumericDate, `Data` from base64, `URL` from a string,
    /// `Decimal` from a number.
    ///
    /// - Throws: `DecodingError`, or the type's own error.
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
}

extension JSONTreeDecoder {
    /// Returns the error for a value of the wrong type.
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
