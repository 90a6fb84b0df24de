package import Foundation
internal import OpenSSLCrypto

/// A URL's scheme, host and port, which determine whether two requests may share a connection
/// ([RFC 9110 §4.3.1](https://www.rfc-editor.org/rfc/rfc9110#section-4.3.1)).
package struct HTTPOrigin: Hashable, Sendable, CustomStringConvertible {
    /// `http` or `https`.
    package let scheme: String
    /// The host in lowercase, with brackets around an IPv6 address.
    package let host: String
    package let port: Int

    package init?(_ url: URL) {
        guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https" else { return nil }
        guard let host = url.host?.lowercased(), !host.isEmpty else { return nil }
        self.scheme = scheme
        self.host = host.utf8.contains(UInt8(ascii: ":")) && host.utf8.first != UInt8(ascii: "[") ? "[\(host)]" : host
        self.port = url.port ?? (scheme == "https" ? 443 : 80)
    }

    /// Without the brackets of an IPv6 address.
    var plainHost: String {
        host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    }

    /// A name or address of this machine.
    package var isLoopback: Bool { Self.isLoopback(host: host) }

    /// `host` is in lowercase, with IPv6 brackets.
    static func isLoopback(host: String) -> Bool {
        switch host.utf8.last {
        case UInt8(ascii: "t"): return host == "localhost" || host.hasSuffix(".localhost")
        case UInt8(ascii: "]"): return host == "[::1]"
        default: return host.utf8.starts(with: "127.".utf8) && IPAddress(host) != nil
        }
    }

    /// The text `host:port`, which never reveals user information, a path or a query in messages.
    package var description: String { "\(host):\(port)" }
}

extension IPAddress {
    /// Globally reachable unicast
    /// ([IPv4](https://www.iana.org/assignments/iana-ipv4-special-registry),
    /// [IPv6](https://www.iana.org/assignments/iana-ipv6-special-registry)).
    var isPublic: Bool {
        guard octets.count == 16 else { return Self.isPublic(ipv4: octets) }
        let words = stride(from: 0, to: 16, by: 2).map { UInt16(octets[$0]) << 8 | UInt16(octets[$0 + 1]) }
        // NAT64 (RFC 6052): the address of the IPv4 host is at the end.
        if words[0] == 0x64, words[1] == 0xFF9B, words[2...5].allSatisfy({ $0 == 0 }) {
            return Self.isPublic(ipv4: Array(octets[12...]))
        }
        guard words[0] & 0xE000 == 0x2000 else { return false }
        switch (words[0], words[1]) {
        // Protocol assignments, such as Teredo; documentation; 6to4.
        case (0x2001, 0...0x01FF), (0x2001, 0x0DB8), (0x2002, _), (0x3FFF, 0...0x0FFF): return false
        default: return true
        }
    }

    private static func isPublic(ipv4 octets: [UInt8]) -> Bool {
        switch (octets[0], octets[1], octets[2]) {
        case (0, _, _), (10, _, _), (127, _, _), (169, 254, _), (172, 16...31, _), (192, 168, _), (100, 64...127, _),
            (192, 0, 0), (192, 0, 2), (192, 88, 99), (198, 18...19, _), (198, 51, 100), (203, 0, 113),
            (224...255, _, _):
            false
        default: true
        }
    }
}
