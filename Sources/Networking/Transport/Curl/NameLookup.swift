import Foundation
import Glibc
internal import OpenSSLCrypto

/// The name lookups of one transfer.
///
/// libcurl would start a thread for each lookup. Instead, it's told to fail when it's about to do
/// so, after it has checked for a kept connection and for known addresses. The engine then looks up
/// the name with a ``NameResolver`` and adds the transfer again with the addresses.
struct NameLookup {
    /// A name that a transfer needs, with the port under which libcurl stores its addresses.
    struct Name: Equatable {
        let host: String
        let port: Int
        /// A Boolean value that indicates whether the name is the proxy's.
        let isProxy: Bool
    }

    /// The maximum number of lookups for one transfer, including those for repeated connections.
    private static let maximumCount = 8

    /// A Boolean value that indicates whether libcurl failed because it needs a name lookup.
    var isWanted = false
    /// A Boolean value that indicates whether libcurl may resolve the next host, an IP address.
    var isAllowed = false
    /// The ticket for the lookup that the transfer is waiting for.
    var ticket: NameResolver.Ticket?
    /// The start time of the lookup that the transfer is waiting for.
    private(set) var begun: ContinuousClock.Instant?
    private var name: Name?
    private var count = 0
    private var lastAnswer: (name: Name, time: ContinuousClock.Instant)?
    /// The total time spent on lookups.
    private(set) var spent = Duration.zero
    /// The resolved names and addresses in libcurl's notation.
    private(set) var entries: [String] = []
    /// The list passed to libcurl, which must outlive the transfer.
    var lines: CurlLines?

    /// Starts waiting, or returns `false` if libcurl repeats a request for a name that was just
    /// resolved or has exceeded the maximum number of lookups.
    mutating func begin(_ name: Name, at now: ContinuousClock.Instant) -> Bool {
        if let lastAnswer, lastAnswer.name == name, now - lastAnswer.time < .seconds(5) { return false }
        guard count < Self.maximumCount else { return false }
        count += 1
        (self.name, begun) = (name, now)
        return true
    }

    /// Stops waiting, and returns the name that was looked up.
    mutating func end(at now: ContinuousClock.Instant) -> Name? {
        defer { (ticket, begun, name) = (nil, nil, nil) }
        if let begun { spent += now - begun }
        return name
    }

    /// Records the resolver's answer.
    ///
    /// libcurl caches it as long as its own results. It also stores a name that ends in a period
    /// under the name without the period.
    mutating func note(_ addresses: [String], of name: Name, at now: ContinuousClock.Instant) {
        lastAnswer = (name, now)
        let hosts = name.host.hasSuffix(".") ? [name.host, String(name.host.dropLast())] : [name.host]
        for host in hosts {
            entries.append("+" + CurlTransport.ResolverEntry(host: host, port: name.port, addresses: addresses).line)
        }
    }
}

extension CurlTransfer {
    /// Returns whether libcurl may resolve a name itself; if not, it fails with its own code.
    func mayLookUp() -> Bool {
        if nameLookup.isAllowed {
            nameLookup.isAllowed = false
            return true
        }
        // Shortcut for the common cases that don't need a lookup.
        let usesNoProxy = configuration.proxy == .none || configuration.proxy == .environment && origin.isLoopback
        if usesNoProxy, origin.isLoopback || IPAddress(origin.plainHost) != nil { return true }
        nameLookup.isWanted = true
        return false
    }

    /// Returns the name that libcurl was about to look up, or `nil` if it can't be determined.
    func wantedName(code: Int32, text: String) -> NameLookup.Name? {
        let proxy = proxyName
        if CurlFailure.wantsProxy(code: code, text: text, proxy: proxy) { return proxy }
        return NameLookup.Name(host: origin.plainHost, port: origin.port, isProxy: false)
    }

