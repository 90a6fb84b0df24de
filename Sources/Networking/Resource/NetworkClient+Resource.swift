import Foundation

extension NetworkClient {
    /// Fetches a resource.
    ///
    /// - Parameter resource: The resource to fetch.
    /// - Returns: A response with a status that the resource accepts.
    /// - Throws: ``ServerError`` for any other status, with the decoded API error. ``NetworkError``
    ///   if no response arrived.
    public func fetch(_ resource: Resource) async throws -> HTTPResponse {
        try await AttemptLoop(client: self, resource: resource).run(resource.makeBase)
    }

    /// Fetches a resource and returns its response when the header has arrived.
    ///
    /// Reading the body receives it.
    ///
    /// - Parameter resource: The resource to fetch.
    /// - Returns: A response with a status that the resource accepts.
    /// - Throws: The errors of ``fetch(_:)``.
    public func stream(_ resource: Resource) async throws -> HTTPResponse {
        var loop = AttemptLoop(client: self, resource: resource)
        loop.isStreamed = true
        return try await loop.run(resource.makeBase)
    }

    /// Fetches a resource and decodes its response.
    ///
    /// Decoding follows the last attempt. The client doesn't retry a response that can't be
    /// decoded.
    ///
    /// - Parameters:
    ///   - resource: The resource to fetch.
    ///   - decoding: The decoding of the response.
    /// - Returns: The model.
    /// - Throws: The errors of ``fetch(_:)``. ``NetworkError`` with the code `decoding` or `noData`
    ///   and the response attached.
    public func fetch<Model>(_ resource: Resource, decoding: ModelDecoding<Model>) async throws -> Model {
        try decoding.model(of: await fetch(resource))
    }

    /// Fetches a resource and decodes JSON; the model is inferred from the result type.
    ///
    /// ```swift
    /// let user: User = try await client.fetch(resource)
    /// ```
    ///
    /// - Parameters:
    ///   - resource: The resource to fetch.
    ///   - model: The type of the model.
    /// - Returns: The model.
    /// - Throws: The errors of ``fetch(_:decoding:)``.
    public func fetch<Model: Decodable & SendableMetatype>(
        _ resource: Resource,
        as model: Model.Type = Model.self
    ) async throws -> Model {
        try await fetch(resource, decoding: .json(model))
    }

    /// Calls an endpoint and returns the whole response.
    ///
    /// - Parameter endpoint: The endpoint to call.
    /// - Returns: A response with a status that the endpoint accepts.
    /// - Throws: The errors of ``fetch(_:)``.
    public func response(for endpoint: some HTTPEndpoint) async throws -> HTTPResponse {
        try await fetch(Resource(endpoint))
    }

    /// Calls an endpoint and returns its model.
    ///
    /// - Parameter endpoint: The endpoint to call.
    /// - Returns: The model.
    /// - Throws: The errors of ``fetch(_:decoding:)``.
    public func request<Endpoint: ModelEndpoint>(_ endpoint: Endpoint) async throws -> Endpoint.Model {
        try await fetch(Resource(endpoint), decoding: endpoint.decoding)
    }

    /// Calls an endpoint and decodes JSON; the model is inferred from the result type.
    ///
    /// ```swift
    /// let book: Book = try await client.request(Library.book(id: 42))
    /// // `nil` for a 204
    /// let found = try await client.request(Library.book(id: 42), as: Book?.self)
    /// ```
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint to call.
    ///   - model: The type of the model.
    /// - Returns: The model.
    /// - Throws: The errors of ``fetch(_:decoding:)``.
    public func request<Model: Decodable & SendableMetatype>(
        _ endpoint: some HTTPEndpoint,
        as model: Model.Type = Model.self
    ) async throws -> Model {
        try await fetch(Resource(endpoint), decoding: .json(model))
    }

    /// Calls an endpoint and decodes its response.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint to call.
    ///   - decoding: The decoding of the response.
    /// - Returns: The model.
    /// - Throws: The errors of ``fetch(_:decoding:)``.
    public func request<Model>(
        _ endpoint: some HTTPEndpoint,
        decoding: ModelDecoding<Model>
    ) async throws -> Model {
        try await fetch(Resource(endpoint), decoding: decoding)
    }

    /// Calls an endpoint and ignores the content of its response.
    ///
    /// - Parameter endpoint: The endpoint to call.
    /// - Throws: The errors of ``fetch(_:)``.
    @_disfavoredOverload
    public func request(_ endpoint: some HTTPEndpoint) async throws {
        _ = try await fetch(Resource(endpoint))
    }
}

extension AttemptLoop {
    /// Creates the loop for a resource: the client's interceptors come first, without
    /// authenticators if the resource doesn't require authentication.
    init(client: NetworkClient, resource: Resource) {
        var chain = resource.requiresAuthentication ? client.chain : client.chain.withoutAuthenticators
        chain.add(resource.interceptors)
        self.init(
            client: client,
            chain: chain,
            options: resource.options,
            traits: resource.traits,
            errorDecoding: resource.errorDecoding
        )
        resource.interceptors.report(to: observers)
    }
}

extension ModelDecoding {
    /// Decodes the response, and attaches it to errors.
    func model(of response: HTTPResponse) throws -> Model {
        do {
            return try decode(response)
        } catch {
            var failure =
                error as? NetworkError
                ?? NetworkError(
                    .decoding,
                    "the response (status \(response.status)) couldn't be decoded as \(Model.self)",
                    cause: DecodingFailure(error)
                )
            failure.response = failure.response ?? response
            failure.endpoint = failure.endpoint ?? response.url.pathComponents.last
            throw failure
        }
    }
}
