import Foundation
import TokenGeneration

/// The encoding of an HMAC secret.
enum SecretEncoding: String, CaseIterable, NamedValue {
    case text
    case base64
    case base64url
    case hex

    /// Decodes a secret, or returns `nil` if the encoding is invalid.
    ///
    /// A line break at the end of a file or a variable isn't part of the secret.
    func octets(_ written: [UInt8]) -> [UInt8]? {
        let line = Self.withoutLineBreak(written)
        switch self {
        case .text: return Array(line)
        case .base64: return Self.base64(line)
        case .base64url: return String(validating: line, as: UTF8.self).flatMap { try? Base64URL.decode($0) }
        case .hex: return Self.hexadecimal(line)
        }
    }

    var expectation: String {
        switch self {
        case .text: "text"
        case .base64: "base64: A-Z, a-z, 0-9, + and /, padded with =, no white space"
        case .base64url: "base64url: A-Z, a-z, 0-9, - and _, no = or white space"
        case .hex: "hex: pairs of 0-9 and a-f, no white space"
        }
    }

    /// Decodes base64 in its canonical form (RFC 4648 §3.5).
    private static func base64(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard let octets = Data(base64Encoded: Data(text)), octets.base64EncodedData() == Data(text) else { return nil }
        return Array(octets)
    }

    /// Returns the bytes without a single line break at the end.
    static func withoutLineBreak(_ octets: [UInt8]) -> ArraySlice<UInt8> {
        guard octets.last == 0x0A else { return octets[...] }
        return octets.dropLast(octets.dropLast().last == 0x0D ? 2 : 1)
    }

    private static func hexadecimal(_ digits: ArraySlice<UInt8>) -> [UInt8]? {
        let values = digits.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard values.count == digits.count, values.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
    }
}
