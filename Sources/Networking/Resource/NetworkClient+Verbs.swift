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
    ///   - path: The path below the client's base URL. An interpolated value can't change its
    ///     structure; see ``URLPath``.
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
    ///   - path: The path below the client's base URL. An interpolated value can't change its
    ///     structure; see ``URLPath``.
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
    ///   - path: The path below the client's base URL. An interpolated value can't change its
    ///     structure; see ``URLPath``.
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
    ///   - path: The path below the client's base URL. An interpolated value can't change its
    ///     structure; see ``URLPath``.
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
    ///   - path: The path below the client's base URL. An interpolated value can't change its
    ///     structure; see ``URLPath``.
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
    ///   - path: The path below the client's base URL. An interpolated value can't change its
    ///     structure; see ``URLPath``.
    ///   - body: The body, such as `.json(…)`, `.form(…)` or `.file(…)`. The default is none.
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
    ///   - path: The path below the client's base URL. An interpolated value can't change its
    ///     structure; see ``URLPath``.
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
    ///   - path: The path below the client's base URL. An interpolated value can't change its
    ///     structure; see ``URLPath``.
    ///   - body: The body, such as `.json(…)`, `.form(…)` or `.file(…)`. The default is none.
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
    ///   - path: The path below the client's base URL. An interpolated value can't change its
    ///     structure; see ``URLPath``.
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
    ///   - path: The path below the client's base URL. An interpolated value can't change its
    ///     structure; see ``URLPath``.
    ///   - body: The body, such as `.json(…)`, `.form(…)` or `.file(…)`. The default is none.
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
