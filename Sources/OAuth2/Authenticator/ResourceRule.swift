public import Foundation
import Glibc
package import Networking

/// The origins whose requests get the token from an ``OAuth2Authenticator``.
///
/// ```swift
/// let authenticator = OAuth2Authenticator(source: source, resources: [api])
/// ```
///
/// A token belongs to the services that it was issued for. If a client sends requests elsewhere, or
/// follows URLs from responses, the token must not go along.
public struct ResourceRule: Sendable, Hashable, ExpressibleByArrayLiteral {
    private enum Wrapped: Hashable {
        case origins([HTTPOrigin])
        case every
        case misconfigured
    }

    private let wrapped: Wrapped

    /// Returns a rule for the origins of the given URLs.
    ///
    /// Requests to other origins are left unchanged.
    ///
    /// - Parameter urls: URLs of the services that the token is meant for, with `http` or `https`
    ///   and a host. If the list is empty, or one of the URLs has no origin, the authenticator
    ///   fails every request with `malformedRequest`.
    /// - Returns: The rule.
    public static func origins(of urls: [URL]) -> ResourceRule {
        let origins = urls.compactMap { HTTPOrigin($0) }
        // A list without effect is a configuration error; neither "all" nor "none" is a safe guess.
        let isComplete = !urls.isEmpty && origins.count == urls.count
        return ResourceRule(wrapped: isComplete ? .origins(origins) : .misconfigured)
    }

    /// All `https` origins and loopback addresses.
    ///
    /// - Warning: Every server that the client contacts gets the token and can use it as the client
    ///   can.
    public static let everyHTTPSOrigin = ResourceRule(wrapped: .every)

    private init(wrapped: Wrapped) {
        self.wrapped = wrapped
    }

    /// Creates a rule for the origins of the given URLs, as ``origins(of:)`` does.
    ///
    /// - Parameter elements: URLs of the services that the token is meant for.
    public init(arrayLiteral elements: URL...) {
        self = .origins(of: elements)
    }

    var text: String {
        guard case .origins(let origins) = wrapped else { return "https origins" }
        let shown = origins.prefix(8).map(\.text).joined(separator: ", ")
        return origins.count > 8 ? "\(shown) and \(origins.count - 8) more" : shown
    }

    package func covers(_ origin: HTTPOrigin?) throws(OAuth2Error) -> Bool {
        switch wrapped {
        case .every: return true
        case .origins(let origins): return origin.map(origins.contains) ?? false
        case .misconfigured:
            throw OAuth2Error(
                .malformedRequest,
                "the authenticator's resources are empty, or one of them isn't a URL with a host. Name the origins that the "
                    + "token is meant for, or pass .everyHTTPSOrigin"
            )
        }
    }
}

extension HTTPOrigin {
    var text: String { "\(scheme)://\(self)" }

    /// A Boolean value that indicates whether requests are encrypted or never leave the machine.
    package var isConfidential: Bool { scheme == "https" || isLoopback }

    /// Covers every spelling that the system's resolver accepts, unlike ``HTTPOrigin/isLoopback``,
    /// which decides which requests may be sent without TLS.
    var isThisMachine: Bool {
        var name = Substring(host)
        while name.last == "." { name.removeLast() }
        if isLoopback || name == "localhost" || name.hasSuffix(".localhost") { return true }
        if ["localhost.localdomain", "ip6-localhost", "ip6-loopback"].contains(name) { return true }
        var address = in_addr()
        // Also 127.1, 0x7F000001 and 2130706433.
        if unsafe inet_aton(String(name), &address) != 0 { return Self.isThisMachine(address.s_addr) }
        let text = name.drop { $0 == "[" }.prefix { $0 != "]" && $0 != "%" }
        var octets = [UInt8](repeating: 0, count: 16)
        guard unsafe inet_pton(AF_INET6, String(text), &octets) == 1 else { return false }
        if octets.dropLast().allSatisfy({ $0 == 0 }) { return octets[15] <= 1 }
        // An IPv4 address, mapped or compatible (RFC 4291 §2.5.5).
        guard octets.prefix(10).allSatisfy({ $0 == 0 }), [0, 0xFF].contains(octets[10]), octets[10] == octets[11] else {
            return false
        }
        return octets[12] == 127 || octets[12] == 0
    }

    /// 127/8, or 0/8, which also leads to this machine; the address is in network byte order.
    private static func isThisMachine(_ address: UInt32) -> Bool {
        let first = UInt32(bigEndian: address) >> 24
        return first == 127 || first == 0
    }
}

extension URL {
    func confidentialOrigin(_ what: String) throws(OAuth2Error) -> HTTPOrigin {
        guard let origin = HTTPOrigin(self), origin.isConfidential else { throw isNotConfidential(what) }
        return origin
    }

    func isNotConfidential(_ what: String) -> OAuth2Error {
        OAuth2Error(.insecureTransport, "\(what) requires https, which \(host ?? "the URL") doesn't use")
    }
}
