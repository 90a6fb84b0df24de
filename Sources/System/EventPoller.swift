internal import CSocket
import Glibc

/// Waits for sockets and for other threads' signals.
///
/// The two descriptors live as long as the object and may be used by any thread.
package final class EventPoller: Sendable {
    private let queue: Int32
    private let signalCounter: Int32

    /// Makes a poller.
    ///
    /// - Throws: ``SystemFailure`` if the system has no descriptors for it.
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

    /// Makes the current or next ``wait(milliseconds:_:)`` return; for other threads.
    package func signal() {
        _ = eventfd_write(signalCounter, 1)
    }

    /// What a socket is watched for, and what happened on it, in epoll's bits.
    package struct Condition: OptionSet, Sendable {
        package let rawValue: UInt32

        package init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        package static var readable: Self { Self(rawValue: EPOLLIN.rawValue) }
        package static var writable: Self { Self(rawValue: EPOLLOUT.rawValue) }
        /// The peer sends nothing more.
        package static var hangUp: Self { Self(rawValue: EPOLLRDHUP.rawValue) }
        /// The connection is broken in both directions, which is told of every socket that is watched for anything.
        package static var broken: Self { Self(rawValue: EPOLLHUP.rawValue | EPOLLERR.rawValue) }
    }

    /// Sets what a socket of one of several users is watched for.
    ///
    /// An event is told again until its cause is gone.
    ///
    /// - Parameters:
    ///   - socket: The socket.
    ///   - user: A number that comes back in the socket's events.
    ///   - conditions: What is told; nothing to forget the socket.
    /// - Returns: `false` if the system has no memory for it.
    @discardableResult
    package func watch(_ socket: Int32, of user: UInt32 = 0, for conditions: Condition) -> Bool {
        guard !conditions.isEmpty else { return set(EPOLL_CTL_DEL, socket, 0) }
        return set(EPOLL_CTL_MOD, socket, conditions.rawValue, user)
            || set(EPOLL_CTL_ADD, socket, conditions.rawValue, user)
    }

    /// Something that happened on a socket.
    package struct Event {
        package var socket: Int32
        package var user: UInt32
        package var conditions: Condition
    }

    /// Waits for events, at most so many milliseconds (for ever if negative).
    ///
    /// All that can be told at once is told, so that a socket without an event had none.
    ///
    /// - Parameters:
    ///   - milliseconds: How long to wait.
    ///   - events: Takes what happened, in place of what it had.
    package func wait(milliseconds: Int32, _ events: inout [Event]) {
        events.removeAll(keepingCapacity: true)
        var capacity = 128
        while collect(capacity, milliseconds: milliseconds, &events) {
            // There may be more; level-triggered events are all told again.
            events.removeAll(keepingCapacity: true)
            capacity *= 4
        }
    }

    /// Collects events, and says whether there were as many as there was room for.
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
                // After an error or hang-up, reading and writing both tell what it was.
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
