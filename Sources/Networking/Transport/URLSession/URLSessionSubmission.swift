import Foundation
import FoundationNetworking
import Synchronization

/// A request in URLSession's terms, as the caller's task and the engine both know it.
final class URLSessionSubmission: Sendable {
    let identifier: UInt64
    let request: URLRequest
    let origin: HTTPOrigin
    let limits: HTTPTransportLimits
    private let cancellation = Atomic<Bool>(false)

    init(identifier: UInt64, request: HTTPTransportRequest, limits: HTTPTransportLimits) throws(NetworkError) {
        try request.validate()
        guard let origin = HTTPOrigin(request.url) else {
            throw NetworkError(.invalidRequest, "the URL has no scheme and host; give an absolute URL")
        }
        if request.method == .get, request.body.contentLength != 0 {
            throw NetworkError(.invalidRequest, "URLSession can't send a GET request with a body; use CurlTransport")
        }
        self.identifier = identifier
        self.origin = origin
        self.limits = limits
        // The session's own timer counts whole seconds and waiting too; the deadline is kept by the engine instead.
        var result = URLRequest(url: request.url, timeoutInterval: 86_400)
        result.httpMethod = request.method.rawValue
        for field in request.headers where !field.name.equalsIgnoringASCIICase("Content-Length") {
            result.addValue(field.value, forHTTPHeaderField: field.name)
        }
        switch request.body.source {
        case .none: break
        case .data(let data): if !data.isEmpty { result.httpBody = data }
        case .file, .stream: throw NetworkError(.invalidRequest, "this transport sends bodies from memory only")
        }
        self.request = result
    }
    /// Whether the task was cancelled, which the engine may learn before it knows the exchange.
    var isCancelled: Bool { cancellation.load(ordering: .acquiring) }

    func cancel() {
        cancellation.store(true, ordering: .releasing)
    }
}
