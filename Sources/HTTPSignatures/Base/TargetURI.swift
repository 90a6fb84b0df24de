import Networking

/// The target URI of a request, normalized as far as its components need it
/// ([RFC 9110 §4.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-4.2.3)).
///
/// The scheme and the host are in lowercase, the default port is omitted, and an empty path is `/`.
/// Nothing is decoded, because two URLs that differ in their escapes may lead to different
/// resources.
struct TargetURI {
    /// `http` or `https`.
    let scheme: String
    /// The host, with the port unless it's the default.
    let authority: String
    let path: String
    /// The query without its question mark, or `nil`.
    let query: String?

    /// Parses an absolute `http` or `https` URL.
    ///
    /// - Throws: ``Malformed``.
    init(_ url: String) throws(Malformed) {
        guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else {
            throw Malformed(reason: "has a character that must be percent-encoded or, in the host, in the IDNA form")
        }
        let parts = URIReference(url)
        guard let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https",
            let authority = parts.authority
        else { throw Malformed(reason: "isn't an absolute http or https URL") }
        // On a server, a fragment would be a part of the target that no component covers.
        guard parts.fragment == nil else { throw Malformed(reason: "has a fragment, which is never sent") }
        self.scheme = scheme
        self.authority = try Self.normalized(authority, scheme: scheme)
        path = parts.path.isEmpty ? "/" : parts.path
        query = parts.query
    }

    /// The URI.
    var text: String { scheme + "://" + authority + requestTarget }

    /// The path and the query, the usual request target.
    var requestTarget: String { query.map { path + "?" + $0 } ?? path }

    struct Malformed: Error {
        let reason: String
    }

    /// Returns the path and the query of a request target in any of its forms
    /// ([RFC 9112 §3.2](https://www.rfc-editor.org/rfc/rfc9112#section-3.2)).
    static func pathAndQuery(of target: String) -> String {
        if target.utf8.first == UInt8(ascii: "/") { return target }
        var parts = URIReference(target)
        guard parts.authority != nil else { return "" }
        if parts.path.isEmpty { parts.path = "/" }
        (parts.scheme, parts.authority) = (nil, nil)
        return parts.text
    }

    /// Returns the URL as it's sent: without its fragment, and with the authority of a `Host`
    /// field.
    static func sent(_ url: String, host: String?) -> String {
        guard host != nil || url.utf8.contains(UInt8(ascii: "#")) else { return url }
        var parts = URIReference(url)
        parts.fragment = nil
        if let host { parts.authority = host }
        return parts.text
    }

    private static func normalized(_ authority: String, scheme: String) throws(Malformed) -> String {
        guard !authority.utf8.contains(UInt8(ascii: "@")) else { throw Malformed(reason: "has user information") }
        var host = authority[...]
        var port: Substring?
        let bracket = authority.utf8.lastIndex(of: UInt8(ascii: "]"))
        if let colon = authority.utf8.lastIndex(of: UInt8(ascii: ":")), bracket.map({ $0 < colon }) ?? true {
            host = authority[..<colon]
            port = authority[authority.utf8.index(after: colon)...]
        }
        guard isHost(host) else { throw Malformed(reason: "has no host, or a malformed one") }
        guard let port, !port.isEmpty else { return withoutZone(host.lowercased()) }
        guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(port) else {
            throw Malformed(reason: "has a port that isn't a number up to 65535")
        }
        let isDefault = number == (scheme == "https" ? 443 : 80)
        return withoutZone(host.lowercased()) + (isDefault ? "" : ":\(number)")
    }

    private static func isHost(_ host: Substring) -> Bool {
        let isLiteral = host.utf8.first == UInt8(ascii: "[")
        guard !host.isEmpty, isLiteral == (host.utf8.last == UInt8(ascii: "]")) else { return false }
        let content = isLiteral ? host.dropFirst().dropLast() : host
        return !content.isEmpty
            && content.utf8.allSatisfy { byte in
                byte != UInt8(ascii: "[") && byte != UInt8(ascii: "]") && (isLiteral || byte != UInt8(ascii: ":"))
            }
    }

    /// Removes the zone of an IPv6 address, which is local to the client and never sent
    /// ([RFC 6874 §4](https://www.rfc-editor.org/rfc/rfc6874#section-4)).
    private static func withoutZone(_ host: String) -> String {
        guard host.utf8.first == UInt8(ascii: "["), let sign = host.utf8.firstIndex(of: UInt8(ascii: "%")) else {
            return host
        }
        return host[..<sign] + "]"
    }
}