    /// The name of the proxy, or `nil` without one.
    var proxyName: NameLookup.Name? {
        switch configuration.proxy.wrapped {
        case .none: nil
        case .environment where origin.isLoopback || configuration.unixSocketPath != nil: nil
        case .server(let server): server.name
        case .environment:
            ProxyVariable.name(for: origin.scheme) { unsafe getenv($0).map { unsafe String(cString: $0) } }
        }
    }

    /// Returns the error for a failed lookup.
    func failure(of name: NameLookup.Name, _ failure: NameResolver.Failure) -> NetworkError {
        switch failure {
        case .unavailable(let error): NetworkError(error.code, "can't connect to \(origin): \(error.message)")
        case .noAddress(let words):
            name.isProxy
                ? NetworkError(
                    .cannotConnect,
                    "can't connect to \(origin): can't resolve the proxy \(name.host): \(words)"
                )
                : NetworkError(.cannotResolveHost, "the host of \(origin) can't be resolved: \(words)")
        }
    }
}

extension CurlTransport.ProxySelection.Server {
    fileprivate var name: NameLookup.Name? {
        guard let host = url.host(percentEncoded: true)?.lowercased(), let port = url.port else { return nil }
        let plain = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        return NameLookup.Name(host: plain, port: port, isProxy: true)
    }
}

/// The proxy variables that libcurl reads from the environment.
enum ProxyVariable {
    /// Returns the proxy's name as libcurl would determine it for a URL's scheme; `nil` if the
    /// variables don't name a proxy.
    static func name(for scheme: String, _ value: (String) -> String?) -> NameLookup.Name? {
        // In a CGI program, the client controls `HTTP_PROXY`.
        let names = ["\(scheme)_proxy"] + (scheme == "http" ? [] : ["HTTPS_PROXY"]) + ["all_proxy", "ALL_PROXY"]
        for name in names {
            if let text = value(name), !text.isEmpty { return self.name(in: text) }
        }
        return nil
    }

    private static func name(in text: String) -> NameLookup.Name? {
        var rest = text[...]
        var port = 1080
        if let separator = rest.range(of: "://") {
            if rest[..<separator.lowerBound].lowercased() == "https" { port = 443 }
            rest = rest[separator.upperBound...]
        }
        rest = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        if let sign = rest.lastIndex(of: "@") { rest = rest[rest.index(after: sign)...] }
        var host = rest
        if rest.hasPrefix("["), let bracket = rest.firstIndex(of: "]") {
            host = rest[rest.index(after: rest.startIndex)..<bracket]
            rest = rest[rest.index(after: bracket)...]
            if rest.hasPrefix(":") { port = Int(rest.dropFirst()) ?? port }
        } else if let colon = rest.lastIndex(of: ":") {
            host = rest[..<colon]
            port = Int(rest[rest.index(after: colon)...]) ?? port
        }
        guard !host.isEmpty, (1...65535).contains(port) else { return nil }
        return NameLookup.Name(host: host.lowercased(), port: port, isProxy: true)
    }
}

extension CurlTransport.Configuration {
    /// Returns whether an origin's host is an address, or a name of this machine, that requests
    /// must not reach.
    func forbids(host origin: HTTPOrigin) -> Bool {
        guard reachesOnlyPublicAddresses else { return false }
        let host = origin.plainHost
        if resolverEntries.contains(where: { $0.host == host && $0.port == origin.port }) { return false }
        if origin.isLoopback { return true }
        if let address = IPAddress(host) ?? IPAddress(resolving: host) { return !address.isPublic }
        return NameResolver.Query.isAddress(host)
    }

    /// Returns whether one of a name's addresses must not be reached.
    ///
    /// One is enough: with a mixture, an attacker could let the public ones fail.
    func forbids(_ addresses: [String]) -> Bool {
        reachesOnlyPublicAddresses && !addresses.allSatisfy { IPAddress($0)?.isPublic ?? false }
    }
}

extension NetworkError {
    static func notPublic(_ origin: HTTPOrigin) -> Self {
        Self(.cannotConnect, "the host of \(origin) isn't reached because its address isn't public")
    }
}

extension IPAddress {
    /// A Boolean value that indicates whether the address is globally reachable unicast
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
