public import FoundationNetworking

/// What to fetch and how: how its request is made, who intercepts it, which statuses are accepted, and what an error's body means.
///
/// ```swift
/// let resource = Resource(Library.book(id: 42), interceptors: [audit], errorDecoding: .json(LibraryError.self))
/// let book = try await client.fetch(resource, decoding: .json(Book.self))
/// ```
///
/// The client's interceptors come first, then the resource's, in each step of ``RequestInterceptor``.
public struct Resource: Sendable {
    /// Makes the base request; asked anew for each attempt.
    public typealias RequestMaker = @Sendable () async throws -> URLRequest

    /// Makes the base request, with a body that a `URLRequest` has no room for.
    let makeBase: @Sendable () async throws -> AttemptLoop.Base
    /// What hooks into every attempt after the client's interceptors, in order.
    public var interceptors: [any RequestInterceptor]
    /// What the body of a response with another status means; `nil` for what the client's options say.
    public var errorDecoding: ErrorDecoding?
    /// What is particular about its requests.
    public var traits: RequestTraits
    /// Whether the client's authenticators take part; the resource's own interceptors always do.
    public var requiresAuthentication: Bool
    /// What it does otherwise than the client.
    public var options: RequestOptions

    /// Makes a resource of an endpoint.
    ///
    /// - Parameters:
    ///   - endpoint: What to call. It is asked for its request anew for each attempt.
    ///   - interceptors: What hooks into every attempt after the client's interceptors.
    ///   - errorDecoding: What the body of a response with another status means; `nil` for what the client's options say.
    ///   - options: What it does otherwise than the client; a body in it takes the place of the endpoint's.
    public init(
        _ endpoint: some HTTPEndpoint,
        interceptors: [any RequestInterceptor] = [],
        errorDecoding: ErrorDecoding? = nil,
        options: RequestOptions = RequestOptions()
    ) {
        self.init(
            interceptors: interceptors,
            errorDecoding: errorDecoding,
            traits: RequestTraits(acceptedStatuses: endpoint.acceptedStatuses, isIdempotent: endpoint.isIdempotent),
            requiresAuthentication: endpoint.requiresAuthentication,
            options: options,
            makeBase: { try endpoint.makeBase() }
        )
    }

    /// Makes a resource of anything that makes requests.
    ///
    /// - Parameters:
    ///   - interceptors: What hooks into every attempt after the client's interceptors.
    ///   - errorDecoding: What the body of a response with another status means; `nil` for what the client's options say.
    ///   - traits: What is particular about its requests.
    ///   - requiresAuthentication: Whether the client's authenticators take part.
    ///   - options: What it does otherwise than the client.
    ///   - urlRequest: Makes the base request; asked anew for each attempt. What it throws fails the operation with
    ///     ``NetworkError/Code/requestNotMade`` unless an interceptor recovers.
    public init(
        interceptors: [any RequestInterceptor] = [],
        errorDecoding: ErrorDecoding? = nil,
        traits: RequestTraits = RequestTraits(),
        requiresAuthentication: Bool = true,
        options: RequestOptions = RequestOptions(),
        urlRequest: @escaping RequestMaker
    ) {
        self.init(
            interceptors: interceptors,
            errorDecoding: errorDecoding,
            traits: traits,
            requiresAuthentication: requiresAuthentication,
            options: options,
            makeBase: { (try await urlRequest(), nil) }
        )
    }

    private init(
        interceptors: [any RequestInterceptor],
        errorDecoding: ErrorDecoding?,
        traits: RequestTraits,
        requiresAuthentication: Bool,
        options: RequestOptions,
        makeBase: @escaping @Sendable () async throws -> AttemptLoop.Base
    ) {
        self.makeBase = makeBase
        self.interceptors = interceptors
        self.errorDecoding = errorDecoding
        self.traits = traits
        self.requiresAuthentication = requiresAuthentication
        self.options = options
    }
}
