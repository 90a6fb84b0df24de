package import Foundation
internal import OpenSSLCrypto

/// A URL's scheme, host and port, which determine whether two requests may share a connection
/// ([RFC 9110 §4.3.1](https://www.rfc-editor.org/rfc/rfc9110#section-4.3.1)).
package struct HTTPOrigin: Hashable, Sendable {
    /// `http` or `https`.
    package let scheme: String
    /// The host in lowercase, with brackets around an IPv6 address.
    package let host: String
    /// The port, which defaults to the scheme's.
    package let port: Int

    /// Creates the origin of an absolute `http` or `https` URL, or returns `nil` for any other URL.
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

    /// A Boolean value that indicates whether the host is a name or address of this machine.
    package var isLoopback: Bool { Self.isLoopback(host: host) }

    /// Returns whether a lowercase host, with IPv6 brackets, is a name or address of this machine.
    static func isLoopback(host: String) -> Bool {
        switch host.utf8.last {
        case UInt8(ascii: "t"): return host == "localhost" || host.hasSuffix(".localhost")
        case UInt8(ascii: "]"): return host == "[::1]"
        default: return host.utf8.starts(with: "127.".utf8) && IPAddress(host) != nil
        }
    }
}

extension HTTPOrigin: CustomStringConvertible {
    /// The text `host:port`, which never reveals user information, a path or a query in messages.
    package var description: String { "\(host):\(port)" }
}
