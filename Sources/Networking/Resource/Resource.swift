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
    /// Creates the base request.
    var makeBase: @Sendable () async throws -> HTTPRequest
    /// The interceptors that run after the client's for every attempt, in order.
    public var interceptors: [any Interceptor]
    /// The decoding of error bodies; with `nil`, the client's options decide.
    public var errorDecoding: ErrorDecoding?
    /// The traits of the resource's requests.
    public var traits: RequestTraits
    /// A Boolean value that indicates whether the client's authenticators run.
    ///
    /// The resource's own interceptors always do.
    public var requiresAuthentication: Bool
    /// The options that override the client's.
    public var options: RequestOptions

    /// Creates a resource from an endpoint.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint to call. It creates a new request for each attempt.
    ///   - interceptors: The interceptors that run after the client's for every attempt.
    ///   - errorDecoding: The decoding of error bodies. With `nil`, the client's options decide.
    ///   - options: The options that override the client's. A body in them replaces the endpoint's.
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

    /// Creates a resource from a closure that makes requests.
    ///
    /// - Parameters:
    ///   - interceptors: The interceptors that run after the client's for every attempt.
    ///   - errorDecoding: The decoding of error bodies. With `nil`, the client's options decide.
    ///   - traits: The traits of the resource's requests.
    ///   - requiresAuthentication: Whether the client's authenticators run. The default is `true`.
    ///   - options: The options that override the client's.
    ///   - urlRequest: Creates the base request, for each attempt. If it throws, the operation
    ///     fails with ``NetworkError/Code/requestNotMade``.
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

    /// Creates a resource with the client's settings.
    init(request: HTTPRequest) {
        makeBase = { request }
        interceptors = []
        traits = RequestTraits()
        requiresAuthentication = true
        options = RequestOptions()
    }
}
