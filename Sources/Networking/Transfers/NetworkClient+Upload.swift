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
    ///   - decoding: The decoding of the response. The default returns the response itself.
    ///   - options: The options of the upload.
    /// - Returns: The upload, which has begun. Its value is the model.
    public func upload<Model>(
        _ source: EndpointBody,
        to url: URL,
        method: HTTPMethod = .post,
        headers: HTTPHeaders = [:],
        decoding: ModelDecoding<Model> = .response,
        options: UploadOptions = UploadOptions()
    ) -> Upload<Model> {
        let resource = Resource {
            var request = URLRequest(url: url)
            request.httpMethod = method.rawValue
            try request.addHeaderFields(headers)
            return request
        }
        return upload(source, to: resource, decoding, options)
    }

    /// Uploads a body to an endpoint.
    ///
    /// The endpoint provides the method, header fields and accepted statuses, but not the body.
    ///
    /// - Parameters:
    ///   - source: The body, which replaces the endpoint's.
    ///   - endpoint: The endpoint to call. Its timeout, if any, applies to each attempt.
    ///   - decoding: The decoding of the response. The default returns the response itself.
    ///   - options: The options of the upload.
    /// - Returns: The upload, which has begun. Its value is the model.
    public func upload<Model>(
        _ source: EndpointBody,
        to endpoint: some HTTPEndpoint,
        decoding: ModelDecoding<Model> = .response,
        options: UploadOptions = UploadOptions()
    ) -> Upload<Model> {
        var resource = Resource(endpoint)
        resource.makeBase = { try endpoint.makeBase(with: EndpointBody.none) }
        return upload(source, to: resource, decoding, options)
    }

    private func upload<Value: Sendable>(
        _ body: EndpointBody,
        to resource: Resource,
        _ decoding: ModelDecoding<Value>,
        _ options: UploadOptions
    ) -> Upload<Value> {
        let source = UploadSource(body)
        let core = TransferCore<Value>(client: self) { core in
            try await UploadRun(
                client: self,
                resource: resource,
                source: source,
                options: options,
                decoding: decoding,
                core: core
            ).run()
        }
        let upload = Upload(core: core, source: source)
        core.start(upload)
        return upload
    }
}
