/// The character classes of RFC 9110 that decide what may stand in a request.
///
/// Foundation and libcurl both let a header *name* with CR/LF through to the wire, so each request is checked here.
package enum HTTPSyntax {
    /// Whether the text is a `token` ([RFC 9110 §5.6.2](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2)).
    package static func isToken(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(isTokenByte)
    }

    /// Whether the byte may stand in a `token`.
    package static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Whether the text may be a field value: no control characters but the horizontal tab
    /// ([RFC 9110 §5.5](https://www.rfc-editor.org/rfc/rfc9110#section-5.5)).
    package static func isFieldValue(_ text: some StringProtocol) -> Bool {
        text.utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
    }

    /// Whether the text is a `token68` ([RFC 9110 §11.2](https://www.rfc-editor.org/rfc/rfc9110#section-11.2)).
    ///
    /// Not generic: a server asks this of every access token, and a generic function is not specialized for another module.
    package static func isToken68(_ text: Substring) -> Bool {
        var (isEmpty, isPadded) = (true, false)
        for byte in text.utf8 {
            if byte == UInt8(ascii: "=") {
                isPadded = true
            } else {
                guard !isPadded, isToken68Byte(byte) else { return false }
                isEmpty = false
            }
        }
        return !isEmpty
    }

    /// Whether the byte may stand in a `token68` before its equals signs.
    package static func isToken68Byte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }

    /// The text as a `quoted-string` ([RFC 9110 §5.6.4](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.4)).
    ///
    /// - Parameter text: A field value, without control characters.
    /// - Returns: The text in quotation marks, with those in it escaped.
    package static func quotedString(_ text: String) -> String {
        // Scalars: a combining mark after a quotation mark makes another character of the two.
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted.unicodeScalars.append("\\") }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }
}

extension Substring {
    /// The text without the spaces and tabs around it, as a field value is meant
    /// ([RFC 9110 §5.5](https://www.rfc-editor.org/rfc/rfc9110#section-5.5)).
    package var trimmingHTTPWhitespace: Substring {
        let text = utf8
        if let first = text.first, let last = text.last, !first.isHTTPWhitespace, !last.isHTTPWhitespace { return self }
        guard let first = text.firstIndex(where: { !$0.isHTTPWhitespace }),
            let last = text.lastIndex(where: { !$0.isHTTPWhitespace })
        else { return "" }
        return Substring(text[first...last])
    }
}
