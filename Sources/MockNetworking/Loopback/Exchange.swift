import Foundation
import Networking
import System

/// Answers one request: runs its handler and posts what is to be written.
struct Exchange: Sendable {
    /// The server states of the handlers in which this code runs.
    @TaskLocal static var enclosing: [ObjectIdentifier] = []

    let id: ExchangeID
    let request: LoopbackRequest
    let keepsAlive: Bool
    let mailbox: Mailbox<LoopCommand>
    let state: Watched<ServerState>
    let time: TimeSource

    func run(_ handler: LoopbackRoutes.Handler) async {
        await Self.$enclosing.withValue(Self.enclosing + [ObjectIdentifier(state)]) {
            let writer = ResponseWriter(exchange: self)
            await writer.write(response(from: handler))
        }
        mailbox.post(.ended(id))
        state.update { $0.runningHandlers -= 1 }
    }

    /// Keeps an error that a handler threw for ``LoopbackServer/handlerErrors``.
    ///
    /// What a stopping server or a leaving client causes is no error of the handler.
    func note(_ error: any Error) {
        if error is CancellationError, Task.isCancelled { return }
        if let error = error as? MockError, error.code == .connectionClosed { return }
        state.update { $0.handlerErrors.append(error) }
    }

    private func response(from handler: LoopbackRoutes.Handler) async -> LoopbackResponse {
        do {
            return try await handler(request)
        } catch {
            note(error)
            return .text("the handler failed with \(type(of: error))\n", status: 500)
        }
    }
}
