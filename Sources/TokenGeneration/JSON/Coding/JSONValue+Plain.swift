internal import Foundation

extension JSONValue {
    /// What a value is in JSON, if that is known without asking the value.
    enum Plain {
        case value(JSONValue)
        /// The value must encode itself.
        case other
        /// JSON can't hold the value.
        case failure(String)
    }

    /// Takes a value of a type that JSON has, or that Foundation's encoder treats apart, too: `Date` as NumericDate, `Data`
    /// as base64, `URL` as a string, `Decimal` as a number.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - maximumDepth: How many levels of objects and arrays it may have.
    /// - Returns: The JSON value, or why there is none.
    static func plain<Value: Encodable>(_ value: Value, maximumDepth: Int) -> Plain {
        if let string = exactly(String.self, value) { return .value(.string(string)) }
        if let integer = exactly(Int.self, value) { return .value(.number(JSONNumber(integer))) }
        if let bool = exactly(Bool.self, value) { return .value(.bool(bool)) }
        if let double = exactly(Double.self, value) { return number(JSONNumber(double)) }
        if let date = exactly(Date.self, value) {
            let seconds = date.timeIntervalSince1970
            return NumericDate.range.contains(seconds) ? number(JSONNumber(seconds)) : .failure(NumericDate.isOutside)
        }
        if let json = exactly(JSONValue.self, value) { return checked(json, maximumDepth) }
        if let object = exactly(JSONObject.self, value) { return checked(.object(object), maximumDepth) }
        if let data = exactly(Data.self, value) { return .value(.string(data.base64EncodedString())) }
        if let url = exactly(URL.self, value) { return .value(.string(url.absoluteString)) }
        if let decimal = exactly(Decimal.self, value) {
            return number(decimal.isNaN ? nil : JSONNumber(literal: decimal.description))
        }
        if let float = exactly(Float.self, value) {
            // By way of text, so that 0.1 does not become 0.10000000149011612.
            return number(float.isFinite ? Double(float.description).flatMap { JSONNumber($0) } : nil)
        }
        guard JSONNumber.isStandardInteger(Value.self), let integer = value as? any FixedWidthInteger else {
            return .other
        }
        return .value(.number(JSONNumber(integer)))
    }

    /// The value, if its type is this one and no other that Swift would convert.
    private static func exactly<Value, Wanted>(_ type: Wanted.Type, _ value: Value) -> Wanted? {
        Value.self == type ? value as? Wanted : nil
    }

    private static func number(_ number: JSONNumber?) -> Plain {
        number.map { .value(.number($0)) } ?? .failure("JSON has no infinity and no NaN.")
    }

    private static func checked(_ value: JSONValue, _ maximumDepth: Int) -> Plain {
        value.fits(maximumDepth)
            ? .value(value) : .failure("It is nested deeper than \(JSONLimits.document.depth) levels.")
    }

    /// Whether the value has at most so many levels of objects and arrays.
    private func fits(_ maximumDepth: Int) -> Bool {
        switch self {
        case .array(let array): maximumDepth > 0 && array.allSatisfy { $0.fits(maximumDepth - 1) }
        case .object(let object): maximumDepth > 0 && object.allSatisfy { $0.value.fits(maximumDepth - 1) }
        case .null, .bool, .number, .string: true
        }
    }
}

extension JSONNumber {
    private static let standardIntegers: Set<ObjectIdentifier> = [
        ObjectIdentifier(Int.self), ObjectIdentifier(Int8.self), ObjectIdentifier(Int16.self),
        ObjectIdentifier(Int32.self),
        ObjectIdentifier(Int64.self), ObjectIdentifier(Int128.self), ObjectIdentifier(UInt.self),
        ObjectIdentifier(UInt8.self), ObjectIdentifier(UInt16.self), ObjectIdentifier(UInt32.self),
        ObjectIdentifier(UInt64.self), ObjectIdentifier(UInt128.self),
    ]

    /// Whether a type is an integer of the standard library; one of the user's encodes and decodes itself.
    static func isStandardInteger(_ type: Any.Type) -> Bool { standardIntegers.contains(ObjectIdentifier(type)) }
}
