public import Networking

/// The table of a server's routes and their handlers.
///
/// The server compares a route's path with ``LoopbackRequest/path``, including escapes. A path that
/// ends in `/*` matches everything below it. Exact paths take precedence over wildcards, longer
/// wildcards over shorter ones, and a specific method over any method. A `GET` route also handles
/// `HEAD` unless that has its own route. A later route replaces an earlier one with the same method
/// and path.
public struct LoopbackRoutes: Sendable {
    /// A closure that responds to requests.
    ///
    /// If it throws, the client gets the status 500, and ``LoopbackServer/handlerErrors`` records
    /// the error.
    public typealias Handler = @Sendable (LoopbackRequest) async throws -> LoopbackResponse

    private struct Key: Hashable, Sendable {
        var method: HTTPMethod?
        var path: String
    }

    private var handlers: [Key: Handler] = [:]
    private var fallbackHandler: Handler?

    /// Creates an empty table, which responds to every request with the status 404.
    public init() {}

    /// Adds a route with a closure for one method and path.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path as sent.
    ///   - handler: The closure that responds.
    public mutating func on(_ method: HTTPMethod, _ path: String, _ handler: @escaping Handler) {
        handlers[Key(method: method, path: path)] = handler
    }

    /// Adds a route with a sequence of responses for one method and path.
    ///
    /// The last response repeats.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path as sent.
    ///   - first: The first response.
    ///   - others: The subsequent responses.
    public mutating func on(
        _ method: HTTPMethod,
        _ path: String,
        _ first: LoopbackResponse,
        _ others: LoopbackResponse...
    ) {
        on(method, path, Self.sequence([first] + others))
    }

    /// Adds a route with a closure for all methods on a path.
    ///
    /// - Parameters:
    ///   - path: The path as sent.
    ///   - handler: The closure that responds.
    public mutating func onAnyMethod(_ path: String, _ handler: @escaping Handler) {
        handlers[Key(method: nil, path: path)] = handler
    }

    /// Sets the closure for requests without a route.
    ///
    /// - Parameter handler: The closure that responds.
    public mutating func fallback(_ handler: @escaping Handler) {
        fallbackHandler = handler
    }

    /// Removes the route of one method and path.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path of the route.
    public mutating func remove(_ method: HTTPMethod, _ path: String) {
        handlers[Key(method: method, path: path)] = nil
    }

    /// Returns the handler of a request.
    func handler(for request: LoopbackRequest) -> Handler {
        let path = request.path
        if let handler = handler(request.method, path) { return handler }
        var folder = path[...]
        while let slash = folder.lastIndex(of: "/") {
            folder = folder[..<slash]
            if let handler = handler(request.method, folder + "/*") { return handler }
        }
        return fallbackHandler ?? { .text("no route for \($0.method) \($0.path)\n", status: 404) }
    }

    static func sequence(_ responses: [LoopbackResponse]) -> Handler {
        let script = Script(responses, repeatsLast: true)
        return { request in
            guard let response = script.next() else {
                throw MockError(.scriptExhausted, "no response for \(request.method) \(request.path)")
            }
            return response
        }
    }

    private func handler(_ method: HTTPMethod, _ path: some StringProtocol) -> Handler? {
        let path = String(path)
        return handlers[Key(method: method, path: path)]
            ?? (method == .head ? handlers[Key(method: .get, path: path)] : nil)
            ?? handlers[Key(method: nil, path: path)]
    }
}
