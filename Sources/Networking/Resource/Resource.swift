public import Foundation
public import FoundationNetworking

/// A request to make, together with its interceptors, the accepted status codes and the decoding of
/// errors.
///
/// ```swift
/// let resource = Resource(
///     Library.book(id: 42),
///     interceptors: [audit],
///     errorDecoding: .json(LibraryError.self)
/// )
/// let book = try await client.fetch(resource, decoding: .json(Book.self))
/// ```
///
/// The client's interceptors are around the resource's.
public struct Resource: Sendable {
    var makeBase: @Sendable () async throws -> HTTPRequest
    /// The interceptors that run after the client's for every attempt, in order.
    public var interceptors: [any Interceptor] = []
    /// The decoding of error bodies; with `nil`, the client's options decide.
    public var errorDecoding: ErrorDecoding?
    /// The traits of the resource's requests.
    public var traits = RequestTraits()
    /// A Boolean value that indicates whether the client's authenticators run; the default is
    /// `true`.
    ///
    /// The resource's own interceptors always do.
    public var requiresAuthentication = true
    /// The options that override the client's.
    public var options = RequestOptions()

    /// Creates a resource from an `endpoint`, which creates a new request for each attempt.
    ///
    /// A body in the options replaces the endpoint's.
    public init(
        _ endpoint: some HTTPEndpoint,
        interceptors: [any Interceptor] = [],
        errorDecoding: ErrorDecoding? = nil,
        options: RequestOptions = RequestOptions()
    ) {
        makeBase = { try endpoint.makeBase() }
        self.interceptors = interceptors
        self.errorDecoding = errorDecoding
        traits = RequestTraits(acceptedStatuses: endpoint.acceptedStatuses, isIdempotent: endpoint.isIdempotent)
        requiresAuthentication = endpoint.requiresAuthentication
        self.options = options
        self.options.requestCompression = options.requestCompression ?? endpoint.requestCompression
    }

    /// Creates a resource from the closure `urlRequest`, which makes the base request for each
    /// attempt.
    ///
    /// If the closure throws, the operation fails with ``NetworkError/Code/requestNotMade``.
    public init(
        interceptors: [any Interceptor] = [],
        errorDecoding: ErrorDecoding? = nil,
        traits: RequestTraits = RequestTraits(),
        requiresAuthentication: Bool = true,
        options: RequestOptions = RequestOptions(),
        urlRequest: @escaping @Sendable () async throws -> URLRequest
    ) {
        makeBase = { try HTTPRequest(try await urlRequest()) }
        self.interceptors = interceptors
        self.errorDecoding = errorDecoding
        self.traits = traits
        self.requiresAuthentication = requiresAuthentication
        self.options = options
    }

    init(makeBase: @escaping @Sendable () async throws -> HTTPRequest) {
        self.makeBase = makeBase
    }
}

/// An endpoint with a model type, so that `client.fetch(endpoint)` returns the model.
///
/// ```swift
/// struct GetBook: ModelEndpoint {
///     typealias Model = Book
///     let id: Int
///     var baseURL: URL { libraryURL }
///     var path: URLPath { "/books/\(id)" }
/// }
/// let book = try await client.fetch(GetBook(id: 42))
/// ```
public protocol ModelEndpoint: HTTPEndpoint {
    /// The model that a response decodes to.
    associatedtype Model
    /// The decoding of the response; the default is JSON if the model is `Decodable`.
    var decoding: ModelDecoding<Model> { get }
}

extension ModelEndpoint where Model: Decodable & SendableMetatype {
    /// Decodes JSON.
    public var decoding: ModelDecoding<Model> { .json() }
}

extension ModelEndpoint where Model == Void {
    /// Ignores the body.
    public var decoding: ModelDecoding<Void> { .void }
}

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
    /// Returns a `GET` request whose attempts are limited only by the operation's timeout.
    public func makeResource() -> Resource { HTTPRequest(url: self).makeResource() }
}

extension URLRequest: RequestConvertible {
    /// Returns the request, whose `timeoutInterval` limits each attempt, in seconds.
    public func makeResource() -> Resource { Resource(makeBase: { try HTTPRequest(self) }) }
}

extension HTTPRequest: RequestConvertible {
    /// Returns the request.
    public func makeResource() -> Resource {
        Resource(makeBase: { self })
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

struct VerbEndpoint: HTTPEndpoint {
    let baseURL: URL
    let method: HTTPMethod
    let path: URLPath
    let query: URLQuery
    let headers: HTTPHeaders
    let content: @Sendable () throws -> EndpointBody

    var body: EndpointBody { get throws { try content() } }
}

/// The properties of an operation's requests, which interceptors find in their
/// ``InterceptorContext``.
public struct RequestTraits: Sendable, Hashable {
    /// The status codes that aren't errors; the default is 200…299.
    public var acceptedStatuses: AcceptedStatuses
    /// A Boolean value that indicates whether sending the request twice has the same effect as
    /// sending it once; with `nil`, the default, the method decides.
    public var isIdempotent: Bool?
    /// A Boolean value that indicates whether an event of its own reports the failure of the
    /// request, which a log must not repeat.
    package var hasFailureEvent = false

    /// Creates traits.
    public init(acceptedStatuses: AcceptedStatuses = .successful, isIdempotent: Bool? = nil) {
        self.acceptedStatuses = acceptedStatuses
        self.isIdempotent = isIdempotent
    }
}
