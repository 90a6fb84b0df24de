public import Networking

/// Which closure answers which request.
///
/// A route's path is compared with ``LoopbackRequest/path``, escapes included. A path that ends in `/*` takes everything
/// below it. The exact path goes before a wildcard, a longer wildcard before a shorter one, a named method before any;
/// a `GET` route answers `HEAD` too if that has no route of its own. A later route replaces an earlier one of the same method and path.
public struct LoopbackRoutes: Sendable {
    /// What answers a request.
    ///
    /// An error thrown becomes a response with the status 500 and is kept in ``LoopbackServer/handlerErrors``.
    public typealias Handler = @Sendable (LoopbackRequest) async throws -> LoopbackResponse

    private struct Key: Hashable, Sendable {
        var method: HTTPMethod?
        var path: String
    }

    private var handlers: [Key: Handler] = [:]
    private var fallbackHandler: Handler?

    /// Makes an empty table, in which everything is answered with the status 404.
    public init() {}

    /// Answers requests of one method and path by a closure.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path as it is sent.
    ///   - handler: What answers.
    public mutating func on(_ method: HTTPMethod, _ path: String, _ handler: @escaping Handler) {
        handlers[Key(method: method, path: path)] = handler
    }

    /// Answers requests of one method and path with responses in sequence; the last one repeats.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path as it is sent.
    ///   - first: The first response.
    ///   - others: The responses after it.
    public mutating func on(
        _ method: HTTPMethod,
        _ path: String,
        _ first: LoopbackResponse,
        _ others: LoopbackResponse...
    ) {
        on(method, path, Self.sequence([first] + others))
    }

    /// Answers requests of every method on a path by a closure.
    ///
    /// - Parameters:
    ///   - path: The path as it is sent.
    ///   - handler: What answers.
    public mutating func onAnyMethod(_ path: String, _ handler: @escaping Handler) {
        handlers[Key(method: nil, path: path)] = handler
    }

    /// Answers every request that has no route.
    ///
    /// - Parameter handler: What answers.
    public mutating func fallback(_ handler: @escaping Handler) {
        fallbackHandler = handler
    }

    /// Removes the route of one method and path.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path as it was given.
    public mutating func remove(_ method: HTTPMethod, _ path: String) {
        handlers[Key(method: method, path: path)] = nil
    }

    /// What answers a request.
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
