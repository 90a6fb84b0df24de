import Foundation
import FoundationNetworking

extension URLRequest {
    /// The last component of the path, by which errors name an endpoint; `nil` if the path is empty.
    var endpoint: String? { url?.pathComponents.last }

    /// How long one attempt may take; `nil` if the request does not say.
    var attemptTimeout: Duration? {
        // A day is more than any attempt needs, and `Duration` traps on what it can't hold.
        let seconds = timeoutInterval
        guard seconds.isFinite, seconds > 0 else { return nil }
        return .seconds(min(seconds, 86_400))
    }
}

extension HTTPTransportRequest {
    /// Takes from a `URLRequest` what goes over the wire; its header fields are sorted, so that the order is stable.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - body: The body of a request without an `httpBody`.
    ///   - userAgent: The `User-Agent` if the request has none. It is added here and not to the `URLRequest`, whose setter takes
    ///     longer than the rest of the client.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if the request has no URL, a malformed method or a body stream.
    init(_ request: URLRequest, body: HTTPBody?, userAgent: String) throws(NetworkError) {
        guard let url = request.url else {
            throw NetworkError(.invalidRequest, "the request has no URL")
        }
        guard let method = HTTPMethod(request.httpMethod ?? "GET") else {
            throw NetworkError(.invalidRequest, "the method has a character that a method must not have")
        }
        guard request.httpBodyStream == nil else {
            throw NetworkError(
                .invalidRequest,
                "a URLRequest's body stream is not supported; use httpBody, or the body of RequestOptions"
            )
        }
        self.init(
            method: method,
            url: url,
            headers: HTTPHeaders(request.allHTTPHeaderFields ?? [:], userAgent: userAgent),
            body: request.httpBody.map(HTTPBody.data) ?? body ?? .none
        )
    }
}

extension HTTPHeaders {
    fileprivate init(_ fields: [String: String], userAgent: String) {
        var list: [Field] = []
        list.reserveCapacity(fields.count + 1)
        var hasUserAgent = false
        for (name, value) in fields {
            hasUserAgent = hasUserAgent || name.equalsIgnoringASCIICase("User-Agent")
            list.append(Field(name: name, value: value))
        }
        if !hasUserAgent { list.append(Field(name: "User-Agent", value: userAgent)) }
        if list.count > 1 { list.sort { $0.name < $1.name } }
        self.init(list)
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
