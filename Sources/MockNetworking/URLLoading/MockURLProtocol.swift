public import Foundation
public import FoundationNetworking
import Synchronization

/// Answers the requests of a `URLSession` by a closure instead of the network.
///
/// ```swift
/// let configuration = URLSessionConfiguration.ephemeral
/// configuration.protocolClasses = [MockURLProtocol.self]
/// MockURLProtocol.handler = { (Data("hello".utf8), HTTPURLResponse(statusCode: 200)) }
/// ```
///
/// `URLSession` makes the instances, so handler and record belong to the whole process. Tests that run in parallel use
/// ``withHandler(_:perform:)``, which lets one of them at a time have them; ``MockTransport`` needs nothing of the kind,
/// and is the better choice wherever the client can be given a transport.
///
/// The closure runs on the queue that all sessions of the process share, so it must not wait for another request.
/// Foundation 6.3 itself breaks on stubs of two kinds: a download task crashes, and a response with the status 401 and
/// `WWW-Authenticate: Basic` never arrives.
public final class MockURLProtocol: URLProtocol {
    private struct State: Sendable {
        var handler: (@Sendable () throws -> (Data, URLResponse))?
        var requestHandler: (@Sendable (URLRequest) throws -> (Data, URLResponse))?
        var requests: [URLRequest] = []
    }

    private static let state = Mutex(State())

    private static let isTaken = Watched(false)

    private let isStopped = Mutex(false)

    /// What answers a request, without seeing it.
    public static var handler: (@Sendable () throws -> (Data, URLResponse))? {
        get { state.withLock { $0.handler } }
        set { change { $0.handler = newValue } }
    }

    /// What answers a request, seeing it; it goes before ``handler``.
    public static var requestHandler: (@Sendable (URLRequest) throws -> (Data, URLResponse))? {
        get { state.withLock { $0.requestHandler } }
        set { change { $0.requestHandler = newValue } }
    }

    /// The requests that were loaded, each once, in order.
    public static var requests: [URLRequest] {
        state.withLock { $0.requests }
    }

    /// Forgets the handlers and the requests.
    public static func clear() {
        change { $0 = State() }
    }

    /// Has the handler and the record to itself while a closure runs; others that ask for the same wait.
    ///
    /// Handlers and record are empty at the beginning and at the end. Don't nest it.
    ///
    /// - Parameters:
    ///   - handler: What answers requests meanwhile.
    ///   - body: Makes the requests.
    /// - Returns: What the closure returns.
    /// - Throws: What the closure throws; `CancellationError` if the task is cancelled while it waits for its turn.
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

    /// Whether this class loads a request: always.
    ///
    /// - Parameter request: The request.
    /// - Returns: `true`.
    public override class func canInit(with request: URLRequest) -> Bool { true }

    /// The request as it is.
    ///
    /// - Parameter request: The request.
    /// - Returns: The same request.
    public override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    /// Records the request and answers it by the handler, with one outcome.
    public override func startLoading() {
        let request = self.request
        let answer: (@Sendable () throws -> (Data, URLResponse))? = Self.state.withLock { state in
            state.requests.append(request)
            if let handler = state.requestHandler { return { try handler(request) } }
            return state.handler
        }
        do {
            guard let answer else { throw Self.noHandler(for: request) }
            let (data, response) = try answer()
            guard !isStopped.withLock({ $0 }) else { return }
            client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
            // In one piece: Foundation keeps only the last one for the async functions.
            client?.urlProtocol(self, didLoad: data)
            client?.urlProtocolDidFinishLoading(self)
        } catch {
            guard !isStopped.withLock({ $0 }) else { return }
            client?.urlProtocol(self, didFailWithError: error)
        }
    }

    /// Says nothing more to the session.
    public override func stopLoading() {
        isStopped.withLock { $0 = true }
    }

    private static func change(_ change: (inout State) -> Void) {
        // What is replaced is released after the lock: a closure may own something whose end comes back here.
        _ = state.withLock { state in
            let old = state
            change(&state)
            return old
        }
    }

    private static func noHandler(for request: URLRequest) -> URLError {
        let place = "\(request.httpMethod ?? "GET") \(request.url?.path ?? "")"
        return URLError(
            .resourceUnavailable,
            userInfo: [NSLocalizedDescriptionKey: "MockURLProtocol has no handler for \(place); set one first"]
        )
    }
}
