import Foundation
import SystemIO

/// A message from a task to the event loop.
enum LoopCommand: Sendable {
    /// Bytes of a response, with an ending if they are the last ones.
    case send(ExchangeID, Data, ending: ResponseEnding?, CheckedContinuation<Void, any Error>?)
    /// The task of a request has ended.
    case ended(ExchangeID)
    case stop
}

/// The identifier of a request on a connection.
struct ExchangeID: Hashable, Sendable {
    let connection: Int
    let number: UInt64
}

/// The state of a connection after a response.
enum ResponseEnding: Sendable {
    case keepAlive
    case close
    /// Like `close`, but without the close_notify in TLS.
    case truncate
    case reset
    case silence
}

extension Mailbox<LoopCommand> {
    /// Posts bytes, and waits until the kernel has accepted them.
    func send(_ id: ExchangeID, _ bytes: Data) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            if !post(.send(id, bytes, ending: nil, continuation)) {
                continuation.resume(throwing: MockError.connectionEnded)
            }
        }
    }
}

extension MockError {
    static var connectionEnded: Self {
        Self(.connectionClosed, "the connection ended before everything was written")
    }
}
