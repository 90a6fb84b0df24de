public import Foundation
public import Networking
import System

/// A real HTTP/1.1 server on 127.0.0.1, for tests of programs that speak HTTP.
///
/// It answers by closures, records what it was asked and misbehaves on demand:
///
/// ```swift
/// try await withLoopbackServer { server in
///     server.on(.get, "/users/1") { request in .json(#"{"name":"Ada"}"#) }
///     server.on(.get, "/flaky", .status(503), .text("hello").cut(.afterBody(octets: 2)), .text("hello"))
///     let client = NetworkClient()
///     let data = try await client.makeRequest(URLRequest(url: server.url(for: "/users/1")))
///     #expect(server.requests.first?.headers["Accept"] == "application/json")
/// }
/// ```
///
/// Each server has its own port and thread, so tests can run in parallel. Handlers run as tasks; a slow one holds back
/// nothing but its own connection. A server that is dropped without ``stop()`` stops by itself.
///
/// It is made for tests on one machine: it has no limit on connections and no time-outs.
public final class LoopbackServer: Sendable {
    /// The port, which the kernel chose.
    public let port: Int
    /// `http://127.0.0.1:` and the port, without a path; `https://…` with ``Configuration/tls``.
    public let baseURL: URL

    private let state: Watched<ServerState>
    private let mailbox = Mailbox<LoopCommand>()
    private let thread: WorkerThread

    private init(configuration: Configuration, routes: LoopbackRoutes) throws {
        do {
            let listener = try Socket.listening()
            let port = Int(try listener.port())
            let tls = try configuration.tls.map { tls in try tls.makeContext() }
            guard let url = URL(string: "\(tls == nil ? "http" : "https")://127.0.0.1:\(port)") else {
                throw MockError(.cannotStart, "no URL for port \(port)")
            }
            self.port = port
            baseURL = url
            state = Watched(ServerState(routes: routes))
            let loop = try EventLoop(
                listener: listener,
                mailbox: mailbox,
                state: state,
                configuration: configuration,
                tls: tls
            )
            thread = try WorkerThread {
                loop.run()
            } atEnd: { [state] in
                state.update { $0.isLoopRunning = false }
            }
        } catch let failure as SystemFailure {
            throw MockError(.cannotStart, "the loopback server can't start; look at the cause", cause: failure)
        }
    }

    deinit {
        mailbox.post(.stop)
    }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - configuration: Its limits and its clock.
    ///   - routes: Fills the table of routes; ``on(_:_:_:)`` adds to it later.
    /// - Returns: The server, which accepts connections.
    /// - Throws: ``MockError`` with the code `cannotStart` if the operating system refuses, or OpenSSL the certificate.
    public static func start(
        configuration: Configuration = Configuration(),
        routes: (inout LoopbackRoutes) -> Void = { _ in }
    ) throws -> LoopbackServer {
        var table = LoopbackRoutes()
        routes(&table)
        return try LoopbackServer(configuration: configuration, routes: table)
    }

    /// Stops the server: accepts nothing more, ends every connection, cancels the handlers and waits until they are over.
    ///
    /// Calling it again, or from several tasks, does no harm. Called from one of its own handlers, it doesn't wait for
    /// handlers. What was recorded stays.
    public func stop() async {
        mailbox.post(.stop)
        let isInHandler = Exchange.enclosing.contains(ObjectIdentifier(state))
        await state.waitUninterrupted { !$0.isLoopRunning && (isInHandler || $0.runningHandlers == 0) }
        thread.join()
        // Handlers often hold the server that holds them.
        changeRoutes { $0 = LoopbackRoutes() }
    }

    /// The URL of a path on this server.
    ///
    /// - Parameter path: The path, escaped, and a query if there is one, such as `/token?tenant=a%20b`.
    /// - Returns: The URL; a character that a URL can't have is escaped.
    public func url(for path: String) -> URL {
        let path = path.hasPrefix("/") || path.hasPrefix("?") || path.isEmpty ? path : "/" + path
        return URL(string: baseURL.absoluteString + path) ?? baseURL.appending(path: path)
    }

    /// The URL of a path on this server under another name, which has to lead to 127.0.0.1.
    ///
    /// - Parameters:
    ///   - path: As for ``url(for:)``.
    ///   - host: The name, such as `localhost`.
    /// - Returns: The URL.
    public func url(for path: String, host: String) -> URL {
        let url = url(for: path)
        var components = URLComponents(url: url, resolvingAgainstBaseURL: false)
        components?.host = host
        return components?.url ?? url
    }

    // MARK: Routes

