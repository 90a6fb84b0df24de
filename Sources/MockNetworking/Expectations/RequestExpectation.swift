public import Foundation
import FoundationNetworking
public import Networking

/// What a test expects a request to be.
///
/// ```swift
/// let create = RequestExpectation(.post, "https://api.example/users")
///     .header("Content-Type", "application/json")
///     .json(#"{"name":"Ada"}"#)
/// transport.expect(create, .status(201))
/// transport.expect(try .endpoint(UserEndpoint.user(id: 1)), .json(#"{"name":"Ada"}"#))
/// ```
///
/// What is not mentioned may be anything, but for the query: a URL without one expects none. A ``MockTransport`` answers the requests that
/// are as expected, and says how others differ.
public struct RequestExpectation: Sendable {
    enum Condition: Sendable {
        case method(HTTPMethod)
        case url(String)
        case header(name: String, value: String?)
        case body(Data, contentType: String?)
        case closure(String, @Sendable (HTTPTransportRequest) -> Bool)
    }

    /// What the request is called in messages, such as `GET https://api.example/users`.
    let name: String
    private(set) var conditions: [Condition]

    private init(name: String, conditions: [Condition]) {
        self.name = name
        self.conditions = conditions
    }

    /// Expects a method and a URL.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The whole URL; or, if it begins with a slash, its path and query on any server. The order of a query's
    ///     parameters counts, that of credentials in it does not show in messages.
    public init(_ method: HTTPMethod, _ url: String) {
        let shown = URL(string: url).map(Redaction.standard.redacted) ?? "a URL that can't be read"
        self.init(name: "\(method) \(shown)", conditions: [.method(method), .url(url)])
    }

    /// Expects what an endpoint makes: its method, its URL, its header fields, and its body if that is in memory.
    ///
    /// Bodies of JSON and forms may be written in another way if they mean the same.
    ///
    /// - Parameter endpoint: The endpoint.
    /// - Returns: The expectation.
    /// - Throws: What the `urlRequest()` of the endpoint throws.
    public static func endpoint(_ endpoint: some HTTPEndpoint) throws -> Self {
        let request = try endpoint.urlRequest()
        guard let url = request.url else { throw NetworkError(.invalidRequest, "the endpoint makes no URL") }
        var expectation = Self(endpoint.method, url.absoluteString)
        for (name, value) in (request.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
            expectation = expectation.header(name, value)
        }
        guard let body = request.httpBody else { return expectation }
        return expectation.body(body, contentType: request.value(forHTTPHeaderField: "Content-Type"))
    }

    /// Expects what a closure says.
    ///
    /// - Parameters:
    ///   - name: What the request is called in messages.
    ///   - condition: Whether a request is as expected. It may be asked more than once, also about requests that others match.
    /// - Returns: The expectation.
    public static func matching(
        _ name: String,
        _ condition: @escaping @Sendable (HTTPTransportRequest) -> Bool
    ) -> Self {
        Self(name: name, conditions: [.closure(name, condition)])
    }

    /// Expects a header field, too.
    ///
    /// - Parameters:
    ///   - name: The name, in upper or lower case.
    ///   - value: The value; of several fields with the name, one must have it.
    /// - Returns: The expectation.
    public func header(_ name: String, _ value: String) -> Self {
        adding(.header(name: name, value: value))
    }

    /// Expects that there is no such header field.
    ///
    /// - Parameter name: The name, in upper or lower case.
    /// - Returns: The expectation.
    public func withoutHeader(_ name: String) -> Self {
        adding(.header(name: name, value: nil))
    }

    /// Expects a body, too; an empty one is the same as none.
    ///
    /// - Parameters:
    ///   - body: The octets.
    ///   - contentType: What they are; JSON and forms are compared by what they mean, everything else octet by octet.
    /// - Returns: The expectation.
    public func body(_ body: Data, contentType: String? = nil) -> Self {
        adding(.body(body, contentType: contentType))
    }

    /// Expects a body of JSON, in whatever order its members are.
    ///
    /// - Parameter text: JSON text.
    /// - Returns: The expectation.
    public func json(_ text: String) -> Self {
        body(Data(text.utf8), contentType: "application/json")
    }

    /// Expects a form, in whatever order its fields are.
    ///
    /// - Parameter fields: The fields.
    /// - Returns: The expectation.
    /// - Throws: `NetworkError` with the code `invalidRequest` for a field that a form can't have.
    public func form(_ fields: URLQuery) throws(NetworkError) -> Self {
        guard case .data(let data) = try EndpointBody.form(fields).content.source else { return self }
        return body(data, contentType: FormURLEncoded.contentType)
    }

    /// Expects what a closure says, too.
    ///
    /// - Parameters:
    ///   - description: What it looks at, for messages.
    ///   - condition: Whether a request is as expected.
    /// - Returns: The expectation.
    public func and(
        _ description: String,
        _ condition: @escaping @Sendable (HTTPTransportRequest) -> Bool
    ) -> Self {
        adding(.closure(description, condition))
    }

    private func adding(_ condition: Condition) -> Self {
        var copy = self
        copy.conditions.append(condition)
        return copy
    }
}

extension RequestExpectation {
    /// How a request is otherwise than expected; nothing if it is as expected.
    func differences(from request: HTTPTransportRequest) -> [RequestDifference] {
        conditions.compactMap { RequestDifference($0, request) }
    }

    func matches(_ request: HTTPTransportRequest) -> Bool {
        conditions.allSatisfy { RequestDifference($0, request) == nil }
    }
}

extension RequestExpectation: CustomStringConvertible {
    /// The method and the URL, without secrets, or the name that was given.
    public var description: String { name }
}
