public import Foundation
import FoundationNetworking

extension NetworkClient {
    /// Uploads something to a URL.
    ///
    /// - Parameters:
    ///   - source: What to send and what it is: `.data(…)`, `.file(…)`, `.multipart(…)`, `.json(…)`, or an `EndpointBody` of a stream.
    ///   - url: The URL.
    ///   - method: The method; `POST` by default.
    ///   - headers: More header fields; a `Content-Type` in them wins over the source's.
    ///   - options: What it does otherwise than by default.
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

    /// Uploads something to a URL, and decodes the response.
    ///
    /// - Parameters:
    ///   - source: What to send and what it is.
    ///   - url: The URL.
    ///   - method: The method; `POST` by default.
    ///   - headers: More header fields; a `Content-Type` in them wins over the source's.
    ///   - decoding: How the response becomes a model.
    ///   - options: What it does otherwise than by default.
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

    /// Uploads something to an endpoint, whose method, headers and accepted statuses count; the source takes the place of its body.
    ///
    /// - Parameters:
    ///   - source: What to send and what it is.
    ///   - endpoint: What to call. Its timeout holds for each attempt; without one there is none.
    ///   - options: What it does otherwise than by default.
    /// - Returns: The upload, which has begun. Its value is the response.
    public func upload(
        _ source: EndpointBody,
        to endpoint: some HTTPEndpoint,
        options: UploadOptions = UploadOptions()
    ) -> Upload<HTTPResponse> {
        upload(source, to: Self.resource(endpoint), options: options) { $0 }
    }

    /// Uploads something to an endpoint, and decodes the response.
    ///
    /// - Parameters:
    ///   - source: What to send and what it is.
    ///   - endpoint: What to call. Its timeout holds for each attempt; without one there is none.
    ///   - decoding: How the response becomes a model.
    ///   - options: What it does otherwise than by default.
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

/// An endpoint without its body, which the source of an upload takes the place of.
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
}