    /// Answers requests of one method and path by a closure, from now on.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path as it is sent; see ``LoopbackRoutes`` for wildcards.
    ///   - handler: What answers.
    public func on(_ method: HTTPMethod, _ path: String, _ handler: @escaping LoopbackRoutes.Handler) {
        changeRoutes { $0.on(method, path, handler) }
    }

    /// Answers requests of one method and path with responses in sequence, from now on; the last one repeats.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path as it is sent; see ``LoopbackRoutes`` for wildcards.
    ///   - first: The first response.
    ///   - others: The responses after it.
    public func on(_ method: HTTPMethod, _ path: String, _ first: LoopbackResponse, _ others: LoopbackResponse...) {
        changeRoutes { $0.on(method, path, LoopbackRoutes.sequence([first] + others)) }
    }

    /// Answers requests of every method on a path by a closure, from now on.
    ///
    /// - Parameters:
    ///   - path: The path as it is sent; see ``LoopbackRoutes`` for wildcards.
    ///   - handler: What answers.
    public func onAnyMethod(_ path: String, _ handler: @escaping LoopbackRoutes.Handler) {
        changeRoutes { $0.onAnyMethod(path, handler) }
    }

    /// Answers every request that has no route, from now on.
    ///
    /// - Parameter handler: What answers.
    public func fallback(_ handler: @escaping LoopbackRoutes.Handler) {
        changeRoutes { $0.fallback(handler) }
    }

    /// Removes the route of one method and path.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path as it was given.
    package func removeRoute(_ method: HTTPMethod, _ path: String) {
        changeRoutes { $0.remove(method, path) }
    }

    private func changeRoutes(_ change: (inout LoopbackRoutes) -> Void) {
        // What is replaced is released after the lock: a closure may own something whose end comes back to this server.
        _ = state.update { state in
            let old = state.routes
            change(&state.routes)
            return old
        }
    }

    // MARK: Record

    /// The requests that were whole, in the order of their arrival.
    public var requests: [LoopbackRequest] { state.read(\.requests) }

    /// The requests of one path, in the order of their arrival.
    ///
    /// - Parameter path: The path as it is sent.
    /// - Returns: The requests.
    public func requests(for path: String) -> [LoopbackRequest] {
        requests.filter { $0.path == path }
    }

    /// How many requests were whole, whether or not they are recorded.
    public var requestCount: Int { state.read(\.requestCount) }

    /// What was not a well-formed request, and was refused.
    public var rejections: [Rejection] { state.read(\.rejections) }

    /// The errors that handlers threw, in order.
    public var handlerErrors: [any Error] { state.read(\.handlerErrors) }

    /// What is known of each connection, in the order in which they were accepted.
    public var connections: [ConnectionRecord] {
        state.read { Array($0.connections.values) }.sorted { $0.number < $1.number }
    }

    /// How many connections were accepted.
    package var acceptedConnectionCount: Int { state.read(\.acceptedConnections) }

    /// How many connections neither side has ended.
    package var openConnectionCount: Int { state.read(\.openConnections) }

    /// How many handlers run, the sending of their responses included.
    package var runningHandlerCount: Int { state.read(\.runningHandlers) }

    /// Forgets the requests, rejections, errors and ended connections so far; the count of connections goes on.
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

    /// Waits until at least so many requests have come since the start or `clearRecord()`.
    ///
    /// - Parameter count: The number of requests.
    /// - Throws: `CancellationError` at once when the task is cancelled.
    public func waitForRequests(count: Int) async throws {
        try await state.wait { $0.requestCount >= count }
    }

    /// Waits until no more than so many connections are open.
    ///
    /// It shows that a client that gave up closed its connection.
    ///
    /// - Parameter count: The number of connections.
    /// - Throws: `CancellationError` at once when the task is cancelled.
    public func waitForOpenConnections(atMost count: Int) async throws {
        try await state.wait { $0.openConnections <= count }
    }
}

/// Runs a closure with a server that is stopped when the closure ends, however it ends.
///
/// - Parameters:
///   - configuration: The server's limits and clock.
///   - routes: Fills the table of routes; ``LoopbackServer/on(_:_:_:)`` adds to it later.
///   - body: Uses the server.
/// - Returns: What the closure returns.
/// - Throws: ``MockError`` with the code `cannotStart`, or what the closure throws.
public func withLoopbackServer<Result>(
    configuration: LoopbackServer.Configuration = .init(),
    routes: (inout LoopbackRoutes) -> Void = { _ in },
    perform body: (LoopbackServer) async throws -> Result
) async throws -> Result {
    let server = try LoopbackServer.start(configuration: configuration, routes: routes)
    do {
        let result = try await body(server)
        await server.stop()
        return result
    } catch {
        await server.stop()
        throw error
    }
}
