import Foundation

extension NetworkClient {
    /// Sends a request and returns the whole response.
    ///
    /// - Parameters:
    ///   - source: A URL, a request, an endpoint or a resource.
    ///   - options: The overrides of the client's defaults, in place of the resource's. The default
    ///     is `nil`.
    /// - Returns: A response with a status that the resource accepts, by default 200…299.
    /// - Throws: ``ServerError`` for any other status, with the decoded API error. ``NetworkError``
    ///   if there was no response. If a voter asks for a retry but the body can be sent only once,
    ///   the error's `retry` has the reason `bodyNotReplayable`.
    @discardableResult
    public func response(
        for source: some RequestConvertible,
        options: RequestOptions? = nil
    ) async throws -> HTTPResponse {
        let loop = AttemptLoop(client: self, resource: source.makeResource().with(options))
        return try await loop.run(loop.resource.makeBase)
    }

    /// Sends a request and returns the response once its header arrives, before its body.
    ///
    /// ```swift
    /// let response = try await client.stream(request)
    /// for try await part in response.stream { try file.write(contentsOf: part) }
    /// ```
    ///
    /// Interceptors see the response with an empty `body`, and the client can retry until the
    /// header has arrived. After that, the stream throws if the connection fails. The operation's
    /// timeout, the request's `timeoutInterval` and the maximum body size apply until the end of
    /// the body; pass ``RequestOptions`` for a long one. A response with a status that isn't
    /// accepted is received completely before it's thrown.
    ///
    /// - Parameters:
    ///   - source: A URL, a request, an endpoint or a resource.
    ///   - options: The overrides of the client's defaults, in place of the resource's. The default
    ///     is `nil`.
    /// - Returns: The response; read its ``HTTPResponse/stream``.
    /// - Throws: What ``response(for:options:)`` throws.
    public func stream(
        _ source: some RequestConvertible,
        options: RequestOptions? = nil
    ) async throws -> HTTPResponse {
        let loop = AttemptLoop(client: self, resource: source.makeResource().with(options), delivery: .streamed)
        return try await loop.run(loop.resource.makeBase)
    }

    // MARK: Models

    /// Sends a request and decodes the response.
    ///
    /// Decoding follows the last attempt. The client doesn't retry a response that can't be
    /// decoded.
    ///
    /// - Parameters:
    ///   - source: A URL, a request, an endpoint or a resource.
    ///   - decoding: The decoding of the response.
    /// - Returns: The model.
    /// - Throws: What ``response(for:options:)`` throws. ``NetworkError`` with the code `decoding`
    ///   or `noData` and the response attached.
    public func fetch<Model>(
        _ source: some RequestConvertible,
        decoding: ModelDecoding<Model>
    ) async throws -> Model {
        try decoding.model(of: await response(for: source))
    }

    /// Sends a request and decodes JSON; the model is inferred from the result type.
    ///
    /// ```swift
    /// let book: Book = try await client.fetch(Library.book(id: 42))
    /// // `nil` for a 204
    /// let found = try await client.fetch(Library.book(id: 42), as: Book?.self)
    /// ```
    ///
    /// - Parameters:
    ///   - source: A URL, a request, an endpoint or a resource.
    ///   - model: The type of the model.
    /// - Returns: The model.
    /// - Throws: The errors of ``fetch(_:decoding:)``.
    public func fetch<Model: Decodable & SendableMetatype>(
        _ source: some RequestConvertible,
        as model: Model.Type = Model.self
    ) async throws -> Model {
        try await fetch(source, decoding: .json(model))
    }

    /// Calls an endpoint and returns its model.
    ///
    /// - Parameter endpoint: The endpoint to call.
    /// - Returns: The model.
    /// - Throws: The errors of ``fetch(_:decoding:)``.
    public func fetch<Endpoint: ModelEndpoint>(_ endpoint: Endpoint) async throws -> Endpoint.Model {
        try await fetch(endpoint, decoding: endpoint.decoding)
    }
}

extension Resource {
    consuming func with(_ options: RequestOptions?) -> Self {
        if let options { self.options = options }
        return self
    }
}

extension ModelDecoding {
    /// Attaches the response to errors.
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

// The verbs of an API below the client's base URL.
extension NetworkClient {
    private func endpoint(
        _ method: HTTPMethod,
        _ path: URLPath,
        _ query: URLQuery,
        _ headers: HTTPHeaders,
        _ body: @escaping @Sendable () throws -> EndpointBody = { .none }
    ) throws(NetworkError) -> VerbEndpoint {
        guard let baseURL else {
            throw NetworkError(
                .invalidRequest,
                "the client has no base URL for the path; create it with one: NetworkClient(baseURL: …)"
            )
        }
        return VerbEndpoint(
            baseURL: baseURL,
            method: method,
            path: path,
            query: query,
            headers: headers,
            content: body
        )
    }

