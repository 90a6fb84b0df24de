public import Foundation
import FoundationNetworking
import Synchronization

/// An upload of data, a file, a stream or a form.
///
/// ```swift
/// let upload = client.upload(try .file(archive), to: url)
/// for await progress in upload.progress { print(progress.completedBytes) }
/// let response = try await upload.value
/// ```
///
/// The upload begins at once, or when the client's limit permits (see
/// ``NetworkClient/Options/maximumTransfers``). It reads files and streams while sending them, and
/// checks the status even if the response has no body. Retries, authenticators and redirects send
/// the source again if it can be read again. Otherwise, the upload fails before sending anything
/// twice.
///
/// The handle owns the upload. Releasing its last reference cancels the upload, unless a task
/// awaits ``value`` or reads ``progress``.
public final class Upload<Value: Sendable>: Transfer {
    /// A number that's unique among the client's transfers and increases with each transfer.
    public var id: UInt64 { core.id }
    private let core: TransferCore<Value>
    private let source: UploadSource

    init(core: TransferCore<Value>, source: UploadSource) {
        self.core = core
        self.source = source
    }

    deinit {
        core.cancel()
    }

    /// The response or the model decoded from it, once the upload has completed.
    ///
    /// Canceling the awaiting task cancels the upload.
    ///
    /// - Throws: ``ServerError`` for a status that isn't accepted. ``NetworkError`` with the code
    ///   `decoding`, `noData`, `bodyNotReplayable` or `digestMismatch`, or the error of the last
    ///   attempt. `CancellationError` if the upload was canceled.
    public var value: Value {
        get async throws { try await core.value() }
    }

    /// The current progress.
    public var currentProgress: TransferProgress { core.progress }

    /// The current progress, then each update until the end; see ``Transfer/progress``.
    public var progress: AsyncStream<TransferProgress> { core.updates(of: self) }

    /// Cancels the upload, if it hasn't ended, and waits for its end.
    public func cancel() async { await core.end() }

    /// Sends everything again after a failure or a cancellation.
    ///
    /// ``value`` and ``progress`` then belong to the new attempt. Has no effect on an upload that
    /// is in progress or has succeeded.
    ///
    /// - Throws: ``NetworkError`` with the code `bodyNotReplayable` if the source can be read only
    ///   once and was already read.
    public func retry() throws(NetworkError) {
        guard currentProgress.state != .completed else { return }
        try source.checkIsReadable()
        core.restart(self)
    }
}

