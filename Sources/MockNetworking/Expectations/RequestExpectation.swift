public import Foundation
import FoundationNetworking
public import Networking

/// A description of a request that a test expects.
///
/// ```swift
/// let create = RequestExpectation(.post, "https://api.example/users")
///     .header("Content-Type", "application/json")
///     .json(#"{"name":"Ada"}"#)
/// transport.expect(create, .status(201))
/// transport.expect(
///     try .endpoint(UserEndpoint.user(id: 1)),
///     .json(#"{"name":"Ada"}"#)
/// )
/// ```
///
/// Properties that you don't mention may have any value, except the query: a URL without a query
/// expects none. A ``MockTransport`` responds to matching requests, and describes how others
/// differ.
public struct RequestExpectation: Sendable {
    /// A closure that returns how a request differs, or `nil` if it meets the condition.
    typealias Condition = @Sendable (HTTPRequest) -> RequestDifference?

    let name: String
    private var conditions: [Condition]
}

extension RequestExpectation {
    /// Creates an expectation of a method and a URL.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The whole URL. If it begins with a slash, the path and query on any server. The
    ///     order of query parameters matters. Messages don't contain credentials in the query.
    public init(_ method: HTTPMethod, _ url: String) {
        let shown = URL(string: url).map(Redaction.standard.redacted) ?? "a URL that can't be read"
        self.init(
            name: "\(method) \(shown)",
            conditions: [{ RequestDifference(of: $0, from: method) }, { RequestDifference(of: $0, fromURL: url) }]
        )
    }

    /// Returns the expectation of an endpoint's request: its method, URL, header fields, and its
    /// body if that's in memory.
    ///
    /// JSON and form bodies are compared by value.
    ///
    /// - Parameter endpoint: The endpoint.
    /// - Returns: The expectation.
    /// - Throws: The error of the endpoint's `urlRequest()`.
    public static func endpoint(_ endpoint: some HTTPEndpoint) throws -> Self {
        let request = try endpoint.urlRequest()
        guard let url = request.url else { throw NetworkError(.invalidRequest, "the endpoint's request lacks a URL") }
        var expectation = Self(endpoint.method, url.absoluteString)
        for (name, value) in (request.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
            expectation = expectation.header(name, value)
        }
        guard let body = request.httpBody else { return expectation }
        return expectation.body(body, contentType: request.value(forHTTPHeaderField: "Content-Type"))
    }

    /// Returns an expectation that a closure checks.
    ///
    /// - Parameters:
    ///   - name: The request's name in messages.
    ///   - condition: Returns whether a request matches. It may be called more than once, and also
    ///     for requests that match other expectations.
    /// - Returns: The expectation.
    public static func matching(_ name: String, _ condition: @escaping @Sendable (HTTPRequest) -> Bool) -> Self {
        Self(name: name, conditions: []).and(name, condition)
    }

    /// Returns the expectation with an additional header field.
    ///
    /// - Parameters:
    ///   - name: The name, in any case.
    ///   - value: The value. If several fields have the name, one must have this value.
    /// - Returns: The expectation.
    public func header(_ name: String, _ value: String) -> Self {
        adding { RequestDifference(of: $0, fromHeader: name, value) }
    }

    /// Returns the expectation with the requirement that a header field is missing.
    ///
    /// - Parameter name: The name, in any case.
    /// - Returns: The expectation.
    public func withoutHeader(_ name: String) -> Self { adding { RequestDifference(of: $0, fromHeader: name, nil) } }

    /// Returns the expectation with a body; an empty body is the same as no body.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - contentType: The content type. JSON and forms are compared by value, everything else
    ///     byte by byte.
    /// - Returns: The expectation.
    public func body(_ body: Data, contentType: String? = nil) -> Self {
        adding { RequestDifference(of: $0, fromBody: body, contentType) }
    }

    /// Returns the expectation with a JSON body, with members in any order.
    ///
    /// - Parameter text: The JSON text.
    /// - Returns: The expectation.
    public func json(_ text: String) -> Self { body(Data(text.utf8), contentType: "application/json") }

    /// Returns the expectation with a form body, with fields in any order.
    ///
    /// - Parameter fields: The fields.
    /// - Returns: The expectation.
    /// - Throws: `NetworkError` with the code `invalidRequest` for a field that a form can't
    ///   contain.
    public func form(_ fields: URLQuery) throws(NetworkError) -> Self {
        guard case .data(let data) = try EndpointBody.form(fields).content.source else { return self }
        return body(data, contentType: FormURLEncoded.contentType)
    }

    /// Returns the expectation with an additional condition that a closure checks.
    ///
    /// - Parameters:
    ///   - description: The condition's name in messages.
    ///   - condition: Returns whether a request matches.
    /// - Returns: The expectation.
    public func and(_ description: String, _ condition: @escaping @Sendable (HTTPRequest) -> Bool) -> Self {
        adding { condition($0) ? nil : RequestDifference(2, "doesn't satisfy “\(description)”") }
    }

    private func adding(_ condition: @escaping Condition) -> Self {
        var copy = self
        copy.conditions.append(condition)
        return copy
    }

    func differences(from request: HTTPRequest) -> [RequestDifference] {
        conditions.compactMap { $0(request) }
    }

    /// Returns whether a request meets all conditions; those after an unmet one aren't evaluated.
    func matches(_ request: HTTPRequest) -> Bool { conditions.allSatisfy { $0(request) == nil } }
}

extension RequestExpectation: CustomStringConvertible {
    /// The method and the URL without secrets, or the given name.
    public var description: String { name }
}