    /// Gets a resource below the base URL, and decodes the response's JSON
    /// ([RFC 9110 §9.3.1](https://www.rfc-editor.org/rfc/rfc9110#section-9.3.1)).
    ///
    /// ```swift
    /// let report = try await client.get("reports/\(id)", as: Report.self)
    /// ```
    ///
    /// - Parameters:
    ///   - path: The path below the client's base URL; see ``URLPath``.
    ///   - query: The parameters after the path. The default is empty.
    ///   - headers: The header fields. The default is empty.
    ///   - model: The type of the model.
    /// - Returns: The model.
    /// - Throws: The errors of ``fetch(_:decoding:)``; ``NetworkError`` with the code
    ///   `invalidRequest` if the client has no base URL.
    public func get<Model: Decodable & SendableMetatype>(
        _ path: URLPath,
        query: URLQuery = [:],
        headers: HTTPHeaders = [:],
        as model: Model.Type
    ) async throws -> Model {
        try await fetch(endpoint(.get, path, query, headers), as: model)
    }

    /// Gets a resource below the base URL.
    ///
    /// - Parameters:
    ///   - path: The path below the client's base URL; see ``URLPath``.
    ///   - query: The parameters after the path. The default is empty.
    ///   - headers: The header fields. The default is empty.
    /// - Returns: The response.
    /// - Throws: What ``response(for:options:)`` throws; ``NetworkError`` with the code
    ///   `invalidRequest` if the client has no base URL.
    @discardableResult
    public func get(
        _ path: URLPath,
        query: URLQuery = [:],
        headers: HTTPHeaders = [:]
    ) async throws -> HTTPResponse {
        try await response(for: endpoint(.get, path, query, headers))
    }

    /// Deletes a resource below the base URL, and decodes the response's JSON
    /// ([RFC 9110 §9.3.5](https://www.rfc-editor.org/rfc/rfc9110#section-9.3.5)).
    ///
    /// - Parameters:
    ///   - path: The path below the client's base URL; see ``URLPath``.
    ///   - query: The parameters after the path. The default is empty.
    ///   - headers: The header fields. The default is empty.
    ///   - model: The type of the model.
    /// - Returns: The model.
    /// - Throws: The errors of ``fetch(_:decoding:)``; ``NetworkError`` with the code
    ///   `invalidRequest` if the client has no base URL.
    public func delete<Model: Decodable & SendableMetatype>(
        _ path: URLPath,
        query: URLQuery = [:],
        headers: HTTPHeaders = [:],
        as model: Model.Type
    ) async throws -> Model {
        try await fetch(endpoint(.delete, path, query, headers), as: model)
    }

    /// Deletes a resource below the base URL.
    ///
    /// - Parameters:
    ///   - path: The path below the client's base URL; see ``URLPath``.
    ///   - query: The parameters after the path. The default is empty.
    ///   - headers: The header fields. The default is empty.
    /// - Returns: The response.
    /// - Throws: What ``response(for:options:)`` throws; ``NetworkError`` with the code
    ///   `invalidRequest` if the client has no base URL.
    @discardableResult
    public func delete(
        _ path: URLPath,
        query: URLQuery = [:],
        headers: HTTPHeaders = [:]
    ) async throws -> HTTPResponse {
        try await response(for: endpoint(.delete, path, query, headers))
    }

    /// Posts JSON to a resource below the base URL, and decodes the response's JSON
    /// ([RFC 9110 §9.3.3](https://www.rfc-editor.org/rfc/rfc9110#section-9.3.3)).
    ///
    /// ```swift
    /// let receipt = try await client.post("orders", json: order, as: Receipt.self)
    /// ```
    ///
    /// - Parameters:
    ///   - path: The path below the client's base URL; see ``URLPath``.
    ///   - value: The value that the body contains as JSON.
    ///   - query: The parameters after the path. The default is empty.
    ///   - headers: The header fields. The default is empty.
    ///   - model: The type of the model.
    /// - Returns: The model.
    /// - Throws: The errors of ``fetch(_:decoding:)``; ``NetworkError`` with the code
    ///   `requestNotMade` if the value can't be encoded, and `invalidRequest` if the client has no
    ///   base URL.
    public func post<Model: Decodable & SendableMetatype>(
        _ path: URLPath,
        json value: some Encodable & Sendable,
        query: URLQuery = [:],
        headers: HTTPHeaders = [:],
        as model: Model.Type
    ) async throws -> Model {
        try await fetch(endpoint(.post, path, query, headers) { try .json(value) }, as: model)
    }

