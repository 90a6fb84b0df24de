import Foundation

/// A parser of `application/x-www-form-urlencoded` text that never fails.
enum FormText {
    /// Returns the names and values, in order; a name without `=` has no value.
    static func items(in text: some Sequence<UInt8>) -> [URLQueryItem] {
        Array(text).split(separator: UInt8(ascii: "&")).map { pair in
            let equals = pair.firstIndex(of: UInt8(ascii: "="))
            return URLQueryItem(
                name: decoded(pair[..<(equals ?? pair.endIndex)]),
                value: equals.map { decoded(pair[($0 + 1)...]) }
            )
        }
    }

    /// Decodes `+` and percent escapes, and keeps invalid escapes.
    static func decoded(_ text: ArraySlice<UInt8>) -> String {
        var result: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"):
                result.append(0x20)
            case UInt8(ascii: "%"):
                let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
                guard digits.count == 2 else { fallthrough }
                result.append(UInt8(digits[0] * 16 + digits[1]))
                rest = rest.dropFirst(2)
            default:
                result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
