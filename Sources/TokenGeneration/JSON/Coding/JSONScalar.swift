internal import Foundation
internal import OpenSSLCrypto

/// A value that is written directly, without its `encode(to:)` method.
enum JSONScalar {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case strings([String])
    case json(JSONValue)

    init(integer: some FixedWidthInteger) { self = .number(JSONNumber(integer)) }

    init?<Number: BinaryFloatingPoint & LosslessStringConvertible>(_ number: Number) {
        // Converts via text, so that the `Float` 0.1 doesn't become 0.10000000149011612.
        guard let double = number as? Double ?? Double(number.description), let number = JSONNumber(double) else {
            return nil
        }
        self = .number(number)
    }

    /// Returns the scalar for a value of a JSON type or of a type that Foundation's coder also
    /// handles specially: `Date` as NumericDate, `Data` as base64, `URL` as a string, `Decimal` as
    /// a number.
    static func of<Value: Encodable>(_ value: Value) throws(NotFinite) -> JSONScalar? {
        if let string = exactly(String.self, value) { return .string(string) }
        if let integer = exactly(Int.self, value) { return JSONScalar(integer: integer) }
        if let date = exactly(Date.self, value) { return try seconds(date) }
        if let strings = exactly([String].self, value) { return .strings(strings) }
        if let data = exactly(Data.self, value) { return .string(data.base64EncodedString()) }
        if let url = exactly(URL.self, value) { return .string(url.absoluteString) }
        if let json = exactly(JSONValue.self, value) { return .json(json) }
        if let object = exactly(JSONObject.self, value) { return .json(.object(object)) }
        if let decimal = exactly(Decimal.self, value) {
            return try finite(decimal.isNaN ? nil : JSONNumber(literal: decimal.description).map(JSONScalar.number))
        }
        return nil
    }

    private static func exactly<Value, Wanted>(_ type: Wanted.Type, _ value: Value) -> Wanted? {
        Value.self == type ? value as? Wanted : nil
    }

    private static func seconds(_ date: Date) throws(NotFinite) -> JSONScalar {
        let seconds = date.timeIntervalSince1970
        guard NumericDate.range.contains(seconds) else { throw NotFinite(reason: NumericDate.isOutside) }
        return try finite(JSONScalar(seconds))
    }

    private static func finite(_ scalar: JSONScalar?) throws(NotFinite) -> JSONScalar {
        guard let scalar else { throw NotFinite() }
        return scalar
    }

    struct NotFinite: Error {
        var reason = "JSON has no infinity and no NaN."
    }
}

extension JSONOutput {
    mutating func append(_ scalar: JSONScalar) {
        switch scalar {
        case .null: append(literal: "null")
        case .bool(let bool): append(literal: bool ? "true" : "false")
        case .number(let number): append(literal: number.literal)
        case .string(let string): append(quoted: string)
        case .strings(let strings):
            append(UInt8(ascii: "["))
            for index in strings.indices {
                if index > 0 { append(UInt8(ascii: ",")) }
                append(quoted: strings[index])
            }
            append(UInt8(ascii: "]"))
        case .json(let value):
            var writer = JSONWriter()
            writer.write(value)
            append(writer.finished().span)
        }
    }
}

/// A step of a coding path without a coding key of the type: an array index, or `super`.
struct JSONPathKey: CodingKey {
    private let name: String?
    let intValue: Int?

    init(stringValue: String) {
        name = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        name = nil
        self.intValue = intValue
    }

    var stringValue: String { name ?? "Index \(intValue ?? 0)" }
}
