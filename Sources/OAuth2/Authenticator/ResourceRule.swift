public import Foundation
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

    /// The origins, for an error's message.
    var text: String {
        guard case .origins(let origins) = wrapped else { return "https origins" }
        let shown = origins.prefix(8).map(\.text).joined(separator: ", ")
        return origins.count > 8 ? "\(shown) and \(origins.count - 8) more" : shown
    }

    /// Returns `true` if a request to an origin gets the token.
    ///
    /// The origin is `nil` if the URL has none.
    ///
    /// - Throws: ``OAuth2Error`` with the code `malformedRequest` if the rule is misconfigured.
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
    /// The scheme, the host and the port.
    var text: String { "\(scheme)://\(self)" }
}
