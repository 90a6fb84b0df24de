import Foundation

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

    /// Returns the resource with the options of a transfer.
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

/// An interceptor that adds `Expect: 100-continue`, and omits it if the server rejects it.
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
