public import Foundation
public import Networking
import SystemIO

/// An HTTP/1.1 server on 127.0.0.1 for tests of HTTP clients.
///
/// The server responds with closures, records requests, and simulates faults on demand:
///
/// ```swift
/// try await withLoopbackServer { server in
///     server.on(.get, "/users/1") { request in .json(#"{"name":"Ada"}"#) }
///     server.on(
///         .get,
///         "/flaky",
///         .status(503),
///         .text("hello").cut(.afterBody(octets: 2)),
///         .text("hello")
///     )
///     let client = NetworkClient()
///     let data = try await client.makeRequest(
///         URLRequest(url: server.url(for: "/users/1"))
///     )
///     #expect(server.requests.first?.headers["Accept"] == "application/json")
/// }
/// ```
///
/// A server compares a route's path with ``LoopbackRequest/path``, including escapes. A path that
/// ends in `/*` matches everything below it. Exact paths take precedence over wildcards, longer
/// wildcards over shorter ones, and a specific method over any method. A `GET` route also handles
/// `HEAD` unless that has its own route. A later route replaces an earlier one with the same method
/// and path.
///
/// Each server has its own port and thread, so tests can run in parallel. Handlers run as tasks,
/// and a slow handler only delays its own connection. A server that is released without calling
/// ``stop()`` stops by itself.
///
/// The server is for tests on one machine. It has no connection limit and no timeouts.
public final class LoopbackServer: Sendable {
    /// A closure that responds to requests.
    ///
    /// If it throws, the client gets the status 500, and ``handlerErrors`` records the error.
    public typealias Handler = @Sendable (LoopbackRequest) async throws -> LoopbackResponse

    /// The port, which the kernel assigned.
    public let port: Int
    /// The base URL, `http://127.0.0.1:` and the port, without a path; `https://…` with
    /// ``Configuration/tls``.
    public let baseURL: URL

    private let state: Watched<ServerState>
    private let mailbox = Mailbox<LoopCommand>()
    private let thread: WorkerThread

    private init(configuration: Configuration) throws {
        do {
            let listener = try Socket.listening()
            let port = Int(try listener.port())
            let tls = try configuration.tls.map { tls in try tls.makeContext() }
            guard let url = URL(string: "\(tls == nil ? "http" : "https")://127.0.0.1:\(port)") else {
                throw MockError(.cannotStart, "creating a URL for port \(port) failed")
            }
            self.port = port
            baseURL = url
            state = Watched(ServerState())
            let loop = try EventLoop(
                listener: listener,
                mailbox: mailbox,
                state: state,
                configuration: configuration,
                tls: tls
            )
            thread = try WorkerThread(named: "loopback-server") {
                loop.run()
            } atEnd: { [state] in
                state.update { $0.isLoopRunning = false }
            }
        } catch let failure as SystemFailure {
            throw MockError(.cannotStart, "the loopback server can't start; see the cause", cause: failure)
        }
    }

    deinit { mailbox.post(.stop) }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - configuration: The limits, TLS settings and time source.
    ///   - routes: Adds routes to the server. ``on(_:_:_:)`` adds more later.
    /// - Returns: The server, which accepts connections.
    /// - Throws: ``MockError`` with the code `cannotStart` if a system call fails or OpenSSL
    ///   rejects the certificate.
    public static func start(
        configuration: Configuration = Configuration(),
        routes: (LoopbackServer) -> Void = { _ in }
    ) throws -> LoopbackServer {
        let server = try LoopbackServer(configuration: configuration)
        routes(server)
        return server
    }

    /// Stops the server.
    ///
    /// The server accepts no more connections, closes all connections, cancels the handlers and
    /// waits until they have ended. You can call this more than once and from several tasks. If you
    /// call it from one of the server's own handlers, it doesn't wait for handlers. The records
    /// remain available.
    public func stop() async {
        mailbox.post(.stop)
        let isInHandler = Exchange.enclosing.contains(ObjectIdentifier(state))
        await state.waitUninterrupted { !$0.isLoopRunning && (isInHandler || $0.runningHandlers == 0) }
        thread.join()
        // Handlers often retain the server that retains them.
        changeRoutes { $0 = LoopbackRoutes() }
    }

    /// Returns the URL of a path on this server.
    ///
    /// - Parameters:
    ///   - path: The escaped path, optionally with a query, such as `/token?tenant=a%20b`.
    ///     Characters that a URL can't contain are escaped.
    ///   - host: Another host name, which must resolve to 127.0.0.1, such as `localhost`. The
    ///     default is `nil`, for the address.
    /// - Returns: The URL.
    public func url(for path: String, host: String? = nil) -> URL {
        let path = path.hasPrefix("/") || path.hasPrefix("?") || path.isEmpty ? path : "/" + path
        let url = URL(string: baseURL.absoluteString + path) ?? baseURL.appending(path: path)
        guard let host else { return url }
        var components = URLComponents(url: url, resolvingAgainstBaseURL: false)
        components?.host = host
        return components?.url ?? url
    }

    // MARK: Routes

    /// Adds a route with a closure for one method and path.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path as sent, optionally with a wildcard.
    ///   - handler: The closure that responds.
    public func on(_ method: HTTPMethod, _ path: String, _ handler: @escaping Handler) {
        changeRoutes { $0.handlers[LoopbackRoutes.Key(method: method, path: path)] = handler }
    }

