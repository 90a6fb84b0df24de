/// Sizes and headers of DER elements (X.690 §8.1).
enum DERWriter {
    /// Returns the size of an element with the given number of content bytes.
    static func size(ofElementWith contents: Int) -> Int {
        headerSize(contents) + contents
    }

    /// Appends the tag and length of an element with the given number of content bytes.
    static func appendHeader(_ tag: UInt8, size contents: Int, to output: inout OutputSpan<UInt8>) {
        output.append(tag)
        switch headerSize(contents) {
        case 2: break
        case 3: output.append(0x81)
        default:
            output.append(0x82)
            output.append(UInt8(truncatingIfNeeded: contents >> 8))
        }
        output.append(UInt8(truncatingIfNeeded: contents))
    }

    /// Appends an element with the contents `octets`.
    static func append(_ tag: UInt8, _ octets: [UInt8], to output: inout OutputSpan<UInt8>) {
        appendHeader(tag, size: octets.count, to: &output)
        octets.withBytes { output.append($0) }
    }

    /// Keys have at most a few thousand bytes, so two length bytes are enough.
    private static func headerSize(_ contents: Int) -> Int {
        contents < 0x80 ? 2 : contents < 0x100 ? 3 : 4
    }
}
