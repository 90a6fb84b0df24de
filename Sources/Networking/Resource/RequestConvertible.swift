public import Foundation
public import FoundationNetworking

/// A description of a request that a client can send.
///
/// A `URL`, a `URLRequest`, an ``HTTPRequest``, an ``HTTPEndpoint`` and a ``Resource`` describe
/// requests:
///
/// ```swift
/// let page = try await client.response(for: url)
/// let report = try await client.fetch(endpoint, as: Report.self)
/// ```
public protocol RequestConvertible: Sendable {
    /// Returns the request with its settings.
    ///
    /// - Returns: The resource.
    func makeResource() -> Resource
}

extension URL: RequestConvertible {
    /// Returns a `GET` request, whose attempts have no timeout of their own.
    public func makeResource() -> Resource { HTTPRequest(url: self).makeResource() }
}

extension URLRequest: RequestConvertible {
    /// Returns the request, whose `timeoutInterval` limits each attempt, in seconds.
    public func makeResource() -> Resource { Resource { self } }
}

extension HTTPRequest: RequestConvertible {
    /// Returns the request.
    public func makeResource() -> Resource {
        Resource(request: self)
    }
}

extension HTTPEndpoint {
    /// Returns the endpoint's request, made again for each attempt.
    public func makeResource() -> Resource { Resource(self) }
}

extension Resource: RequestConvertible {
    /// Returns the resource itself.
    public func makeResource() -> Resource { self }
}

/// A request of a client's verb, below the client's base URL.
struct VerbEndpoint: HTTPEndpoint {
    let baseURL: URL
    let method: HTTPMethod
    let path: URLPath
    let query: URLQuery
    let headers: HTTPHeaders
    let content: @Sendable () throws -> EndpointBody

    var body: EndpointBody { get throws { try content() } }
}
