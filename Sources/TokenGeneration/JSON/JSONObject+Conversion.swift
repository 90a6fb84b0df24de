internal import Foundation

extension JSONObject {
    /// Converts a dictionary of values that JSON can represent.
    ///
    /// - Throws: ``TokenError`` with the code `unencodableContent`. The message has the value's
    ///   path, starting with `path`.
    init(converting dictionary: [String: Any], path: String, depth: Int = 1) throws(TokenError) {
        try JSONValue.checkDepth(depth, path)
        self.init()
        for (name, value) in dictionary {
            self[name] = try JSONValue(converting: value, path: "\(path).\(name)", depth: depth)
        }
    }
}

extension JSONValue {
    fileprivate init(converting value: Any, path: String, depth: Int) throws(TokenError) {
        // Checks exact types first. Foundation bridges types: a `Bool` is also an `NSNumber`, and
        // an `NSNumber` 1 is also `true`.
        switch value {
        case let value as any BinaryInteger:
            self = .number(JSONNumber(value))
        case let value as any DirectlyConvertible:
            guard let converted = value.jsonValue else {
                throw TokenError(.unencodableContent, "\(path) isn't a finite number, so JSON can't represent it")
            }
            self = converted
        case let value as any OptionalValue:
            guard let wrapped = value.wrapped else {
                self = .null
                return
            }
            try self.init(converting: wrapped, path: path, depth: depth)
        default:
            try self.init(convertingOther: value, path: path, depth: depth)
        }
    }

    private init(convertingOther value: Any, path: String, depth: Int) throws(TokenError) {
        if type(of: value) is NSNumber.Type, let number = value as? NSNumber {
            self = try .init(number, path: path)
        } else if value is NSNull {
            self = .null
        } else if value is Date {
            throw TokenError(
                .unencodableContent,
                "\(path) is a Date, which isn't a JSON type; use date.timeIntervalSince1970 for a NumericDate"
            )
        } else if let string = value as? String {
            self = .string(string)
        } else if let elements = value as? [Any] {
            try JSONValue.checkDepth(depth + 1, path)
            var array: [JSONValue] = []
            for (index, element) in elements.enumerated() {
                array.append(try JSONValue(converting: element, path: "\(path)[\(index)]", depth: depth + 1))
            }
            self = .array(array)
        } else if let dictionary = value as? [String: Any] {
            self = .object(try JSONObject(converting: dictionary, path: path, depth: depth + 1))
        } else {
            throw TokenError(.unencodableContent, "\(path) is a \(type(of: value)), which isn't a JSON type")
        }
    }

    /// Converts an `NSNumber`, using `JSONSerialization` because only that can distinguish
    /// Booleans.
    private init(_ number: NSNumber, path: String) throws(TokenError) {
        guard number.doubleValue.isFinite,
            let json = try? JSONSerialization.data(withJSONObject: number, options: .fragmentsAllowed),
            let value = try? JSONParser.parse(Array(json), limits: .document)
        else {
            throw TokenError(.unencodableContent, "\(path) isn't a finite number, so JSON can't represent it")
        }
        self = value
    }

    fileprivate static func checkDepth(_ depth: Int, _ path: String) throws(TokenError) {
        guard depth <= JSONLimits.document.depth else {
            throw TokenError(.unencodableContent, "\(path) is nested deeper than \(JSONLimits.document.depth) levels")
        }
    }
}

/// A type whose values are JSON values.
private protocol DirectlyConvertible {
    /// The JSON value, or `nil` for a number that isn't finite.
    var jsonValue: JSONValue? { get }
}

extension String: DirectlyConvertible {
    fileprivate var jsonValue: JSONValue? { .string(self) }
}

extension Bool: DirectlyConvertible {
    fileprivate var jsonValue: JSONValue? { .bool(self) }
}

extension Double: DirectlyConvertible {
    fileprivate var jsonValue: JSONValue? { JSONNumber(self).map(JSONValue.number) }
}

extension Float: DirectlyConvertible {
    fileprivate var jsonValue: JSONValue? {
        // Converts via text, so that 0.1 doesn't become 0.10000000149011612.
        isFinite ? Double(description).flatMap(JSONNumber.init).map(JSONValue.number) : nil
    }
}

extension CGFloat: DirectlyConvertible {
    fileprivate var jsonValue: JSONValue? { Double(self).jsonValue }
}

extension Decimal: DirectlyConvertible {
    fileprivate var jsonValue: JSONValue? {
        isNaN ? nil : JSONNumber(literal: description).map(JSONValue.number)
    }
}

extension JSONValue: DirectlyConvertible {
    fileprivate var jsonValue: JSONValue? { self }
}

extension JSONObject: DirectlyConvertible {
    fileprivate var jsonValue: JSONValue? { .object(self) }
}

extension JSONNumber: DirectlyConvertible {
    fileprivate var jsonValue: JSONValue? { .number(self) }
}

/// An optional of any type.
private protocol OptionalValue {
    /// The wrapped value.
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    fileprivate var wrapped: Any? { map { $0 as Any } }
}