    /// Adds a route with a sequence of responses for one method and path.
    ///
    /// The last response repeats.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path as sent, optionally with a wildcard.
    ///   - first: The first response.
    ///   - others: The subsequent responses.
    public func on(_ method: HTTPMethod, _ path: String, _ first: LoopbackResponse, _ others: LoopbackResponse...) {
        let script = Script([first] + others, repeatsLast: true)
        on(method, path) { _ in script.next() ?? first }
    }

    /// Adds a route with a closure for all methods on a path.
    ///
    /// - Parameters:
    ///   - path: The path as sent, optionally with a wildcard.
    ///   - handler: The closure that responds.
    public func onAnyMethod(_ path: String, _ handler: @escaping Handler) {
        changeRoutes { $0.handlers[LoopbackRoutes.Key(method: nil, path: path)] = handler }
    }

    /// Sets the closure for requests without a route.
    ///
    /// - Parameter handler: The closure that responds.
    public func fallback(_ handler: @escaping Handler) { changeRoutes { $0.fallback = handler } }

    private func changeRoutes(_ change: (inout LoopbackRoutes) -> Void) {
        // The old routes are released outside the lock, because a closure may own an object whose
        // deinit calls this server.
        _ = state.update { state in
            let old = state.routes
            change(&state.routes)
            return old
        }
    }

    // MARK: Records

    /// The complete requests, in the order of their arrival.
    public var requests: [LoopbackRequest] { state.read(\.requests) }

    /// Returns the complete requests for a path, in the order of their arrival.
    ///
    /// - Parameter path: The path as sent.
    /// - Returns: The requests.
    public func requests(for path: String) -> [LoopbackRequest] { requests.filter { $0.path == path } }

    /// The number of complete requests, whether or not they are recorded.
    public var requestCount: Int { state.read(\.requestCount) }

    /// The requests that the server rejected because they were malformed or exceeded a limit.
    public var rejections: [Rejection] { state.read(\.rejections) }

    /// The errors that handlers threw, in order.
    public var handlerErrors: [any Error] { state.read(\.handlerErrors) }

    /// The connections, in the order in which they were accepted.
    public var connections: [ConnectionRecord] {
        state.read { Array($0.connections.values) }.sorted { $0.number < $1.number }
    }

    package var acceptedConnectionCount: Int { state.read(\.acceptedConnections) }

    package var openConnectionCount: Int { state.read(\.openConnections) }

    package var runningHandlerCount: Int { state.read(\.runningHandlers) }

    /// Removes the recorded requests, rejections, errors and closed connections, but doesn't reset
    /// the connection count.
    package func clearRecord() {
        _ = state.update { state in
            let old = state
            state.requests = []
            state.requestCount = 0
            state.rejections = []
            state.handlerErrors = []
            state.connections = state.connections.filter(\.value.isOpen)
            return old
        }
    }

    /// Waits until at least the given number of requests have arrived since the start or
    /// `clearRecord()`.
    ///
    /// - Parameter count: The number of requests.
    /// - Throws: `CancellationError` at once when the task is canceled.
    public func waitForRequests(count: Int) async throws { try await state.wait { $0.requestCount >= count } }

    /// Waits until at most the given number of connections are open.
    ///
    /// Use this to check that a client that gave up closed its connection.
    ///
    /// - Parameter count: The number of connections.
    /// - Throws: `CancellationError` at once when the task is canceled.
    public func waitForOpenConnections(atMost count: Int) async throws {
        try await state.wait { $0.openConnections <= count }
    }
}

/// Runs a closure with a server, and stops the server when the closure returns or throws.
///
/// - Parameters:
///   - configuration: The server's limits, TLS settings and time source.
///   - body: A closure that uses the server.
/// - Returns: The closure's result.
/// - Throws: ``MockError`` with the code `cannotStart`, or the closure's error.
public func withLoopbackServer<Result>(
    configuration: LoopbackServer.Configuration = .init(),
    perform body: (LoopbackServer) async throws -> Result
) async throws -> Result {
    let server = try LoopbackServer.start(configuration: configuration)
    do {
        let result = try await body(server)
        await server.stop()
        return result
    } catch {
        await server.stop()
        throw error
    }
}

struct ServerState: Sendable {
    var routes = LoopbackRoutes()
    var requests: [LoopbackRequest] = []
    var requestCount = 0
    var rejections: [LoopbackServer.Rejection] = []
    var handlerErrors: [any Error] = []
    var connections: [Int: LoopbackServer.ConnectionRecord] = [:]
    var acceptedConnections = 0
    var openConnections = 0
    var runningHandlers = 0
    var isLoopRunning = true
}

struct LoopbackRoutes: Sendable {
    struct Key: Hashable, Sendable {
        let method: HTTPMethod?
        let path: String
    }

    var handlers: [Key: LoopbackServer.Handler] = [:]
    var fallback: LoopbackServer.Handler = { .text("no route for \($0.method) \($0.path)\n", status: 404) }

    func handler(for request: LoopbackRequest) -> LoopbackServer.Handler {
        let path = request.path
        if let handler = handler(request.method, path) { return handler }
        var folder = path[...]
        while let slash = folder.lastIndex(of: "/") {
            folder = folder[..<slash]
            if let handler = handler(request.method, folder + "/*") { return handler }
        }
        return fallback
    }

    private func handler(_ method: HTTPMethod, _ path: String) -> LoopbackServer.Handler? {
        handlers[Key(method: method, path: path)]
            ?? (method == .head ? handlers[Key(method: .get, path: path)] : nil)
            ?? handlers[Key(method: nil, path: path)]
    }
}
