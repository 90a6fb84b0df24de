/// The character classes of RFC 9110 for requests.
///
/// Foundation and libcurl send a header field *name* with CR/LF unchanged, so they're checked here.
package enum HTTPSyntax {
    /// [RFC 9110 §5.6.2](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2).
    package static func isToken(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(isTokenByte)
    }

    /// Not generic, because generics aren't specialized across modules.
    package static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.span.allSatisfy(isTokenByte)
    }

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

    /// No control characters except the horizontal tab
    /// ([RFC 9110 §5.5](https://www.rfc-editor.org/rfc/rfc9110#section-5.5)).
    package static func isFieldValue(_ text: String) -> Bool {
        text.utf8.span.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
    }

    /// [RFC 9110 §11.2](https://www.rfc-editor.org/rfc/rfc9110#section-11.2); not generic, because
    /// generics aren't specialized across modules, and every token is checked.
    package static func isToken68(_ text: Substring) -> Bool {
        var (isEmpty, isPadded) = (true, false)
        let bytes = text.utf8.span
        for index in bytes.indices {
            let byte = bytes[index]
            if byte == UInt8(ascii: "=") {
                isPadded = true
            } else {
                guard !isPadded, isToken68Byte(byte) else { return false }
                isEmpty = false
            }
        }
        return !isEmpty
    }

    /// Equals signs are padding.
    package static func isToken68Byte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }

    /// Splits text at separators outside quoted strings, and trims white space.
    ///
    /// `isWhole` is `false` if a quotation mark has no counterpart.
    static func split(_ text: String, at separator: UInt8) -> (parts: [Substring], isWhole: Bool) {
        var parts: [Substring] = []
        var (start, isQuoted, isEscaped) = (text.startIndex, false, false)
        for index in text.utf8.indices {
            let byte = text.utf8[index]
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if isQuoted {
                isEscaped = byte == UInt8(ascii: "\\")
            } else if byte == separator {
                parts.append(text[start..<index].trimmingHTTPWhitespace)
                start = text.utf8.index(after: index)
            }
        }
        return (parts + [text[start...].trimmingHTTPWhitespace], !isQuoted)
    }

    /// Returns a `quoted-string`, with quotation marks and backslashes escaped
    /// ([RFC 9110 §5.6.4](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.4)).
    package static func quotedString(_ text: String) -> String {
        // By scalars: a quotation mark and a following combining mark form one character.
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted.unicodeScalars.append("\\") }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }
}

extension Substring {
    /// [RFC 9110 §5.5](https://www.rfc-editor.org/rfc/rfc9110#section-5.5).
    package var trimmingHTTPWhitespace: Substring {
        let text = utf8
        if let first = text.first, let last = text.last, !first.isHTTPWhitespace, !last.isHTTPWhitespace { return self }
        guard let first = text.firstIndex(where: { !$0.isHTTPWhitespace }),
            let last = text.lastIndex(where: { !$0.isHTTPWhitespace })
        else { return "" }
        return Substring(text[first...last])
    }
}

extension StringProtocol {
    /// The text with each non-ASCII byte replaced by a question mark.
    ///
    /// For text with an ASCII syntax: comparing combining characters takes quadratic time.
    package var asciiOnly: String {
        if utf8.allSatisfy({ $0 < 0x80 }) { return String(self) }
        return String(decoding: utf8.map { $0 < 0x80 ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }

    /// The non-empty parts between spaces.
    ///
    /// It splits bytes: splitting characters takes quadratic time for a run of combining ones.
    package var spaceSeparated: [String] {
        utf8.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension String {
    /// Returns the text with each occurrence of an ASCII character replaced.
    ///
    /// Foundation and the standard library replace whole characters. They don't find a quotation
    /// mark that a combining mark follows.
    package func replacingASCII(_ character: Unicode.Scalar, with other: String) -> String {
        utf8.split(separator: UInt8(ascii: character), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }.joined(separator: other)
    }

    /// The text as one word of a POSIX shell (IEEE 1003.1, 2.2.2).
    ///
    /// A tilde is quoted, because one at the start stands for a folder.
    package var shellQuoted: String {
        let isPlain =
            !isEmpty
            && utf8.allSatisfy { byte in
                PercentEncoding.isUnreserved(byte) && byte != UInt8(ascii: "~") || "/:@,+=".utf8.contains(byte)
            }
        return isPlain ? self : "'" + replacingASCII("'", with: "'\\''") + "'"
    }
}

extension Span<UInt8> {
    /// Faster than the iterators of `String.UTF8View`.
    @inline(__always)
    func allSatisfy(_ isValid: (UInt8) -> Bool) -> Bool {
        for index in indices where !isValid(self[index]) { return false }
        return true
    }

    /// Returns the count if the byte doesn't occur.
    func firstIndex(of byte: UInt8) -> Int {
        var index = 0
        while index < count, self[index] != byte { index += 1 }
        return index
    }

    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, self[start].isHTTPWhitespace { start += 1 }
        while end > start, self[end - 1].isHTTPWhitespace { end -= 1 }
        return start..<end
    }

    /// Returns UTF-8 text, or ISO 8859-1 if the bytes aren't UTF-8, so that no message is lost.
    func text(_ range: Range<Int>) -> String {
        if let valid = try? UTF8Span(validating: extracting(range)) { return String(copying: valid) }
        var text = ""
        for index in range { text.unicodeScalars.append(Unicode.Scalar(self[index])) }
        return text
    }
}

extension UInt8 {
    var isHTTPWhitespace: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
