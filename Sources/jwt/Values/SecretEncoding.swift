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
        case .base64: return Data(base64Encoded: Data(line)).map { Array($0) }
        case .base64url: return try? Base64URL.decode(String(decoding: line, as: UTF8.self))
        case .hex: return Self.hexadecimal(line)
        }
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
