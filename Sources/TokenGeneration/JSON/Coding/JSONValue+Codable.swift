extension JSONValue: Codable {
    /// Decodes any JSON value.
    ///
    /// Use a member of this type for parts of claims that aren't known in advance. The coders of
    /// this package preserve numbers as written and reject duplicate members. Foundation's coders
    /// do neither.
    public init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: JSONPathKey.self) {
            self = .object(try JSONObject(from: container))
        } else if (try? decoder.unkeyedContainer()) != nil {
            self = .array(try [JSONValue](from: decoder))
        } else {
            self = try JSONValue(from: decoder.singleValueContainer())
        }
    }

    private init(from container: any SingleValueDecodingContainer) throws {
        if container.decodeNil() {
            self = .null
        } else if let bool = try? container.decode(Bool.self) {
            self = .bool(bool)
        } else if let string = try? container.decode(String.self) {
            self = .string(string)
        } else if let integer = try? container.decode(Int64.self) {
            self = .number(JSONNumber(integer))
        } else if let integer = try? container.decode(UInt64.self) {
            self = .number(JSONNumber(integer))
        } else if let number = JSONNumber(try container.decode(Double.self)) {
            self = .number(number)
        } else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "JSON can't represent the number.")
        }
    }

    /// Encodes the value.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let object): try object.encode(to: encoder)
        case .array(let array): try array.encode(to: encoder)
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let bool): try bool.encode(to: encoder)
        case .string(let string): try string.encode(to: encoder)
        case .number(let number):
            if let integer = Int64(number.literal) {
                try integer.encode(to: encoder)
            } else if let integer = UInt64(number.literal) {
                try integer.encode(to: encoder)
            } else if let double = number.double {
                try double.encode(to: encoder)
            } else {
                throw EncodingError.invalidValue(
                    number.literal,
                    .init(codingPath: encoder.codingPath, debugDescription: "The number is too large.")
                )
            }
        }
    }
}

extension JSONObject: Codable {
    /// Decodes an object.
    public init(from decoder: any Decoder) throws {
        try self.init(from: decoder.container(keyedBy: JSONPathKey.self))
    }

    fileprivate init(from container: KeyedDecodingContainer<JSONPathKey>) throws {
        self.init()
        for key in container.allKeys { self[key.stringValue] = try container.decode(JSONValue.self, forKey: key) }
    }

    /// Encodes the members.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: JSONPathKey.self)
        for member in self { try container.encode(member.value, forKey: JSONPathKey(stringValue: member.name)) }
    }
}

extension JSONObject {
    /// Encodes a value, which must become a JSON object.
    ///
    /// The encoding is that of Foundation's `JSONEncoder`, with dates as seconds since 1970
    /// (NumericDate) and `Data` as base64.
    ///
    /// - Parameter value: The value.
    /// - Throws: ``TokenError`` with the code `unencodableContent`. The message has the path; the
    ///   cause is the value's own error.
    public init(encoding value: some Encodable) throws(TokenError) {
        let json: JSONValue
        do {
            json = try JSONTreeEncoder.encode(value)
        } catch EncodingError.invalidValue(_, let context) {
            let path = (["claims"] + context.codingPath.map(\.stringValue)).joined(separator: ".")
            let reason = context.debugDescription == NumericDate.isOutside ? ": \(NumericDate.isOutside)" : ""
            throw TokenError(.unencodableContent, "\(path) can't be represented in JSON\(reason)")
        } catch {
            throw TokenError(.unencodableContent, "the claims can't be encoded", cause: error)
        }
        guard case .object(let object) = json else {
            throw TokenError(.unencodableContent, "the claims must encode as a claims set, a JSON object")
        }
        self = object
    }

    /// Decodes the object.
    ///
    /// The decoding is that of Foundation's `JSONDecoder`, with dates as seconds since 1970
    /// (NumericDate) and `Data` as base64, except that member names are compared code point by code
    /// point.
    ///
    /// - Parameter type: The type to decode.
    /// - Returns: The value.
    /// - Throws: ``TokenError`` with the code `malformedClaim`. The message has the path; the cause
    ///   is the `DecodingError`, or the type's own error.
    public func decode<Value: Decodable>(as type: Value.Type = Value.self) throws(TokenError) -> Value {
        do {
            return try JSONTreeDecoder(.object(self)).decode(type, from: .object(self), nil)
        } catch {
            throw TokenError(.malformedClaim, "the claims don't match \(type)\(Self.place(of: error))", cause: error)
        }
    }

    private static func place(of error: any Error) -> String {
        let (reason, path): (String, [any CodingKey]) =
            switch error {
            case DecodingError.keyNotFound(let key, let context): ("is missing", context.codingPath + [key])
            case DecodingError.typeMismatch(_, let context): ("has the wrong type", context.codingPath)
            case DecodingError.valueNotFound(_, let context): ("is null", context.codingPath)
            case DecodingError.dataCorrupted(let context): ("is malformed", context.codingPath)
            default: ("", [])
            }
        guard !path.isEmpty else { return "" }
        let name = path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
        return ": \(TokenError.shown(name)) \(reason)"
    }
}

/// A step of a coding path without a coding key of the type: an array index, or a member's name.
enum JSONPathKey: CodingKey {
    case name(String)
    case index(Int)

    init(stringValue: String) { self = .name(stringValue) }
    init(intValue: Int) { self = .index(intValue) }

    var stringValue: String {
        switch self {
        case .name(let name): name
        case .index(let index): "Index \(index)"
        }
    }

    var intValue: Int? {
        if case .index(let index) = self { index } else { nil }
    }
}
