public import Foundation

/// A redirect that a policy's closure decides about.
public struct Redirect: Sendable {
    /// The status of the redirect.
    public let status: Int
    /// The header fields of the redirect.
    public let headers: HTTPHeaders
    /// The URL that sent the redirect.
    public let source: URL
    /// The proposed next request, changed according to ``RedirectPolicy``.
    public let request: HTTPRequest
    /// The earlier redirects, oldest first.
    public let hops: [RedirectHop]

    /// The action for a redirect.
    @nonexhaustive
    public enum Action: Sendable {
        /// Sends a request: the proposed one or a changed one. Restored credentials are sent.
        case follow(HTTPRequest)
        /// Delivers the redirect to the caller, as if it had no `Location`.
        case deliver
    }
}

/// A redirect that the client followed.
public struct RedirectHop: Sendable, Hashable, CustomStringConvertible {
    /// The URL that sent the redirect.
    public let url: URL
    /// The status of the redirect.
    public let status: Int

    /// Creates a hop, for testing.
    ///
    /// - Parameters:
    ///   - url: The URL that sent the redirect.
    ///   - status: The status of the redirect.
    public init(url: URL, status: Int) {
        self.url = url
        self.status = status
    }

    /// The host and port, without the path and the query, which may contain secrets.
    public var description: String { HTTPOrigin(url).map(\.description) ?? "nowhere" }
}