    /// Posts a body to a resource below the base URL.
    ///
    /// - Parameters:
    ///   - path: The path below the client's base URL; see ``URLPath``.
    ///   - body: The body, such as `.json(…)`, `.form(…)` or `.file(…)`. By default, the request
    ///     has none.
    ///   - query: The parameters after the path. The default is empty.
    ///   - headers: The header fields. The default is empty.
    /// - Returns: The response.
    /// - Throws: What ``response(for:options:)`` throws; ``NetworkError`` with the code
    ///   `invalidRequest` if the client has no base URL.
    @discardableResult
    public func post(
        _ path: URLPath,
        body: EndpointBody = .none,
        query: URLQuery = [:],
        headers: HTTPHeaders = [:]
    ) async throws -> HTTPResponse {
        try await response(for: endpoint(.post, path, query, headers) { body })
    }

    /// Replaces a resource with JSON below the base URL, and decodes the response's JSON
    /// ([RFC 9110 §9.3.4](https://www.rfc-editor.org/rfc/rfc9110#section-9.3.4)).
    ///
    /// - Parameters:
    ///   - path: The path below the client's base URL; see ``URLPath``.
    ///   - value: The value that the body contains as JSON.
    ///   - query: The parameters after the path. The default is empty.
    ///   - headers: The header fields. The default is empty.
    ///   - model: The type of the model.
    /// - Returns: The model.
    /// - Throws: The errors of ``fetch(_:decoding:)``; ``NetworkError`` with the code
    ///   `requestNotMade` if the value can't be encoded, and `invalidRequest` if the client has no
    ///   base URL.
    public func put<Model: Decodable & SendableMetatype>(
        _ path: URLPath,
        json value: some Encodable & Sendable,
        query: URLQuery = [:],
        headers: HTTPHeaders = [:],
        as model: Model.Type
    ) async throws -> Model {
        try await fetch(endpoint(.put, path, query, headers) { try .json(value) }, as: model)
    }

    /// Replaces a resource below the base URL.
    ///
    /// - Parameters:
    ///   - path: The path below the client's base URL; see ``URLPath``.
    ///   - body: The body, such as `.json(…)`, `.form(…)` or `.file(…)`. By default, the request
    ///     has none.
    ///   - query: The parameters after the path. The default is empty.
    ///   - headers: The header fields. The default is empty.
    /// - Returns: The response.
    /// - Throws: What ``response(for:options:)`` throws; ``NetworkError`` with the code
    ///   `invalidRequest` if the client has no base URL.
    @discardableResult
    public func put(
        _ path: URLPath,
        body: EndpointBody = .none,
        query: URLQuery = [:],
        headers: HTTPHeaders = [:]
    ) async throws -> HTTPResponse {
        try await response(for: endpoint(.put, path, query, headers) { body })
    }

    /// Changes a resource with JSON below the base URL, and decodes the response's JSON
    /// ([RFC 5789](https://www.rfc-editor.org/rfc/rfc5789)).
    ///
    /// - Parameters:
    ///   - path: The path below the client's base URL; see ``URLPath``.
    ///   - value: The value that the body contains as JSON.
    ///   - query: The parameters after the path. The default is empty.
    ///   - headers: The header fields. The default is empty.
    ///   - model: The type of the model.
    /// - Returns: The model.
    /// - Throws: The errors of ``fetch(_:decoding:)``; ``NetworkError`` with the code
    ///   `requestNotMade` if the value can't be encoded, and `invalidRequest` if the client has no
    ///   base URL.
    public func patch<Model: Decodable & SendableMetatype>(
        _ path: URLPath,
        json value: some Encodable & Sendable,
        query: URLQuery = [:],
        headers: HTTPHeaders = [:],
        as model: Model.Type
    ) async throws -> Model {
        try await fetch(endpoint(.patch, path, query, headers) { try .json(value) }, as: model)
    }

    /// Changes a resource below the base URL.
    ///
    /// - Parameters:
    ///   - path: The path below the client's base URL; see ``URLPath``.
    ///   - body: The body, such as `.json(…)`, `.form(…)` or `.file(…)`. By default, the request
    ///     has none.
    ///   - query: The parameters after the path. The default is empty.
    ///   - headers: The header fields. The default is empty.
    /// - Returns: The response.
    /// - Throws: What ``response(for:options:)`` throws; ``NetworkError`` with the code
    ///   `invalidRequest` if the client has no base URL.
    @discardableResult
    public func patch(
        _ path: URLPath,
        body: EndpointBody = .none,
        query: URLQuery = [:],
        headers: HTTPHeaders = [:]
    ) async throws -> HTTPResponse {
        try await response(for: endpoint(.patch, path, query, headers) { body })
    }
}
