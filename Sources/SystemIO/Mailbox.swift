import Synchronization

/// A queue that carries messages from any thread to the thread of an event loop.
///
/// Posting signals the poller only while the loop sleeps, so a burst costs one wake-up.
package final class Mailbox<Message: Sendable>: Sendable {
    private struct State {
        var messages: [Message] = []
        var isSleeping = false
        var isClosed = false
        /// The poller that the loop sleeps in, or `nil` while no loop is running.
        var poller: EventPoller?
    }

    private let state = Mutex(State())

    package init() {}

    /// Sets the poller that the loop sleeps in, before the loop's thread starts.
    package func attach(_ poller: EventPoller?) {
        state.withLock { $0.poller = poller }
    }

    /// Posts a message to the loop, or discards it and returns `false` if the mailbox is closed.
    @discardableResult
    package func post(_ message: Message) -> Bool {
        let (isOpen, sleeper) = state.withLock { state -> (Bool, EventPoller?) in
            guard !state.isClosed else { return (false, nil) }
            state.messages.append(message)
            defer { state.isSleeping = false }
            return (true, state.isSleeping ? state.poller : nil)
        }
        sleeper?.signal()
        return isOpen
    }

    /// Takes the pending messages, for the loop.
    ///
    /// It releases the previous elements of the array, and reuses their storage for later messages.
    package func collect(_ messages: inout [Message]) {
        // Done without the lock, because it releases what the messages hold.
        messages.removeAll(keepingCapacity: messages.count <= 1_024)
        state.withLock { state in
            state.isSleeping = false
            swap(&messages, &state.messages)
        }
    }

    /// Prepares to wait, or returns `false` if the loop must collect messages first.
    package func prepareToSleep() -> Bool {
        state.withLock { state in
            state.isSleeping = state.messages.isEmpty
            return state.isSleeping
        }
    }

    /// A Boolean value that indicates whether the mailbox discards messages.
    package var isClosed: Bool { state.withLock(\.isClosed) }

    /// Closes the mailbox if it's empty, and returns whether it did.
    package func closeIfEmpty() -> Bool {
        state.withLock { state in
            guard state.messages.isEmpty else { return false }
            (state.isClosed, state.poller) = (true, nil)
            return true
        }
    }

    /// Closes the mailbox when the loop ends, and returns the messages that it hasn't collected.
    package func close() -> [Message] {
        state.withLock { state in
            (state.isClosed, state.poller) = (true, nil)
            defer { state.messages = [] }
            return state.messages
        }
    }
}
