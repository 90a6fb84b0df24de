import Foundation
import FoundationNetworking
import Synchronization

/// A request in URLSession's terms, shared by the caller's task and the engine.
final class URLSessionSubmission: Sendable {
    let identifier: UInt64
    let request: URLRequest
    let origin: HTTPOrigin
    let limits: HTTPTransportLimits
    let observer: (@Sendable (HTTPTransportEvent) -> Void)?
    let submitted: ContinuousClock.Instant
    private let cancellation = Atomic<Bool>(false)

    /// Validates the request and reads its body into memory.
    init(
        identifier: UInt64,
        request: HTTPRequest,
        limits: HTTPTransportLimits,
        maximumRequestBodySize: Int
    ) async throws {
        submitted = .now
        let origin = try request.validate()
        try NetworkError.require(
            request.method != .get || request.body.contentLength == 0,
            "URLSession can't send a GET request with a body; use CurlTransport"
        )
        self.identifier = identifier
        self.origin = origin
        self.limits = limits
        observer = request.observer
        // The session's timer has a resolution of one second and includes the time in the queue, so
        // the engine keeps the time instead.
        var result = URLRequest(url: request.url, timeoutInterval: 86_400)
        result.httpMethod = request.method.rawValue
        for field in request.headers where !field.name.equalsIgnoringASCIICase("Content-Length") {
            result.addValue(field.value, forHTTPHeaderField: field.name)
        }
        let octets = try await URLSessionUpload.octets(
            of: request.body,
            to: origin,
            upTo: maximumRequestBodySize,
            limits: limits
        )
        if let octets, !octets.isEmpty { result.httpBody = octets }
        self.request = result
    }

    /// A Boolean value that indicates whether the task was cancelled, possibly before the engine
    /// received the request.
    var isCancelled: Bool { cancellation.load(ordering: .acquiring) }

    func cancel() {
        cancellation.store(true, ordering: .releasing)
    }
}
