public import Foundation
import FoundationNetworking

extension NetworkClient {
    /// Uploads a body to a URL.
    ///
    /// - Parameters:
    ///   - source: The body: `.data(…)`, `.file(…)`, `.multipart(…)`, `.json(…)`, or an
    ///     `EndpointBody` of a stream.
    ///   - url: The URL.
    ///   - method: The method. The default is `POST`.
    ///   - headers: Additional header fields. A `Content-Type` here overrides the body's.
    ///   - options: The options of the upload.
    /// - Returns: The upload, which has begun. Its value is the response.
    public func upload(
        _ source: EndpointBody,
        to url: URL,
        method: HTTPMethod = .post,
        headers: HTTPHeaders = [:],
        options: UploadOptions = UploadOptions()
    ) -> Upload<HTTPResponse> {
        upload(source, to: Self.resource(url, method, headers), options: options) { $0 }
    }

    /// Uploads a body to a URL, and decodes the response.
    ///
    /// - Parameters:
    ///   - source: The body.
    ///   - url: The URL.
    ///   - method: The method. The default is `POST`.
    ///   - headers: Additional header fields. A `Content-Type` here overrides the body's.
    ///   - decoding: The decoding of the response.
    ///   - options: The options of the upload.
    /// - Returns: The upload, which has begun. Its value is the model.
    public func upload<Model>(
        _ source: EndpointBody,
        to url: URL,
        method: HTTPMethod = .post,
        headers: HTTPHeaders = [:],
        decoding: ModelDecoding<Model>,
        options: UploadOptions = UploadOptions()
    ) -> Upload<Model> {
        upload(source, to: Self.resource(url, method, headers), options: options) { try decoding.model(of: $0) }
    }

    /// Uploads a body to an endpoint.
    ///
    /// The endpoint provides the method, header fields and accepted statuses, but not the body.
    ///
    /// - Parameters:
    ///   - source: The body, which replaces the endpoint's.
    ///   - endpoint: The endpoint to call. Its timeout, if any, applies to each attempt.
    ///   - options: The options of the upload.
    /// - Returns: The upload, which has begun. Its value is the response.
    public func upload(
        _ source: EndpointBody,
        to endpoint: some HTTPEndpoint,
        options: UploadOptions = UploadOptions()
    ) -> Upload<HTTPResponse> {
        upload(source, to: Self.resource(endpoint), options: options) { $0 }
    }

    /// Uploads a body to an endpoint, and decodes the response.
    ///
    /// - Parameters:
    ///   - source: The body, which replaces the endpoint's.
    ///   - endpoint: The endpoint to call. Its timeout, if any, applies to each attempt.
    ///   - decoding: The decoding of the response.
    ///   - options: The options of the upload.
    /// - Returns: The upload, which has begun. Its value is the model.
    public func upload<Model>(
        _ source: EndpointBody,
        to endpoint: some HTTPEndpoint,
        decoding: ModelDecoding<Model>,
        options: UploadOptions = UploadOptions()
    ) -> Upload<Model> {
        upload(source, to: Self.resource(endpoint), options: options) { try decoding.model(of: $0) }
    }

    private func upload<Value: Sendable>(
        _ body: EndpointBody,
        to resource: Resource,
        options: UploadOptions,
        decode: @escaping @Sendable (HTTPResponse) throws -> Value
    ) -> Upload<Value> {
        let source = UploadSource(body)
        let core = TransferCore<Value>(client: self) { monitor in
            let run = UploadRun(
                client: self,
                resource: resource,
                source: source,
                options: options,
                decode: decode,
                monitor: monitor
            )
            return try await run.run()
        }
        let upload = Upload(core: core, source: source)
        core.start(upload)
        return upload
    }

    private static func resource(_ url: URL, _ method: HTTPMethod, _ headers: HTTPHeaders) -> Resource {
        let traits = RequestTraits(isIdempotent: headers["Idempotency-Key"] != nil ? true : nil)
        return Resource(traits: traits) {
            var request = URLRequest(url: url)
            request.httpMethod = method.rawValue
            try request.addHeaderFields(headers)
            return request
        }
    }

    private static func resource(_ endpoint: some HTTPEndpoint) -> Resource {
        Resource(UploadEndpoint(endpoint: endpoint))
    }
}

/// An endpoint without its body, which the upload's source replaces.
private struct UploadEndpoint<Endpoint: HTTPEndpoint>: HTTPEndpoint {
    let endpoint: Endpoint

    var baseURL: URL { endpoint.baseURL }
    var path: URLPath { endpoint.path }
    var method: HTTPMethod { endpoint.method }
    var query: URLQuery { endpoint.query }
    var headers: HTTPHeaders { endpoint.headers }
    var acceptedStatuses: AcceptedStatuses { endpoint.acceptedStatuses }
    var requiresAuthentication: Bool { endpoint.requiresAuthentication }
    var timeout: Duration? { endpoint.timeout }
    var cachePolicy: URLRequest.CachePolicy { endpoint.cachePolicy }
    var isIdempotent: Bool { endpoint.isIdempotent }
    var requestCompression: RequestCompression? { endpoint.requestCompression }
}
