/// A writer for PEM ([RFC 7468](https://www.rfc-editor.org/rfc/rfc7468)).
enum PEMWriter {
    /// Returns a block with lines of 64 characters and a trailing line break.
    ///
    /// Writes directly into the string's storage to avoid another copy of a private key.
    static func text(_ label: StaticString, _ contents: RawSpan) -> String {
        let digits = (contents.byteCount + 2) / 3 * 4
        let lines = (digits + lineLength - 1) / lineLength
        let capacity = digits + lines + 2 * (16 + label.utf8CodeUnitCount)
        return String(utf8Capacity: capacity) { output in
            append("-----BEGIN \(label)-----\n", to: &output)
            appendBase64(contents, to: &output)
            append("-----END \(label)-----\n", to: &output)
        }
    }

    private static let lineLength = 64
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static func append(_ text: String, to output: inout OutputSpan<UInt8>) {
        for character in text.utf8 {
            output.append(character)
        }
    }

    @_lifetime(output: copy output)
    private static func appendBase64(_ contents: RawSpan, to output: inout OutputSpan<UInt8>) {
        var column = 0
        for start in stride(from: 0, to: contents.byteCount, by: 3) {
            let count = min(3, contents.byteCount - start)
            var group: UInt32 = 0
            for index in 0..<3 {
                group = group << 8 | (index < count ? UInt32(contents[start + index]) : 0)
            }
            for index in 0..<4 {
                let digit = Int(group >> (18 - 6 * index)) & 0x3F
                output.append(index <= count ? alphabet[digit] : UInt8(ascii: "="))
            }
            column += 4
            if column == lineLength {
                output.append(UInt8(ascii: "\n"))
                column = 0
            }
        }
        if column > 0 {
            output.append(UInt8(ascii: "\n"))
        }
    }
}
