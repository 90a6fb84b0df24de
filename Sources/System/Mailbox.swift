import Synchronization

/// Carries messages from any thread to the thread of an event loop.
///
/// The loop's poller is only signalled while the loop sleeps, so that a burst of messages costs one wake-up.
package final class Mailbox<Message: Sendable>: Sendable {
    private struct State {
        var messages: [Message] = []
        var isSleeping = false
        var isClosed = false
        /// The poller that the loop sleeps in; `nil` while no loop runs.
        var poller: EventPoller?
    }

    private let state = Mutex(State())

    package init() {}

    /// Sets the poller that the loop sleeps in, before the loop's thread starts.
    package func attach(_ poller: EventPoller?) {
        state.withLock { $0.poller = poller }
    }

    /// Hands a message to the loop.
    ///
    /// - Parameter message: The message.
    /// - Returns: `false` if the mailbox is closed, and the message goes nowhere.
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

    /// Takes the messages that wait; for the loop.
    ///
    /// - Parameter messages: Receives the messages. What it had is released, and its room is used for later messages.
    package func collect(_ messages: inout [Message]) {
        // Outside of the lock, because this releases what the messages hold.
        messages.removeAll(keepingCapacity: messages.count <= 1_024)
        state.withLock { state in
            state.isSleeping = false
            swap(&messages, &state.messages)
        }
    }

    /// Announces that the loop will wait; `false` if it must collect messages instead.
    package func prepareToSleep() -> Bool {
        state.withLock { state in
            state.isSleeping = state.messages.isEmpty
            return state.isSleeping
        }
    }

    /// Accepts no more messages; for the end of the loop.
    ///
    /// - Returns: The messages that the loop has not collected.
    package func close() -> [Message] {
        state.withLock { state in
            (state.isClosed, state.poller) = (true, nil)
            defer { state.messages = [] }
            return state.messages
        }
    }
}
