/// The character classes of structured fields
/// ([RFC 9651 appendix C](https://www.rfc-editor.org/rfc/rfc9651#appendix-C)).
package enum StructuredFieldSyntax {
    package static func isKey(_ text: String) -> Bool {
        guard let first = text.utf8.first, startsKey(first) else { return false }
        return text.utf8.allSatisfy(isKeyByte)
    }

    static func startsKey(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "*")
    }

    static func isKeyByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."): true
        default: startsKey(byte)
        }
    }

    static func startsToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "*"): true
        default: false
        }
    }

    static func isTokenByte(_ byte: UInt8) -> Bool {
        HTTPSyntax.isTokenByte(byte) || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "/")
    }

    /// Returns whether a string can contain a byte, if necessary escaped.
    static func isPrintable(_ byte: UInt8) -> Bool { (0x20...0x7E).contains(byte) }

    /// Returns whether a byte is a base64 digit
    /// ([RFC 4648 §4](https://www.rfc-editor.org/rfc/rfc4648#section-4)).
    static func isBase64Digit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }
}
