import Foundation

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