struct UploadOptions: Sendable {
    let expectsContinue: Bool
    let digest: DigestSender?
    let request: RequestOptions
}

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
    ///   - expectsContinue: Whether the client asks the server before it sends the body. The client
    ///     then sends `Expect: 100-continue` ([RFC 9110
    ///     §10.1.1](https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1)), so that the server can
    ///     reject the request before it receives the body. If the server doesn't respond, the
    ///     client sends the body after a second. If it rejects the expectation (417), the client
    ///     sends the request again without it. Over HTTP/2, the client doesn't send the
    ///     expectation. The default is `false`.
    ///   - digest: The interceptor that adds digests; `nil`, the default, sends none. It runs after
    ///     the client's interceptors. If one of them signs the request, pass the ``DigestSender``
    ///     to the client instead, before that interceptor.
    ///   - options: The options that override the client's; a body in them is ignored. Unlike the
    ///     client's other requests, a transfer has no overall timeout, and its idle timeout is 60
    ///     seconds, unless these options specify them. The timeout starts when the upload begins to
    ///     run, so waiting in the client's queue doesn't count.
    /// - Returns: The upload, which has begun. Its value is the model.
    public func upload<Model>(
        _ source: EndpointBody,
        to url: URL,
        method: HTTPMethod = .post,
        headers: HTTPHeaders = [:],
        decoding: ModelDecoding<Model> = .response,
        expectsContinue: Bool = false,
        digest: DigestSender? = nil,
        options: RequestOptions = RequestOptions()
    ) -> Upload<Model> {
        let options = UploadOptions(expectsContinue: expectsContinue, digest: digest, request: options)
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
    ///   - expectsContinue: Whether the client asks the server before it sends the body, as for an
    ///     upload to a URL. The default is `false`.
    ///   - digest: The interceptor that adds digests; `nil`, the default, sends none.
    ///   - options: The options that override the client's, as for an upload to a URL.
    /// - Returns: The upload, which has begun. Its value is the model.
    public func upload<Model>(
        _ source: EndpointBody,
        to endpoint: some HTTPEndpoint,
        decoding: ModelDecoding<Model> = .response,
        expectsContinue: Bool = false,
        digest: DigestSender? = nil,
        options: RequestOptions = RequestOptions()
    ) -> Upload<Model> {
        let options = UploadOptions(expectsContinue: expectsContinue, digest: digest, request: options)
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

struct UploadRun<Value: Sendable>: Sendable {
    let client: NetworkClient
    let resource: Resource
    let source: UploadSource
    let options: UploadOptions
    let decoding: ModelDecoding<Value>
    let core: TransferCore<Value>

    func run() async throws -> Value {
        try await client.transferQueue.withTurn {
            core.noteTurn()
            try source.checkIsReadable()
            let loop = AttemptLoop(client: client, resource: prepared())
            let response = try await loop.run { try await request() }
            core.move(to: source.content.contentLength ?? source.readCount, of: source.content.contentLength)
            return try decoding.model(of: response)
        }
    }

    private func request() async throws -> HTTPRequest {
        var request = try await resource.makeBase().withoutDefaultTimeout()
        if let contentType = source.contentType {
            try HTTPHeaders.Field(name: "Content-Type", value: contentType).validate()
            request.headers.setDefault("Content-Type", contentType)
        }
        request.body = source.content
        return request
    }

    private func prepared() -> Resource {
        var resource = resource
        let compression = options.request.requestCompression ?? resource.options.requestCompression
        resource.options = options.request.forTransfer(maximumBodySize: nil)
        resource.options.requestCompression = compression
        resource.options.body = nil
        if let digest = options.digest { resource.interceptors.append(digest) }
        if options.expectsContinue { resource.interceptors.append(ContinueExpectation()) }
        let (core, source, other) = (core, source, resource.options.observer)
        let length = source.content.contentLength
        resource.options.observer = { event in
            switch event {
            case .started: core.move(to: 0, of: length)
            // For a body without a length, this count includes the chunk framing.
            case .bodySent(let count): core.move(to: min(count, length ?? source.readCount), of: length)
            default: break
            }
            other?(event)
        }
        return resource
    }
}

/// Adds `Expect: 100-continue`, and omits it if the server rejects it.
private struct ContinueExpectation: RequestInterceptor, RetryVoter {
    func intercept(_ request: HTTPRequest, next: Next) async throws -> HTTPResponse {
        var request = request
        if !next.context.retryState.errors.contains(where: isRefusal) { request.headers["Expect"] = "100-continue" }
        return try await next(request)
    }

    func evaluateFailedRequest(_ failure: FailedRequest) async -> Retry.Action {
        isRefusal(failure.error) && !failure.context.retryState.errors.contains(where: isRefusal) ? .retry : .none
    }

    private func isRefusal(_ error: any Error) -> Bool {
        (error as? ServerError)?.errorCode == 417
    }
}

final class UploadSource: Sendable {
    let contentType: String?
    private let body: HTTPBody
    /// The bytes of a stream that the latest attempt has read; `nil` before the first.
    private let count = Mutex<Int?>(nil)

    init(_ body: EndpointBody) {
        self.body = body.content
        contentType = body.contentType
    }

    /// Counts the bytes of a stream.
    var content: HTTPBody {
        guard case .stream(let length, let isReplayable, let producer) = body.source else { return body }
        return HTTPBody(length: length, isReplayable: isReplayable) { [self] deliver in
            try begin()
            try await producer { [self] part in
                count.withLock { $0 = ($0 ?? 0) + part.count }
                try await deliver(part)
            }
        }
    }

    var readCount: Int { count.withLock { $0 ?? 0 } }

    func checkIsReadable() throws(NetworkError) {
        guard count.withLock({ $0 == nil }) || body.isReplayable else { throw Self.isUsedUp }
    }

    private func begin() throws(NetworkError) {
        let isFirst = count.withLock { count in
            defer { count = 0 }
            return count == nil
        }
        guard isFirst || body.isReplayable else { throw Self.isUsedUp }
    }

    private static var isUsedUp: NetworkError {
        NetworkError(
            .bodyNotReplayable,
            "the upload's source can be read only once and was already read; start another upload with a new source"
        )
    }
}
