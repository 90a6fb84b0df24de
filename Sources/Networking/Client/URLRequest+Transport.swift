import Foundation
import FoundationNetworking
import OpenSSLCrypto

extension URLRequest {
    /// The last component of the path, which errors name; `nil` if the path is empty.
    var endpoint: String? { url?.pathComponents.last }

    /// The timeout of one attempt; `nil` if the request doesn't set one.
    var attemptTimeout: Duration? {
        let seconds = timeoutInterval
        guard seconds.isFinite, seconds > 0 else { return nil }
        return Duration(clampingSeconds: min(seconds, 86_400))
    }
}

extension HTTPTransportRequest {
    /// Creates a transport request from a `URLRequest`, with the body if it has no `httpBody`.
    ///
    /// The header fields are sorted for a stable order. A missing `User-Agent` is added here,
    /// because the setter of `URLRequest` takes longer than the rest of the client.
    ///
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if the request has no URL, a
    ///   malformed method or a body stream.
    init(_ request: URLRequest, body: HTTPBody?, userAgent: String) throws(NetworkError) {
        guard let url = request.url else {
            throw NetworkError(.invalidRequest, "the request has no URL")
        }
        guard let method = HTTPMethod(request.httpMethod ?? "GET") else {
            throw NetworkError(.invalidRequest, "the method isn't a valid HTTP token")
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
    /// Returns the error with the endpoint, if it's a ``NetworkError`` that has none.
    func naming(_ endpoint: String?) -> any Error {
        guard var error = self as? NetworkError, error.endpoint == nil else { return self }
        error.endpoint = endpoint
        return error
    }
}
