public import Foundation

/// A redirect that is about to be followed, as a policy's closure sees it.
public struct Redirect: Sendable {
    /// The status of the response that redirects.
    public let status: Int
    /// The header fields of the response that redirects.
    public let headers: HTTPHeaders
    /// The URL that answered.
    public let source: URL
    /// The request that would be sent next: its method, body and credentials are as ``RedirectPolicy`` says.
    public let request: HTTPTransportRequest
    /// The redirects that were followed before this one, oldest first.
    public let hops: [RedirectHop]

    /// What becomes of a redirect.
    @nonexhaustive
    public enum Action: Sendable {
        /// This request is sent: the proposed one, or what was made of it. Credentials that were put back on it are sent.
        case follow(HTTPTransportRequest)
        /// The caller gets the response that redirects, as if it had no `Location`.
        case deliver
    }
}

/// A redirect that was followed.
public struct RedirectHop: Sendable, Hashable, CustomStringConvertible {
    /// The URL that answered with the redirect.
    public let url: URL
    /// The status it answered with.
    public let status: Int

    /// Makes a hop, for tests of what reads them.
    ///
    /// - Parameters:
    ///   - url: The URL that answered with the redirect.
    ///   - status: The status it answered with.
    public init(url: URL, status: Int) {
        self.url = url
        self.status = status
    }

    /// The host and port, without the path and the query, which may have secrets in them.
    public var description: String { HTTPOrigin(url).map(\.description) ?? "nowhere" }
}
