import Foundation
import Glibc
internal import OpenSSLCrypto

/// The lookups by which a transfer gets the addresses of the names that it needs.
///
/// libcurl would start a thread for each lookup. It is told to fail instead when it is about to do so, which it does only after it has looked
/// for a kept connection and for addresses that it knows. The engine then has the name looked up by a ``NameResolver`` and adds
/// the transfer again, with the addresses.
struct NameLookup {
    /// A name that a transfer needs, and the port under which libcurl keeps its addresses.
    struct Name: Equatable {
        let host: String
        let port: Int
        /// A Boolean value that indicates whether the name is the proxy's.
        let isProxy: Bool
    }

    /// The most names that one transfer looks up, those of connections that it makes again included.
    private static let maximumCount = 8

    /// A Boolean value that indicates whether libcurl failed because it was about to look a name up.
    var isWanted = false
    /// A Boolean value that indicates whether libcurl may go on the next time: what it asks for is an address.
    var isAllowed = false
    /// The place in the lookup that the transfer waits for.
    private(set) var ticket: NameResolver.Ticket?
    /// The time at which the lookup that the transfer waits for began.
    private(set) var begun: ContinuousClock.Instant?
    private var name: Name?
    private var count = 0
    private var lastAnswer: (name: Name, time: ContinuousClock.Instant)?
    /// The total time that lookups took.
    private(set) var spent = Duration.zero
    /// The names and addresses that were found, in the form that libcurl takes.
    private(set) var entries: [String] = []
    /// The list that libcurl was given, which must outlive the transfer.
    var lines: CurlLines?

    /// A Boolean value that indicates whether the transfer waits for the resolver.
    var isWaiting: Bool { begun != nil }

    /// Begins to wait; false if libcurl has just been told the addresses and asks again, or asks too often.
    mutating func begin(_ name: Name, at now: ContinuousClock.Instant) -> Bool {
        isWanted = false
        if let lastAnswer, lastAnswer.name == name, now - lastAnswer.time < .seconds(5) { return false }
        guard count < Self.maximumCount else { return false }
        count += 1
        (self.name, begun) = (name, now)
        return true
    }

    mutating func wait(with ticket: NameResolver.Ticket) {
        self.ticket = ticket
    }

    /// Ends the wait.
    ///
    /// - Returns: The name that was looked up.
    mutating func end(at now: ContinuousClock.Instant) -> Name? {
        defer { (ticket, begun, name) = (nil, nil, nil) }
        if let begun { spent += now - begun }
        return name
    }

    /// Notes what the resolver found.
    ///
    /// libcurl keeps it as long as it keeps what it finds itself, and knows a name with a final period under the same name without one, too.
    mutating func note(_ addresses: [String], of name: Name, at now: ContinuousClock.Instant) {
        lastAnswer = (name, now)
        let list = addresses.map { $0.contains(":") ? "[\($0)]" : $0 }.joined(separator: ",")
        entries.append("+\(name.host):\(name.port):\(list)")
        if name.host.hasSuffix(".") { entries.append("+\(name.host.dropLast()):\(name.port):\(list)") }
    }
}

extension CurlTransfer {
    /// Decides whether libcurl may find the addresses of a name by itself; if not, libcurl fails with its own code.
    func mayLookUp() -> Bool {
        if nameLookup.isAllowed {
            nameLookup.isAllowed = false
            return true
        }
        // The common cases that need no lookup, without the detour.
        if !mayUseProxy, origin.isLoopback || IPAddress(origin.plainHost) != nil { return true }
        nameLookup.isWanted = true
        return false
    }

    private var mayUseProxy: Bool {
        switch configuration.proxy.wrapped {
        case .none: false
        case .server: true
        case .environment: !origin.isLoopback
        }
    }

    /// The name that libcurl was about to look up.
    ///
    /// - Parameters:
    ///   - code: The result with which libcurl gave up.
    ///   - text: libcurl's words.
    /// - Returns: The name; `nil` if it can't be told.
    func wantedName(code: Int32, text: String) -> NameLookup.Name? {
        switch CurlFailure.wantedHost(code: code, text: text) {
        case .origin: NameLookup.Name(host: origin.plainHost, port: origin.port, isProxy: false)
        case .proxy:
            switch configuration.proxy.wrapped {
            case .none: nil
            case .server(let server): server.name
            case .environment:
                ProxyVariable.name(for: origin.scheme) { unsafe getenv($0).map { unsafe String(cString: $0) } }
            }
        }
    }

    /// The deadline for making a connection while the transfer waits for a name.
    var nameDeadline: ContinuousClock.Instant? {
        nameLookup.begun.map { $0 + (configuration.connectTimeout - nameLookup.spent) }
    }

    /// The error of a name without addresses.
    func failure(of name: NameLookup.Name, _ failure: NameResolver.Failure) -> NetworkError {
        switch failure {
        case .unavailable(let error): NetworkError(error.code, "no connection to \(origin): \(error.message)")
        case .noAddress(let words):
            name.isProxy
                ? NetworkError(
                    .cannotConnect,
                    "no connection to \(origin): the proxy \(name.host) has no address: \(words)"
                )
                : NetworkError(.cannotResolveHost, "the host of \(origin) has no address: \(words)")
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

/// The proxy that libcurl reads from the environment.
enum ProxyVariable {
    /// Finds the proxy's name as libcurl does.
    ///
    /// - Parameters:
    ///   - scheme: The scheme of the request's URL.
    ///   - value: Returns a variable of the environment.
    /// - Returns: The name; `nil` if the variables name no proxy.
    static func name(for scheme: String, _ value: (String) -> String?) -> NameLookup.Name? {
        // `HTTP_PROXY` in a CGI program comes from the client.
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
