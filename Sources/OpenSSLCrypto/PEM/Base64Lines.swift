/// The base64 contents of a PEM block
/// ([RFC 4648 §4](https://www.rfc-editor.org/rfc/rfc4648#section-4)).
struct Base64Lines {
    private let lines: ArraySlice<Substring.UTF8View>
    private let firstLine: Int

    init(_ lines: ArraySlice<Substring.UTF8View>, firstLine: Int) {
        self.lines = lines
        self.firstLine = firstLine
    }

    /// Decodes the lines, which must have complete groups, padding only at the end, and no unused
    /// bits set.
    func decoded() throws(CryptoError) -> SecretBytes {
        let capacity = lines.reduce(0) { $0 + $1.count } / 4 * 3 + 3
        let contents = try SecretBytes(capacity: capacity) { output throws(CryptoError) in
            try decode(into: &output)
        }
        guard contents.count > 0 else {
            throw CryptoError(.malformedKey, "The PEM block at line \(firstLine) is empty")
        }
        return contents
    }

    private func decode(into output: inout OutputSpan<UInt8>) throws(CryptoError) {
        var bits: UInt32 = 0
        var digits = 0
        var padding = 0
        for (offset, line) in lines.enumerated() {
            for character in line {
                if character == UInt8(ascii: "=") {
                    padding += 1
                    continue
                }
                guard padding == 0, let digit = Self.digit(character) else {
                    throw CryptoError(.malformedKey, "Line \(firstLine + offset) of the PEM text isn't base64")
                }
                bits = bits << 6 | UInt32(digit)
                digits += 1
                if digits.isMultiple(of: 4) {
                    output.append(UInt8(truncatingIfNeeded: bits >> 16))
                    output.append(UInt8(truncatingIfNeeded: bits >> 8))
                    output.append(UInt8(truncatingIfNeeded: bits))
                    bits = 0
                }
            }
        }
        switch (digits % 4, padding) {
        case (0, 0): break
        case (2, 2) where bits & 0xF == 0:
            output.append(UInt8(truncatingIfNeeded: bits >> 4))
        case (3, 1) where bits & 0x3 == 0:
            output.append(UInt8(truncatingIfNeeded: bits >> 10))
            output.append(UInt8(truncatingIfNeeded: bits >> 2))
        default:
            throw CryptoError(
                .malformedKey,
                "The base64 of the PEM block that ends before line \(firstLine + lines.count) is truncated"
            )
        }
    }

    private static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
