public import Foundation
public import FoundationNetworking
import Synchronization

/// A URL protocol that responds to the requests of a `URLSession` with a closure instead of the
/// network.
///
/// ```swift
/// let configuration = URLSessionConfiguration.ephemeral
/// configuration.protocolClasses = [MockURLProtocol.self]
/// MockURLProtocol.handler = {
///     (Data("hello".utf8), HTTPURLResponse(statusCode: 200))
/// }
/// ```
///
/// `URLSession` creates the instances, so the handler and the record are global. Tests that run in
/// parallel should use ``withHandler(_:perform:)``, which gives one test at a time exclusive
/// access. If the client accepts a transport, ``MockTransport`` is the better choice, because it
/// isn't global.
///
/// The closure runs on the queue that all sessions of the process share, so it must not wait for
/// another request. Foundation 6.3 fails on two kinds of stubs: a download task crashes, and a
/// response with the status 401 and `WWW-Authenticate: Basic` never arrives.
public final class MockURLProtocol: URLProtocol {
    private struct State: Sendable {
        var handler: (@Sendable () throws -> (Data, URLResponse))?
        var requestHandler: (@Sendable (URLRequest) throws -> (Data, URLResponse))?
        var requests: [URLRequest] = []
    }

    private static let state = Mutex(State())

    private static let isTaken = Watched(false)

    private let isStopped = Mutex(false)

    /// The closure that responds to requests without seeing them.
    public static var handler: (@Sendable () throws -> (Data, URLResponse))? {
        get { state.withLock { $0.handler } }
        set { change { $0.handler = newValue } }
    }

    /// The closure that responds to requests; takes precedence over ``handler``.
    public static var requestHandler: (@Sendable (URLRequest) throws -> (Data, URLResponse))? {
        get { state.withLock { $0.requestHandler } }
        set { change { $0.requestHandler = newValue } }
    }

    /// The requests so far, in order, each listed once.
    public static var requests: [URLRequest] { state.withLock { $0.requests } }

    /// Removes the handlers and the recorded requests.
    public static func clear() { change { $0 = State() } }

    /// Gives a closure exclusive access to the handler and the record.
    ///
    /// Other callers wait. Handlers and record are empty at the beginning and at the end. Calls
    /// can't be nested.
    ///
    /// - Parameters:
    ///   - handler: The closure that responds to requests.
    ///   - body: A closure that makes the requests.
    /// - Returns: The closure's result.
    /// - Throws: The closure's error, or `CancellationError` if the task is canceled while it
    ///   waits.
    public static func withHandler<Result>(
        _ handler: @escaping @Sendable (URLRequest) throws -> (Data, URLResponse),
        perform body: () async throws -> Result
    ) async throws -> Result {
        while !isTaken.update({ isTaken in
            defer { isTaken = true }
            return !isTaken
        }) {
            try await isTaken.wait { !$0 }
        }
        clear()
        requestHandler = handler
        defer {
            clear()
            isTaken.update { $0 = false }
        }
        return try await body()
    }

    /// Returns `true`: this class loads every request.
    ///
    /// - Parameter request: The request.
    /// - Returns: `true`.
    public override class func canInit(with request: URLRequest) -> Bool { true }

    /// Returns the request unchanged.
    ///
    /// - Parameter request: The request.
    /// - Returns: The same request.
    public override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    /// Records the request and responds with the handler.
    public override func startLoading() {
        let request = self.request
        let answer: (@Sendable () throws -> (Data, URLResponse))? = Self.state.withLock { state in
            state.requests.append(request)
            if let handler = state.requestHandler { return { try handler(request) } }
            return state.handler
        }
        do {
            guard let answer else {
                let place = "\(request.httpMethod ?? "GET") \(request.url?.path ?? "")"
                throw URLError(
                    .resourceUnavailable,
                    userInfo: [NSLocalizedDescriptionKey: "MockURLProtocol has no handler for \(place); set one first"]
                )
            }
            let (data, response) = try answer()
            guard !isStopped.withLock({ $0 }) else { return }
            client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
            // In one piece, because Foundation's async functions keep only the last one.
            client?.urlProtocol(self, didLoad: data)
            client?.urlProtocolDidFinishLoading(self)
        } catch {
            guard !isStopped.withLock({ $0 }) else { return }
            client?.urlProtocol(self, didFailWithError: error)
        }
    }

    /// Suppresses further responses.
    public override func stopLoading() { isStopped.withLock { $0 = true } }

    private static func change(_ change: (inout State) -> Void) {
        // The old state is released outside the lock, because a closure may own an object whose
        // deinit calls this type.
        _ = state.withLock { state in
            let old = state
            change(&state)
            return old
        }
    }
}

extension HTTPURLResponse {
    /// Creates a response with only a status code, for tests.
    ///
    /// Its URL is `https://example.com`, which [RFC 2606](https://www.rfc-editor.org/rfc/rfc2606)
    /// reserves for examples.
    ///
    /// - Parameter statusCode: The status code.
    public convenience init(statusCode: Int) {
        // swift-format-ignore: NeverForceUnwrap
        let url = URL(string: "https://example.com")!  // reason: a constant, valid URL
        // swift-format-ignore: NeverForceUnwrap
        self.init(url: url, statusCode: statusCode, httpVersion: nil, headerFields: nil)!  // reason: it never fails
    }
}

extension URLRequest {
    /// Returns the body, from wherever Foundation stores it.
    ///
    /// This reads a body stream to its end, after which it's used up. Without a stream, the body is
    /// `httpBody`, where Foundation on Linux keeps it even if a `URLProtocol` loads the request.
    ///
    /// - Returns: The body, or `nil` if the request has none or its stream fails.
    public func httpBodyData() -> Data? {
        guard let stream = httpBodyStream else { return httpBody }
        stream.open()
        defer { stream.close() }
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = unsafe buffer.withUnsafeMutableBufferPointer { buffer in
                unsafe buffer.baseAddress.map { unsafe stream.read($0, maxLength: buffer.count) } ?? -1
            }
            // A partial body must not pass for the whole one.
            guard count >= 0 else { return nil }
            guard count > 0 else { return data }
            data.append(contentsOf: buffer.prefix(count))
        }
    }
}
