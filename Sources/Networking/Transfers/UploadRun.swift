import Foundation
import FoundationNetworking

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
            let response = try await loop.run { try await urlRequest() }
            core.move(to: source.content.contentLength ?? source.readCount, of: source.content.contentLength)
            return try decoding.model(of: response)
        }
    }

    private func urlRequest() async throws -> AttemptLoop.Base {
        var request = try await resource.makeBase().request.withoutDefaultTimeout()
        if let contentType = source.contentType, request.value(forHTTPHeaderField: "Content-Type") == nil {
            try request.setHeaderField("Content-Type", to: contentType)
        }
        return (request, source.content)
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
private struct ContinueExpectation: RequestInterceptor {
    func interceptRequest(
        _ request: Result<URLRequest, any Error>,
        context: InterceptorContext
    ) async throws -> URLRequest {
        var request = try request.get()
        if !context.retryState.errors.contains(where: isRefusal) {
            request.setValue("100-continue", forHTTPHeaderField: "Expect")
        }
        return request
    }

    func evaluateFailedRequest(
        _ request: URLRequest,
        response: HTTPResponse?,
        error: any Error,
        context: InterceptorContext
    ) -> Retry.Action {
        isRefusal(error) && !context.retryState.errors.contains(where: isRefusal) ? .retry : .none
    }

    private func isRefusal(_ error: any Error) -> Bool {
        (error as? ServerError)?.errorCode == 417
    }
}
