public import Foundation
public import FoundationNetworking

extension NetworkClient {
    /// Sends a request with options of its own and returns the response's body.
    ///
    /// - Parameters:
    ///   - request: What to send. Its `timeoutInterval` bounds each attempt, in seconds.
    ///   - options: What it does otherwise than the client.
    /// - Returns: The body of a response with a status of 200…299.
    /// - Throws: What ``response(for:options:)`` throws.
    public func makeRequest(_ request: URLRequest, options: RequestOptions) async throws -> Data {
        try await response(for: request, options: options).body
    }

    /// Sends a request with options of its own and returns the whole response.
    ///
    /// - Parameters:
    ///   - request: What to send. Its `timeoutInterval` bounds each attempt, in seconds.
    ///   - options: What it does otherwise than the client.
    /// - Returns: A response with a status of 200…299.
    /// - Throws: ``ServerError`` for any other status; ``NetworkError`` if there was no response. If the body can be sent only once and
    ///   an interceptor asked for another attempt, the error's `retry` has the reason `bodyNotReplayable`.
    public func response(for request: URLRequest, options: RequestOptions) async throws -> HTTPResponse {
        try await AttemptLoop(client: self, chain: chain, options: options).run { request }
    }

    /// Sends a request and returns the response as soon as its header is there; the body is received while it is read.
    ///
    /// ```swift
    /// let response = try await client.open(request)
    /// for try await part in response.body { try file.write(contentsOf: part) }
    /// ```
    ///
    /// Interceptors see the response with an empty body, and attempts are repeated up to the header. What is lost later, the body
    /// throws. The operation's timeout, the request's `timeoutInterval` and the largest body hold until the body's end: give
    /// ``RequestOptions`` for a long one. A response with another status than 200…299 is received whole before it is thrown.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - options: What it does otherwise than the client.
    /// - Returns: A response with a status of 200…299.
    /// - Throws: What ``response(for:options:)`` throws.
    public func open(
        _ request: URLRequest,
        options: RequestOptions = RequestOptions()
    ) async throws -> HTTPResponseStream {
        try await AttemptLoop(client: self, chain: chain, options: options).open { request }
    }
}
