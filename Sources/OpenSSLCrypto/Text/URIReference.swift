/// The five parts of a URI or relative reference
/// ([RFC 3986 §3](https://www.rfc-editor.org/rfc/rfc3986#section-3)).
///
/// It replaces Foundation's resolution, because a `Location` decides where credentials go.
package struct URIReference {
    package var scheme: String?
    package var authority: String?
    package var path: String
    package var query: String?
    package var fragment: String?

    /// Every text is valid
    /// ([RFC 3986 Appendix B](https://www.rfc-editor.org/rfc/rfc3986#appendix-B)).
    package init(_ text: String) {
        // By bytes: a combining character after a delimiter belongs to the following part.
        let bytes = text.utf8.span
        let hash = bytes.firstOffset(of: UInt8(ascii: "#"), from: 0) ?? bytes.count
        if hash < bytes.count { fragment = Self.part(of: text, hash + 1..<bytes.count) }
        let end = bytes.extracting(first: hash).firstOffset(of: UInt8(ascii: "?"), from: 0) ?? hash
        if end < hash { query = Self.part(of: text, end + 1..<hash) }
        var start = 0
        if let colon = bytes.extracting(first: end).firstOffset(of: UInt8(ascii: ":"), from: 0),
            Self.isScheme(bytes.extracting(first: colon))
        {
            scheme = Self.part(of: text, 0..<colon)
            start = colon + 1
        }
        if start + 1 < end, bytes[start] == UInt8(ascii: "/"), bytes[start + 1] == UInt8(ascii: "/") {
            start += 2
            let slash = bytes.extracting(first: end).firstOffset(of: UInt8(ascii: "/"), from: start) ?? end
            authority = Self.part(of: text, start..<slash)
            start = slash
        }
        path = Self.part(of: text, start..<end)
    }

    private static func part(of text: String, _ range: Range<Int>) -> String {
        let start = text.utf8.index(text.utf8.startIndex, offsetBy: range.lowerBound)
        return String(Substring(text.utf8[start..<text.utf8.index(start, offsetBy: range.count)]))
    }

    /// [RFC 3986 §5.3](https://www.rfc-editor.org/rfc/rfc3986#section-5.3).
    package var text: String {
        var text = ""
        if let scheme { text += scheme + ":" }
        if let authority { text += "//" + authority }
        text += path
        if let query { text += "?" + query }
        if let fragment { text += "#" + fragment }
        return text
    }

    /// [RFC 3986 §5.2.2](https://www.rfc-editor.org/rfc/rfc3986#section-5.2.2).
    package func resolved(against base: Self) -> Self {
        var target = self
        if scheme == nil {
            target.scheme = base.scheme
            if authority == nil {
                target.authority = base.authority
                if path.isEmpty {
                    target.path = base.path
                    target.query = query ?? base.query
                    return target
                }
                if path.utf8.first != UInt8(ascii: "/") { target.path = base.merging(path) }
            }
        }
        target.path = Self.removingDotSegments(target.path)
        return target
    }

    private func merging(_ relative: String) -> String {
        if authority != nil, path.isEmpty { return "/" + relative }
        guard let slash = path.unicodeScalars.lastIndex(of: "/") else { return relative }
        return String(path.unicodeScalars[...slash]) + relative
    }

    /// [RFC 3986 §5.2.4](https://www.rfc-editor.org/rfc/rfc3986#section-5.2.4).
    package static func removingDotSegments(_ path: String) -> String {
        let isAbsolute = path.utf8.first == UInt8(ascii: "/")
        var segments: [Substring.UTF8View] = []
        let all = path.utf8.dropFirst(isAbsolute ? 1 : 0)
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for (index, segment) in all.enumerated() {
            let isDots = segment.count <= 2 && segment.allSatisfy { $0 == UInt8(ascii: ".") }
            guard isDots, !segment.isEmpty else {
                segments.append(segment)
                continue
            }
            if segment.count == 2 { _ = segments.popLast() }
            if index == all.count - 1 { segments.append("".dropFirst().utf8) }
        }
        return (isAbsolute ? "/" : "") + segments.map { Substring($0) }.joined(separator: "/")
    }

    /// A scheme contains no slash.
    private static func isScheme(_ text: Span<UInt8>) -> Bool {
        guard !text.isEmpty, (0x61...0x7A).contains(text[0] | 0x20) else { return false }
        return text.indices.allSatisfy { index in
            let byte = text[index]
            return (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || "+-.".utf8.contains(byte)
        }
    }
}

/// The host and the port of an `http` or `https` URI
/// ([RFC 9110 §4.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-4.2.3)).
package struct HTTPAuthority {
    /// As written, with the brackets of an IP literal, whose content isn't checked.
    package let host: String
    /// `nil` for the scheme's default port.
    package private(set) var port: UInt16?

    package init(_ text: String, scheme: String) throws(MalformedURI) {
        guard !text.utf8.contains(UInt8(ascii: "@")) else { throw MalformedURI(reason: "has user information") }
        var host = text[...]
        var digits: Substring = ""
        // The colons of an IPv6 address are inside brackets.
        let bracket = text.utf8.lastIndex(of: UInt8(ascii: "]")) ?? text.startIndex
        if let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")), bracket <= colon {
            host = text[..<colon]
            digits = text[text.utf8.index(after: colon)...]
        }
        guard Self.isHost(host.utf8) else { throw MalformedURI(reason: "has no host, or a malformed one") }
        self.host = String(host)
        guard !digits.isEmpty else { return }
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(digits) else {
            throw MalformedURI(reason: "has a port that isn't a number up to 65535")
        }
        if number != (scheme == "https" ? 443 : 80) { port = number }
    }

    private static func isHost(_ host: Substring.UTF8View) -> Bool {
        let isLiteral = host.first == UInt8(ascii: "[")
        let content = isLiteral ? host.dropFirst().dropLast() : host
        let delimiters = isLiteral ? "[]" : "[]:"
        return isLiteral == (host.last == UInt8(ascii: "]")) && !content.isEmpty
            && !content.contains(where: delimiters.utf8.contains)
    }
}

package struct MalformedURI: Error {
    package let reason: String

    package init(reason: String) {
        self.reason = reason
    }
}

extension UInt8 {
    /// [RFC 3986 §2.3](https://www.rfc-editor.org/rfc/rfc3986#section-2.3).
    @inlinable
    package var isUnreserved: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// A character of a path, a query or a fragment.
    @inlinable
    package var isURICharacter: Bool {
        switch self {
        case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&")...UInt8(ascii: ","), UInt8(ascii: ";"),
            UInt8(ascii: "="), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "/"), UInt8(ascii: "?"):
            true
        default: isUnreserved
        }
    }
    @inlinable
    package var hexadecimalValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension Collection<UInt8> {
    /// In lower case.
    package var hexadecimal: String {
        reduce(into: "") { text, octet in
            text += String(octet >> 4, radix: 16)
            text += String(octet & 0x0F, radix: 16)
        }
    }
}
