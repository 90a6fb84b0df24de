import Foundation
import Glibc
internal import OpenSSLCrypto

/// The name lookups of one transfer.
///
/// libcurl is told to fail when it's about to look up a name, after it has checked for a kept
/// connection and for known addresses. The engine then looks up the name with a ``NameResolver``,
/// and adds the transfer again with the addresses.
struct NameLookup {
    /// The port is the one under which libcurl stores the name's addresses.
    struct Name: Equatable {
        let host: String
        let port: Int
        let isProxy: Bool
    }

    /// Includes the lookups for repeated connections.
    private static let maximumCount = 8

    /// libcurl failed because it needs a name lookup.
    var isWanted = false
    /// libcurl may resolve the next host, an IP address.
    var isAllowed = false
    var ticket: NameResolver.Ticket?
    /// The start of the lookup that the transfer is waiting for.
    private(set) var begun: Moment?
    private var name: Name?
    private var count = 0
    private var lastAnswer: (name: Name, time: Moment)?
    private(set) var spent = Duration.zero
    /// In libcurl's notation.
    private(set) var entries: [String] = []
    /// The list must outlive the transfer.
    var lines: CurlLines?

    /// Returns `false` if libcurl repeats a request for a name that was just resolved, or after the
    /// maximum number of lookups.
    mutating func begin(_ name: Name, at now: Moment) -> Bool {
        if let lastAnswer, lastAnswer.name == name, now - lastAnswer.time < .seconds(5) { return false }
        guard count < Self.maximumCount else { return false }
        count += 1
        (self.name, begun) = (name, now)
        return true
    }

    mutating func end(at now: Moment) -> Name? {
        defer { (ticket, begun, name) = (nil, nil, nil) }
        if let begun { spent += now - begun }
        return name
    }

    /// libcurl caches the answer as long as its own results; it also stores a name that ends in a
    /// period under the name without the period.
    mutating func note(_ addresses: [String], of name: Name, at now: Moment) {
        lastAnswer = (name, now)
        let hosts = name.host.hasSuffix(".") ? [name.host, String(name.host.dropLast())] : [name.host]
        for host in hosts {
            entries.append("+" + CurlTransport.ResolverEntry(host: host, port: name.port, addresses: addresses).line)
        }
    }
}

extension CurlTransfer {
    /// If libcurl may not resolve a name itself, it fails with its own code.
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

    /// Returns `nil` if the name can't be determined.
    func wantedName(code: Int32, text: String) -> NameLookup.Name? {
        let proxy = proxyName
        if CurlFailure.wantsProxy(code: code, text: text, proxy: proxy) { return proxy }
        return NameLookup.Name(host: origin.plainHost, port: origin.port, isProxy: false)
    }

    var proxyName: NameLookup.Name? {
        switch configuration.proxy.wrapped {
        case .none: nil
        case .environment where origin.isLoopback || configuration.unixSocketPath != nil: nil
        case .server(let server): server.name
        case .environment:
            ProxyVariable.name(for: origin.scheme) { unsafe getenv($0).map { unsafe String(cString: $0) } }
        }
    }

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

extension CurlTransport.Configuration {
    /// For a host that's an address or a name of this machine.
    func forbids(host origin: HTTPOrigin) -> Bool {
        guard reachesOnlyPublicAddresses else { return false }
        let host = origin.plainHost
        if resolverEntries.contains(where: { $0.host == host && $0.port == origin.port }) { return false }
        if origin.isLoopback { return true }
        if let address = IPAddress(host) ?? IPAddress(resolving: host) { return !address.isPublic }
        return host.utf8.contains(UInt8(ascii: ":"))
    }

    /// One forbidden address is enough: with a mixture, an attacker could let the public ones fail.
    func forbids(_ addresses: [String]) -> Bool {
        reachesOnlyPublicAddresses && !addresses.allSatisfy { IPAddress($0)?.isPublic ?? false }
    }
}

extension NetworkError {
    static func notPublic(_ origin: HTTPOrigin) -> Self {
        Self(.cannotConnect, "the host of \(origin) isn't reached because its address isn't public")
    }
}
