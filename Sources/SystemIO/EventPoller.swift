internal import CSocket
import Glibc
import Synchronization

/// Waits for socket events and for signals from other threads, for any thread.
package final class EventPoller: Sendable {
    private let queue: Int32
    private let signalCounter: Int32

    /// Creates a poller; this fails if the system has run out of descriptors.
    package init() throws(SystemFailure) {
        queue = epoll_create1(Int32(EPOLL_CLOEXEC))
        signalCounter = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard queue >= 0, signalCounter >= 0, set(EPOLL_CTL_ADD, signalCounter, EPOLLIN.rawValue) else {
            throw SystemFailure("epoll")
        }
    }

    deinit {
        Glibc.close(signalCounter)
        Glibc.close(queue)
    }

    package func signal() { _ = eventfd_write(signalCounter, 1) }

    package struct Condition: OptionSet, Sendable {
        package let rawValue: UInt32

        package init(rawValue: UInt32) { self.rawValue = rawValue }

        package static var readable: Self { Self(rawValue: EPOLLIN.rawValue) }
        package static var writable: Self { Self(rawValue: EPOLLOUT.rawValue) }
        /// The peer has finished sending.
        package static var hangUp: Self { Self(rawValue: EPOLLRDHUP.rawValue) }
        /// The connection is broken in both directions, which every watched socket reports.
        package static var broken: Self { Self(rawValue: EPOLLHUP.rawValue | EPOLLERR.rawValue) }
    }

    /// Sets the conditions to watch for, and returns `false` if the system is out of memory.
    ///
    /// Events are level-triggered: the poller reports an event until its cause is gone.
    @discardableResult
    package func watch(_ socket: Int32, of user: UInt32 = 0, for conditions: Condition) -> Bool {
        guard !conditions.isEmpty else { return set(EPOLL_CTL_DEL, socket, 0) }
        return set(EPOLL_CTL_MOD, socket, conditions.rawValue, user)
            || set(EPOLL_CTL_ADD, socket, conditions.rawValue, user)
    }

    package struct Event {
        package var socket: Int32
        package var user: UInt32
        package var conditions: Condition
    }

    /// Replaces `events` with all pending ones, waiting for at most a time unless it's negative.
    package func wait(milliseconds: Int32, _ events: inout [Event]) {
        events.removeAll(keepingCapacity: true)
        var capacity = 128
        while collect(capacity, milliseconds: milliseconds, &events) {
            // There may be more. Level-triggered events are all reported again.
            events.removeAll(keepingCapacity: true)
            capacity *= 4
        }
    }

    private func collect(_ capacity: Int, milliseconds: Int32, _ events: inout [Event]) -> Bool {
        unsafe withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: capacity) { buffer in
            guard let first = buffer.baseAddress else { return false }
            let count = unsafe Int(epoll_wait(queue, first, Int32(capacity), milliseconds))
            guard count < capacity else { return true }
            for index in 0..<max(0, count) {
                let happened = unsafe buffer[index].events
                let data = unsafe buffer[index].data.u64
                let socket = Int32(truncatingIfNeeded: data)
                guard socket != signalCounter else {
                    var signals: eventfd_t = 0
                    _ = unsafe eventfd_read(signalCounter, &signals)
                    continue
                }
                var conditions = EventPoller.Condition(rawValue: happened)
                // After an error or hang-up, both a read and a write report the cause.
                if !conditions.isDisjoint(with: .broken) {
                    conditions.formUnion([.readable, .writable, .hangUp, .broken])
                }
                events.append(
                    Event(socket: socket, user: UInt32(truncatingIfNeeded: data >> 32), conditions: conditions)
                )
            }
            return false
        }
    }

    private func set(_ operation: Int32, _ socket: Int32, _ events: UInt32, _ user: UInt32 = 0) -> Bool {
        var event = unsafe epoll_event()
        unsafe event.events = events
        unsafe event.data.u64 = UInt64(user) << 32 | UInt64(UInt32(bitPattern: socket))
        return unsafe epoll_ctl(queue, operation, socket, &event) == 0
    }
}

/// A queue from any thread to the thread of an event loop, which is signaled only while it sleeps.
package final class Mailbox<Message: Sendable>: Sendable {
    private struct State {
        var messages: [Message] = []
        var isSleeping = false
        var isClosed = false
        var poller: EventPoller?
    }

    private let state = Mutex(State())

    package init() {}

    package func attach(_ poller: EventPoller?) { state.withLock { $0.poller = poller } }

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

    /// Takes the pending messages; it releases the array's elements, and reuses their storage.
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
