import Foundation
import TokenGeneration

/// How the secret of an HMAC algorithm is written.
enum SecretEncoding: String, CaseIterable, ArgumentValue {
    case text
    case base64
    case base64url
    case hex

    /// The secret's octets.
    ///
    /// - Parameter written: What a file or a variable holds. A line break at its end is the editor's, not the secret's.
    /// - Returns: The octets, or `nil` if it is not written so.
    func octets(_ written: [UInt8]) -> [UInt8]? {
        let line = Self.withoutLineBreak(written)
        switch self {
        case .text: return Array(line)
        case .base64: return Self.base64(line)
        case .base64url: return String(validating: line, as: UTF8.self).flatMap { try? Base64URL.decode($0) }
        case .hex: return Self.hexadecimal(line)
        }
    }

    /// A description of the encoding, for error messages.
    var expectation: String {
        switch self {
        case .text: "text"
        case .base64: "base64: A-Z, a-z, 0-9, + and /, with = up to a multiple of four, without white space"
        case .base64url: "base64url: A-Z, a-z, 0-9, - and _, without = and white space"
        case .hex: "hex: pairs of 0-9 and a-f, without white space"
        }
    }

    /// Decodes base64 that has the one spelling that these octets have (RFC 4648 §3.5).
    private static func base64(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard let octets = Data(base64Encoded: Data(text)), octets.base64EncodedData() == Data(text) else { return nil }
        return Array(octets)
    }

    /// The octets without one line break at their end.
    static func withoutLineBreak(_ octets: [UInt8]) -> ArraySlice<UInt8> {
        guard octets.last == 0x0A else { return octets[...] }
        return octets.dropLast(octets.dropLast().last == 0x0D ? 2 : 1)
    }

    private static func hexadecimal(_ digits: ArraySlice<UInt8>) -> [UInt8]? {
        guard digits.count.isMultiple(of: 2) else { return nil }
        var octets: [UInt8] = []
        var rest = digits
        while let high = rest.popFirst(), let low = rest.popFirst() {
            guard let first = digit(high), let second = digit(low) else { return nil }
            octets.append(first << 4 | second)
        }
        return octets
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
