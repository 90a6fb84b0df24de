/// Base64url without padding ([RFC 7515 §2](https://www.rfc-editor.org/rfc/rfc7515#section-2)).
///
/// Decoding is strict, so that one sequence of bytes has exactly one spelling: only the URL-safe alphabet, no padding,
/// no white space, unused bits zero ([RFC 4648 §3.5](https://www.rfc-editor.org/rfc/rfc4648#section-3.5)).
package enum Base64URL {
    /// Encodes bytes.
    package static func encode(_ bytes: RawSpan) -> String {
        encode(Span<UInt8>(_bytes: bytes))
    }

    /// Encodes bytes.
    package static func encode(_ bytes: [UInt8]) -> String {
        encode(bytes.span)
    }

    /// Encodes bytes.
    package static func encode(_ bytes: Span<UInt8>) -> String {
        var output: [UInt8] = []
        encode(bytes, into: &output)
        return String(decoding: output, as: UTF8.self)
    }

    /// Encodes bytes and appends the text to a buffer.
    package static func encode(_ bytes: Span<UInt8>, into output: inout [UInt8]) {
        output.reserveCapacity(output.count + (bytes.count * 4 + 2) / 3)
        let symbols = alphabet.span
        var index = 0
        while index + 2 < bytes.count {
            let group =
                UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2])
            output.append(symbols[Int(group >> 18)])
            output.append(symbols[Int(group >> 12 & 63)])
            output.append(symbols[Int(group >> 6 & 63)])
            output.append(symbols[Int(group & 63)])
            index += 3
        }
        switch bytes.count - index {
        case 1:
            let group = UInt32(bytes[index])
            output.append(symbols[Int(group >> 2)])
            output.append(symbols[Int(group << 4 & 63)])
        case 2:
            let group = UInt32(bytes[index]) << 8 | UInt32(bytes[index + 1])
            output.append(symbols[Int(group >> 10)])
            output.append(symbols[Int(group >> 4 & 63)])
            output.append(symbols[Int(group << 2 & 63)])
        default:
            break
        }
    }

    /// Decodes text.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken`; its message has the place, not the text.
    package static func decode(_ text: String) throws(TokenError) -> [UInt8] {
        try decode(Array(text.utf8).span)
    }

    /// Decodes text that is given as ASCII bytes.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken`; its message has the place, not the text.
    package static func decode(_ text: RawSpan) throws(TokenError) -> [UInt8] {
        try decode(Span<UInt8>(_bytes: text))
    }

    /// Decodes text that is given as ASCII bytes.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken`; its message has the place, not the text.
    package static func decode(_ text: Span<UInt8>) throws(TokenError) -> [UInt8] {
        guard text.count % 4 != 1 else {
            throw TokenError(.malformedToken, "\(text.count) characters can't be base64url: one is missing or too many")
        }
        let values = Self.values.span
        var output: [UInt8] = []
        output.reserveCapacity(text.count / 4 * 3 + 2)
        var group: UInt32 = 0
        var index = 0
        let whole = text.count & ~3
        while index < whole {
            let a = values[Int(text[index])]
            let b = values[Int(text[index + 1])]
            let c = values[Int(text[index + 2])]
            let d = values[Int(text[index + 3])]
            guard (a | b | c | d) < 64 else { throw foreignCharacter(in: text, from: index) }
            group = UInt32(a) << 18 | UInt32(b) << 12 | UInt32(c) << 6 | UInt32(d)
            output.append(UInt8(truncatingIfNeeded: group >> 16))
            output.append(UInt8(truncatingIfNeeded: group >> 8))
            output.append(UInt8(truncatingIfNeeded: group))
            index += 4
        }
        guard index < text.count else { return output }
        group = 0
        for place in index..<text.count {
            let value = values[Int(text[place])]
            guard value < 64 else { throw foreignCharacter(in: text, from: index) }
            group = group << 6 | UInt32(value)
        }
        let unusedBits: UInt32 = text.count - index == 2 ? 4 : 2
        guard group & (1 << unusedBits - 1) == 0 else {
            throw TokenError(.malformedToken, "the last base64url character has bits set that must be zero")
        }
        group >>= unusedBits
        if unusedBits == 2 { output.append(UInt8(truncatingIfNeeded: group >> 8)) }
        output.append(UInt8(truncatingIfNeeded: group))
        return output
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Per byte the value it stands for; 255 if it stands for none.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, symbol) in alphabet.enumerated() { values[Int(symbol)] = UInt8(value) }
        return values
    }()

    private static func foreignCharacter(in text: Span<UInt8>, from start: Int) -> TokenError {
        var index = start
        while index < text.count, values[Int(text[index])] < 64 { index += 1 }
        let hint =
            switch index < text.count ? text[index] : 0 {
            case UInt8(ascii: "="): "remove the padding"
            case UInt8(ascii: "+"), UInt8(ascii: "/"): "this is standard base64, use its URL-safe alphabet"
            default: "only A–Z, a–z, 0–9, - and _ are allowed"
            }
        return TokenError(.malformedToken, "character \(index + 1) is not base64url: \(hint)")
    }
}
