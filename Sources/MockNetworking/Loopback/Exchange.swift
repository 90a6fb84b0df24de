import Foundation
import Networking
import SystemIO

/// A request in progress: runs its handler and posts the response's bytes.
struct Exchange: Sendable {
    /// The states of the servers in whose handlers this code runs.
    @TaskLocal static var enclosing: [ObjectIdentifier] = []

    let id: ExchangeID
    let request: LoopbackRequest
    let keepsAlive: Bool
    let mailbox: Mailbox<LoopCommand>
    let state: Watched<ServerState>
    let time: TimeSource

    func run(_ handler: LoopbackServer.Handler) async {
        await Self.$enclosing.withValue(Self.enclosing + [ObjectIdentifier(state)]) {
            await write(response(from: handler))
        }
        mailbox.post(.ended(id))
        state.update { $0.runningHandlers -= 1 }
    }

    /// Records an error that a handler threw in ``LoopbackServer/handlerErrors``.
    ///
    /// Errors caused by stopping the server or by a client that disconnects don't count.
    func note(_ error: any Error) {
        if error is CancellationError, Task.isCancelled { return }
        if let error = error as? MockError, error.code == .connectionClosed { return }
        state.update { $0.handlerErrors.append(error) }
    }

    private func response(from handler: LoopbackServer.Handler) async -> LoopbackResponse {
        do {
            return try await handler(request)
        } catch {
            note(error)
            return .text("the handler failed with \(type(of: error))\n", status: 500)
        }
    }
}
