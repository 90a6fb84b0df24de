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
