internal import OpenSSLCrypto

/// The URL of an HTTP request as DPoP compares it: normalized, without query and fragment
/// ([RFC 9449 §4.3](https://www.rfc-editor.org/rfc/rfc9449#section-4.3),
/// [RFC 3986 §6.2.2–6.2.3](https://www.rfc-editor.org/rfc/rfc3986#section-6.2.2)).
///
/// `HTTPS://Example.org:443/a/./b/%7euser?x=1` and `https://example.org/a/b/~user` are the same.
package struct HTTPTarget: Equatable {
    package let text: String

    /// Returns `nil` for anything but an absolute `http` or `https` URI, and for one with user
    /// information or invalid characters.
    package init?(_ uri: String) {
        let parts = URIReference(uri)
        guard let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https",
            let authority = try? HTTPAuthority(parts.authority ?? "", scheme: scheme),
            let host = Self.normalized(host: authority.host), let path = Self.normalized(parts.path),
            // The query and the fragment must be valid, too, even though they are dropped.
            Self.normalized(parts.query ?? "") != nil, Self.normalized(parts.fragment ?? "") != nil
        else { return nil }
        let port = authority.port.map { ":\($0)" } ?? ""
        text = "\(scheme)://\(host)\(port)\(path.isEmpty ? "/" : URIReference.removingDotSegments(path))"
    }

    /// Returns the URL otherwise unchanged, or `nil` if ``init(_:)`` rejects it.
    package static func withoutQuery(_ uri: String) -> String? {
        var uri = uri
        if let end = uri.withUTF8({ utf8 in unsafe plainEnd(utf8.span) }) { return String(uri.utf8.prefix(end)) }
        guard HTTPTarget(uri) != nil else { return nil }
        return String(uri.unicodeScalars.prefix { $0 != "?" && $0 != "#" })
    }

    /// Returns the end of the path of a URI in the most common form: lowercase up to the path, with
    /// a host of letters, digits, dots and hyphens, an optional port, and no percent-encoding.
    private static func plainEnd(_ uri: Span<UInt8>) -> Int? {
        let isSecure = uri.count > 8 && uri[4] == UInt8(ascii: "s")
        let prefix: StaticString = isSecure ? "https://" : "http://"
        var index = 0
        while index < prefix.utf8CodeUnitCount {
            guard index < uri.count, unsafe uri[index] == prefix.utf8Start[index] else { return nil }
            index += 1
        }
        let host = index
        while index < uri.count, uri[index].isPlainHostByte { index += 1 }
        guard index > host else { return nil }
        if index < uri.count, uri[index] == UInt8(ascii: ":") {
            var port = 0
            index += 1
            let digits = index
            while index < uri.count, uri[index].isDigit, index - digits < 6 {
                port = port * 10 + Int(uri[index] & 0x0F)
                index += 1
            }
            guard port <= 65_535 else { return nil }
        }
        guard index == uri.count || "/?#".utf8.contains(uri[index]) else { return nil }
        var end: Int?
        while index < uri.count {
            let byte = uri[index]
            guard isAllowed(byte) else { return nil }
            if end == nil, byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { end = index }
            index += 1
        }
        return end ?? uri.count
    }

    private static func normalized(host: String) -> String? {
        guard host.utf8.first == UInt8(ascii: "[") else { return normalized(host)?.lowercased() }
        let isAddress = host.utf8.dropFirst().dropLast().allSatisfy {
            $0.hexadecimalValue != nil || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
        }
        return isAddress ? host.lowercased() : nil
    }

    /// Decodes unreserved characters and writes other escapes in uppercase; returns `nil` if a byte
    /// isn't allowed in a URI.
    private static func normalized(_ text: String) -> String? {
        var result: [UInt8] = []
        result.reserveCapacity(text.utf8.count)
        var bytes = text.utf8.makeIterator()
        while let byte = bytes.next() {
            guard byte == UInt8(ascii: "%") else {
                guard isAllowed(byte) else { return nil }
                result.append(byte)
                continue
            }
            guard let first = bytes.next(), let second = bytes.next(), let high = first.hexadecimalValue,
                let low = second.hexadecimalValue
            else { return nil }
            let value = high << 4 | low
            if value.isUnreserved {
                result.append(value)
            } else {
                result += [byte, first.uppercased, second.uppercased]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool { byte.isURICharacter || byte == UInt8(ascii: "#") }
}

extension UInt8 {
    fileprivate var uppercased: UInt8 { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) ? self & 0xDF : self }

    fileprivate var isPlainHostByte: Bool {
        isUnreserved && self == lowercased && self != UInt8(ascii: "_") && self != UInt8(ascii: "~")
    }
}
