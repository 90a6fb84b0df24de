import Networking

/// The state that a server, its event loop and its handlers share.
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

/// The table of a server's routes and their handlers.
struct LoopbackRoutes: Sendable {
    struct Key: Hashable, Sendable {
        /// The method, or `nil` for all.
        let method: HTTPMethod?
        let path: String
    }

    var handlers: [Key: LoopbackServer.Handler] = [:]
    /// The handler of requests without a route.
    var fallback: LoopbackServer.Handler = { .text("no route for \($0.method) \($0.path)\n", status: 404) }

    /// Returns the handler of a request.
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
