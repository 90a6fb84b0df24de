import Foundation
import System

/// A message of a task to the event loop.
enum LoopCommand: Sendable {
    /// Bytes of an answer, and how it ends if they are the last ones.
    case send(ExchangeID, Data, ending: ResponseEnding?, CheckedContinuation<Void, any Error>?)
    /// The task of an exchange is over.
    case ended(ExchangeID)
    case stop
}

/// The identity of a request on a connection.
struct ExchangeID: Hashable, Sendable {
    let connection: Int
    let number: UInt64
}

/// The end of a connection after a response.
enum ResponseEnding: Sendable {
    case keepAlive
    case close
    /// As `close`, but in TLS without the message that says so.
    case truncate
    case reset
    case silence
}

extension Mailbox<LoopCommand> {
    /// Hands over bytes and waits until the kernel has them.
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
