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
    package var isLoopback: Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]" { return true }
        let octets = host.split(separator: ".", omittingEmptySubsequences: false)
        return octets.count == 4 && octets[0] == "127" && octets.allSatisfy(Self.isOctet)
    }

    private static func isOctet(_ text: Substring) -> Bool {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } && UInt8(text) != nil
    }
}

extension HTTPOrigin: CustomStringConvertible {
    /// `host:port`, fit for a message: it never has user information, a path or a query.
    package var description: String { "\(host):\(port)" }
}
