import CSocket
import Foundation
import Glibc
import Synchronization
import System

/// What tasks tell the event loop.
enum LoopCommand: Sendable {
    /// Bytes of an answer, and how it ends if they are the last ones.
    case send(ExchangeID, Data, ending: ResponseEnding?, CheckedContinuation<Void, any Error>?)
    /// The task of an exchange is over.
    case ended(ExchangeID)
    case stop
}

/// Which request on which connection.
struct ExchangeID: Hashable, Sendable {
    let connection: Int
    let number: UInt64
}

/// What becomes of a connection after a response.
enum ResponseEnding: Sendable {
    case keepAlive
    case close
    /// As `close`, but in TLS without the message that says so.
    case truncate
    case reset
    case silence
}

/// Carries commands from any task to the event loop's thread and wakes it.
final class Mailbox: Sendable {
    private struct State: ~Copyable {
        var commands: [LoopCommand] = []
        var wakeup: Descriptor?
    }

    private let state: Mutex<State>
    /// The number of the descriptor that becomes readable when commands wait; valid until ``close()``.
    let wakeupNumber: Int32

    init() throws(SystemFailure) {
        let number = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        guard number >= 0 else { throw SystemFailure("eventfd") }
        wakeupNumber = number
        state = Mutex(State(wakeup: Descriptor(takingOwnershipOf: number)))
    }

    /// Hands over a command.
    ///
    /// - Returns: Whether the loop will see it.
    @discardableResult
    func post(_ command: LoopCommand) -> Bool {
        state.withLock { state in
            guard state.wakeup != nil else { return false }
            state.commands.append(command)
            // One wake-up serves all commands that are posted before the loop takes them.
            if state.commands.count == 1 { _ = eventfd_write(wakeupNumber, 1) }
            return true
        }
    }

    /// Hands over bytes and waits until the kernel has them.
    func send(_ id: ExchangeID, _ bytes: Data) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            if !post(.send(id, bytes, ending: nil, continuation)) {
                continuation.resume(throwing: MockError.connectionEnded)
            }
        }
    }

    /// Takes the commands that wait.
    func take() -> [LoopCommand] {
        state.withLock { state in
            var count: eventfd_t = 0
            _ = unsafe eventfd_read(wakeupNumber, &count)
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// Takes no more commands.
    ///
    /// - Returns: Those that nobody has taken.
    func close() -> [LoopCommand] {
        state.withLock { state in
            state.wakeup = nil
            defer { state.commands = [] }
            return state.commands
        }
    }
}

extension MockError {
    static var connectionEnded: Self {
        Self(.connectionClosed, "the connection ended before everything was written")
    }
}
