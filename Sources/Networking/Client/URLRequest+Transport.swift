import Foundation
import FoundationNetworking

extension URLRequest {
    /// The last component of the path, by which errors name an endpoint; `nil` if the path is empty.
    var endpoint: String? { url?.pathComponents.last }

    /// The body that the request carries, whichever way; `nil` if it has none.
    var heldBody: HTTPBody? {
        (httpBodyStream as? HTTPBodyStream)?.body ?? httpBody.map(HTTPBody.data)
    }

    /// How long one attempt may take; `nil` if the request does not say.
    var attemptTimeout: Duration? {
        // A day is more than any attempt needs, and `Duration` traps on what it can't hold.
        guard timeoutInterval.isFinite, timeoutInterval > 0 else { return nil }
        return .seconds(min(timeoutInterval, 86_400))
    }
}

extension HTTPTransportRequest {
    /// Takes from a `URLRequest` what goes over the wire; its header fields are sorted, so that the order is stable.
    init(_ request: URLRequest, options: RequestOptions) throws(NetworkError) {
        guard let url = request.url else {
            throw NetworkError(.invalidRequest, "the request has no URL")
        }
        guard let method = HTTPMethod(request.httpMethod ?? "GET") else {
            throw NetworkError(.invalidRequest, "the method has a character that a method must not have")
        }
        guard request.httpBodyStream == nil || request.httpBodyStream is HTTPBodyStream else {
            throw NetworkError(
                .invalidRequest,
                "a URLRequest's body stream is not supported; use httpBody, or the body of RequestOptions"
            )
        }
        let fields = (request.allHTTPHeaderFields ?? [:]).sorted { $0.key < $1.key }
        self.init(
            method: method,
            url: url,
            headers: HTTPHeaders(fields.map { HTTPHeaders.Field(name: $0.key, value: $0.value) }),
            body: options.body ?? request.heldBody ?? .none,
            observer: options.observer
        )
    }
}

extension NetworkError {
    static func cancelled(endpoint: String?) -> Self {
        var error = NetworkError(.cancelled, "the task was cancelled")
        error.endpoint = endpoint
        return error
    }
}

extension Error {
    /// The same error, knowing its endpoint if it is one that can and did not.
    func naming(_ endpoint: String?) -> any Error {
        guard var error = self as? NetworkError, error.endpoint == nil else { return self }
        error.endpoint = endpoint
        return error
    }
}
