import Foundation

extension NetworkClient {
    /// Fetches a resource.
    ///
    /// - Parameter resource: What to fetch.
    /// - Returns: A response with a status that the resource accepts.
    /// - Throws: ``ServerError`` for any other status, with the decoded API error; ``NetworkError`` if there was no response.
    public func fetch(_ resource: Resource) async throws -> HTTPResponse {
        try await AttemptLoop(client: self, resource: resource).run(resource.urlRequest)
    }

    /// Fetches a resource and returns its response as soon as its header is there; the body is received while it is read.
    ///
    /// - Parameter resource: What to fetch.
    /// - Returns: A response with a status that the resource accepts.
    /// - Throws: What ``fetch(_:)`` throws.
    public func open(_ resource: Resource) async throws -> HTTPResponseStream {
        try await AttemptLoop(client: self, resource: resource).open(resource.urlRequest)
    }

    /// Fetches a resource and decodes it.
    ///
    /// Decoding comes after the last attempt: a response that can't be decoded is not fetched again.
    ///
    /// - Parameters:
    ///   - resource: What to fetch.
    ///   - decoding: How the response becomes a model.
    /// - Returns: The model.
    /// - Throws: What ``fetch(_:)`` throws; ``NetworkError`` with the code `decoding` or `noData`, which has the response.
    public func fetch<Model>(_ resource: Resource, decoding: ModelDecoding<Model>) async throws -> Model {
        try decoding.model(of: await fetch(resource))
    }

    /// Fetches a resource and decodes JSON; the model is inferred from the type of the result.
    ///
    /// ```swift
    /// let user: User = try await client.fetch(resource)
    /// ```
    ///
    /// - Parameters:
    ///   - resource: What to fetch.
    ///   - model: The type of the model.
    /// - Returns: The model.
    /// - Throws: What ``fetch(_:decoding:)`` throws.
    public func fetch<Model: Decodable & SendableMetatype>(
        _ resource: Resource,
        as model: Model.Type = Model.self
    ) async throws -> Model {
        try await fetch(resource, decoding: .json(model))
    }

    /// Calls an endpoint and returns the whole response.
    ///
    /// - Parameter endpoint: What to call.
    /// - Returns: A response with a status that the endpoint accepts.
    /// - Throws: What ``fetch(_:)`` throws.
    public func response(for endpoint: some HTTPEndpoint) async throws -> HTTPResponse {
        try await fetch(Resource(endpoint))
    }

    /// Calls an endpoint that knows what it answers with.
    ///
    /// - Parameter endpoint: What to call.
    /// - Returns: The model.
    /// - Throws: What ``fetch(_:decoding:)`` throws.
    public func request<Endpoint: ModelEndpoint>(_ endpoint: Endpoint) async throws -> Endpoint.Model {
        try await fetch(Resource(endpoint), decoding: endpoint.decoding)
    }

    /// Calls an endpoint and decodes JSON; the model is inferred from what is asked for.
    ///
    /// ```swift
    /// let book: Book = try await client.request(Library.book(id: 42))
    /// let found = try await client.request(Library.book(id: 42), as: Book?.self)   // nil for a 204
    /// ```
    ///
    /// - Parameters:
    ///   - endpoint: What to call.
    ///   - model: The type of the model.
    /// - Returns: The model.
    /// - Throws: What ``fetch(_:decoding:)`` throws.
    public func request<Model: Decodable & SendableMetatype>(
        _ endpoint: some HTTPEndpoint,
        as model: Model.Type = Model.self
    ) async throws -> Model {
        try await fetch(Resource(endpoint), decoding: .json(model))
    }

    /// Calls an endpoint and decodes its response.
    ///
    /// - Parameters:
    ///   - endpoint: What to call.
    ///   - decoding: How the response becomes a model.
    /// - Returns: The model.
    /// - Throws: What ``fetch(_:decoding:)`` throws.
    public func request<Model>(
        _ endpoint: some HTTPEndpoint,
        decoding: ModelDecoding<Model>
    ) async throws -> Model {
        try await fetch(Resource(endpoint), decoding: decoding)
    }

    /// Calls an endpoint whose answer has no content that matters.
    ///
    /// - Parameter endpoint: What to call.
    /// - Throws: What ``fetch(_:)`` throws.
    @_disfavoredOverload
    public func request(_ endpoint: some HTTPEndpoint) async throws {
        _ = try await fetch(Resource(endpoint))
    }
}

extension AttemptLoop {
    /// The loop of a resource: the client's interceptors come first, without authenticators if none is required.
    init(client: NetworkClient, resource: Resource) {
        let shared = resource.requiresAuthentication ? client.chain : client.chain.withoutAuthenticators
        self.init(
            client: client,
            chain: shared + InterceptorChain(resource.interceptors),
            options: resource.options,
            traits: resource.traits,
            errorDecoding: resource.errorDecoding
        )
    }
}

extension ModelDecoding {
    /// Decodes, and attaches the response to what goes wrong.
    func model(of response: HTTPResponse) throws -> Model {
        do {
            return try decode(response)
        } catch {
            var failure: NetworkError
            if let error = error as? NetworkError {
                failure = error
            } else {
                let cause = DecodingFailure(error)
                failure = NetworkError(
                    .decoding,
                    "the response (status \(response.status)) could not be decoded as \(Model.self)",
                    cause: cause
                )
            }
            failure.response = failure.response ?? response
            failure.endpoint = failure.endpoint ?? response.url.pathComponents.last
            throw failure
        }
    }
}
