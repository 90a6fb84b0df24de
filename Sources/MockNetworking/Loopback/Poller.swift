import CSocket
import Glibc
import System

/// An epoll instance: tells which sockets have become ready.
// reason for @safe: the events' data is always written and read as a number, never as the pointer it could be.
@safe struct Poller: ~Copyable {
    /// One report.
    struct Event {
        let token: UInt64
        /// The peer will send nothing more, or the connection is broken.
        let isHangup: Bool
        /// The connection is broken in both directions.
        let isBroken: Bool
    }

    private let descriptor: Descriptor
    private var buffer: [epoll_event]

    init() throws(SystemFailure) {
        let number = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard number >= 0 else { throw SystemFailure("epoll_create1") }
        descriptor = Descriptor(takingOwnershipOf: number)
        // Not a default value: Swift 6.2's compiler loses track of one where the initializer throws.
        unsafe buffer = [epoll_event](repeating: epoll_event(), count: 256)
    }

    /// Reports when there is something to read or to accept, as long as there is.
    func watch(_ number: Int32, token: UInt64) throws(SystemFailure) {
        try add(number, token, EPOLLIN.rawValue)
    }

    /// Reports each time a connection becomes readable, writable or broken.
    func watchChanges(_ number: Int32, token: UInt64) throws(SystemFailure) {
        try add(number, token, EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue)
    }

    /// Reports no more, as closing the descriptor does too.
    func forget(_ number: Int32) {
        _ = epoll_ctl(descriptor.number, EPOLL_CTL_DEL, number, nil)
    }

    /// Waits for reports.
    ///
    /// - Parameter milliseconds: How long; -1 for as long as it takes.
    /// - Returns: The reports; empty if the time is over.
    mutating func wait(milliseconds: Int32) -> [Event] {
        let epoll = descriptor.number
        let count: Int32 = unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            guard let first = buffer.baseAddress else { return 0 }
            return unsafe epoll_wait(epoll, first, Int32(buffer.count), milliseconds)
        }
        // The only error that can happen here is EINTR, and the caller comes back.
        return unsafe buffer.prefix(Int(max(count, 0))).map { event in
            unsafe Event(
                token: event.data.u64,
                isHangup: event.events & (EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0,
                isBroken: event.events & (EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0
            )
        }
    }

    private func add(_ number: Int32, _ token: UInt64, _ events: UInt32) throws(SystemFailure) {
        var event = unsafe epoll_event(events: events, data: epoll_data_t(u64: token))
        guard unsafe epoll_ctl(descriptor.number, EPOLL_CTL_ADD, number, &event) == 0 else {
            throw SystemFailure("epoll_ctl")
        }
    }
}
