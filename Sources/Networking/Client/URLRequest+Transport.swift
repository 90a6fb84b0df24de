package import Foundation
public import FoundationNetworking
import OpenSSLCrypto

extension HTTPRequest {
    /// Creates a request from a `URLRequest`.
    ///
    /// The header fields are sorted for a stable order. The timeout is `timeoutInterval`, by
    /// default 60 seconds.
    ///
    /// - Parameter request: The request.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if the request has no URL, a
    ///   malformed method or a body stream.
    public init(_ request: URLRequest) throws(NetworkError) {
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
        self.method = method
        self.url = url
        headers = HTTPHeaders(request.allHTTPHeaderFields ?? [:])
        body = request.httpBody.map(HTTPBody.data) ?? .none
        timeout = Duration(attemptTimeout: request.timeoutInterval)
        cachePolicy = request.cachePolicy
    }

    /// The last component of the path, which errors name.
    var endpoint: String? { url.pathComponents.last }

    package var heldBody: Data? {
        if case .data(let data) = body.source { data } else { nil }
    }
}

extension URLRequest {
    /// Creates a request with the method, URL, header fields, timeout and body, if that is data.
    ///
    /// Repeated header fields are joined with commas.
    ///
    /// - Parameter request: The request.
    public init(_ request: HTTPRequest) {
        let seconds = request.timeout.map { $0 / .seconds(1) } ?? .infinity
        self.init(url: request.url, cachePolicy: request.cachePolicy, timeoutInterval: seconds)
        httpMethod = request.method.rawValue
        var fields: [String: String] = [:]
        for field in request.headers {
            let known = fields.keys.first { $0.equalsIgnoringASCIICase(field.name) }
            fields[known ?? field.name] = known.flatMap { fields[$0] }.map { "\($0),\(field.value)" } ?? field.value
        }
        allHTTPHeaderFields = fields
        httpBody = request.heldBody
    }
}

extension Duration {
    fileprivate init?(attemptTimeout seconds: Double) {
        guard seconds.isFinite, seconds > 0 else { return nil }
        self.init(clampingSeconds: min(seconds, 86_400))
    }
}

extension HTTPHeaders {
    fileprivate init(_ fields: [String: String]) {
        var list: [Field] = []
        list.reserveCapacity(fields.count + 1)
        for (name, value) in fields { list.append(Field(name: name, value: value)) }
        if list.count > 1 { list.sort { $0.name < $1.name } }
        self.init(list)
    }

    mutating func setDefault(_ name: String, _ value: String) {
        if self[name] == nil { append(name: name, value: value) }
    }

    /// [RFC 9110 §5.3](https://www.rfc-editor.org/rfc/rfc9110#section-5.3): joined with commas.
    func combined(_ name: String) -> String? {
        let values = values(for: name)
        return values.count > 1 ? values.joined(separator: ", ") : values.first
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

extension URLRequest {
    /// Sets a header field, replacing any value, or throws if the field is malformed.
    ///
    /// `setValue(_:forHTTPHeaderField:)` silently drops a value with a line break or a zero byte,
    /// and the request is sent without the field. Use this method for values from other sources:
    ///
    /// ```swift
    /// try request.setHeaderField("X-Tenant", to: tenant)
    /// ```
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if the name isn't a token, or the
    ///   value has a control character
    ///   ([RFC 9110 §5](https://www.rfc-editor.org/rfc/rfc9110#section-5)).
    public mutating func setHeaderField(_ name: String, to value: String) throws(NetworkError) {
        try HTTPHeaders.Field(name: name, value: value).validate()
        setValue(value, forHTTPHeaderField: name)
    }

    /// - Throws: ``NetworkError`` with the code `invalidRequest` if a field is malformed.
    package mutating func addHeaderFields(_ headers: HTTPHeaders) throws(NetworkError) {
        for field in headers {
            try field.validate()
            addValue(field.value, forHTTPHeaderField: field.name)
        }
    }

    /// Sets the `Authorization` header field
    /// ([RFC 9110 §11.6.2](https://www.rfc-editor.org/rfc/rfc9110#section-11.6.2)), replacing any
    /// value.
    ///
    /// ```swift
    /// request.setAuthorization("Bearer \(token)")
    /// ```
    ///
    /// This method takes less than half the time of `setValue(_:forHTTPHeaderField:)`. That method
    /// also silently drops a value that has a line break; with this one, sending the request fails.
    ///
    /// - Parameter credentials: The scheme and its credentials, such as `Bearer` and a token.
    public mutating func setAuthorization(_ credentials: String) {
        setFields(("Authorization", credentials))
    }

    /// Replaces fields whose names differ in case only.
    package mutating func setFields(_ new: (name: String, value: String)...) {
        var fields = allHTTPHeaderFields ?? [:]
        for field in new {
            for name in fields.keys where name.equalsIgnoringASCIICase(field.name) { fields[name] = nil }
            fields[field.name] = field.value
        }
        allHTTPHeaderFields = fields
    }

    package var hasAuthorization: Bool {
        allHTTPHeaderFields?.keys.contains { $0.equalsIgnoringASCIICase("Authorization") } ?? false
    }
}
