package import Foundation

/// Scheme, host and port: what decides whether two requests may share a connection
/// ([RFC 9110 §4.3.1](https://www.rfc-editor.org/rfc/rfc9110#section-4.3.1)).
package struct HTTPOrigin: Hashable, Sendable {
    /// `http` or `https`.
    package let scheme: String
    /// The host in lower case; an IPv6 address is in brackets.
    package let host: String
    /// The port, the scheme's own if the URL has none.
    package let port: Int

    /// Reads the origin of an absolute `http` or `https` URL; `nil` if it is none.
    package init?(_ url: URL) {
        guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https" else { return nil }
        guard let host = url.host?.lowercased(), !host.isEmpty else { return nil }
        self.scheme = scheme
        self.host = host.utf8.contains(UInt8(ascii: ":")) && host.utf8.first != UInt8(ascii: "[") ? "[\(host)]" : host
        self.port = url.port ?? (scheme == "https" ? 443 : 80)
    }

    /// Reads the origin of an absolute `http` or `https` URL, in one pass over its text where that will do; `nil` if it is none.
    package init?(quickly url: URL) {
        if let origin = Self(plain: url.absoluteString) { self = origin } else { self.init(url) }
    }

    /// Reads the origin of a URL's text in one pass, if the URL is of the form that most have.
    ///
    /// That is: in lower case up to the path, a host of letters, digits, dots and hyphens, perhaps a port, and no character
    /// that two parsers could read differently. For all others this is `nil`, whatever they are.
    init?(plain text: String) {
        var text = text
        guard let origin = text.withUTF8({ utf8 in unsafe Self.scan(utf8.span) }) else { return nil }
        self = origin
    }

    private static func scan(_ text: Span<UInt8>) -> Self? {
        let isSecure = text.count > 8 && text[4] == UInt8(ascii: "s")
        let prefix: StaticString = isSecure ? "https://" : "http://"
        var index = 0
        while index < prefix.utf8CodeUnitCount {
            guard index < text.count, unsafe text[index] == prefix.utf8Start[index] else { return nil }
            index += 1
        }
        let start = index
        while index < text.count, isPlainHostByte(text[index]) { index += 1 }
        let end = index
        guard end > start else { return nil }
        var port = isSecure ? 443 : 80
        if index < text.count, text[index] == UInt8(ascii: ":") {
            port = 0
            index += 1
            while index < text.count, (0x30...0x39).contains(text[index]), port <= 65535 {
                port = port * 10 + Int(text[index] & 0x0F)
                index += 1
            }
            guard (1...65535).contains(port) else { return nil }
        }
        guard index == text.count || [0x2F, 0x3F, 0x23].contains(text[index]) else { return nil }
        while index < text.count {
            guard text[index] > 0x20, text[index] < 0x7F, text[index] != UInt8(ascii: "\\") else { return nil }
            index += 1
        }
        guard let host = try? UTF8Span(validating: text.extracting(start..<end)) else { return nil }
        return Self(scheme: isSecure ? "https" : "http", host: String(copying: host), port: port)
    }

    private static func isPlainHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
            UInt8(ascii: "-"):
            true
        default: false
        }
    }

    private init(scheme: String, host: String, port: Int) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    /// The host without the brackets of an IPv6 address.
    var plainHost: String {
        host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    }

    /// Whether the host is this machine by its name or address.
    package var isLoopback: Bool { Self.isLoopback(host: host) }

    /// Returns whether a host is this machine by its name or address.
    ///
    /// The host is in lower case, and an IPv6 address is in brackets.
    static func isLoopback(host: String) -> Bool {
        switch host.utf8.last {
        case UInt8(ascii: "t"): return host == "localhost" || host.hasSuffix(".localhost")
        case UInt8(ascii: "]"): return host == "[::1]"
        default: return host.utf8.starts(with: "127.".utf8) && isAddress(host.utf8)
        }
    }

    /// Whether a text is four numbers of at most 255 with periods between them.
    private static func isAddress(_ text: String.UTF8View) -> Bool {
        var periods = 0
        var number: Int?
        for byte in text {
            if byte == UInt8(ascii: "."), number != nil {
                periods += 1
                number = nil
            } else {
                guard (0x30...0x39).contains(byte) else { return false }
                let value = (number ?? 0) * 10 + Int(byte & 0x0F)
                guard value <= 255 else { return false }
                number = value
            }
        }
        return periods == 3 && number != nil
    }
}

extension HTTPOrigin: CustomStringConvertible {
    /// `host:port`, fit for a message: it never has user information, a path or a query.
    package var description: String { "\(host):\(port)" }
}
