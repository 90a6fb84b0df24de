import CCurl
import Glibc

/// Waits for sockets and for other threads' signals.
///
/// The two descriptors live as long as the object and may be used by any thread.
final class EventPoller: Sendable {
    private let queue: Int32
    private let signalCounter: Int32

    init() throws(NetworkError) {
        queue = epoll_create1(Int32(EPOLL_CLOEXEC))
        signalCounter = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard queue >= 0, signalCounter >= 0, set(EPOLL_CTL_ADD, signalCounter, EPOLLIN.rawValue) else {
            throw NetworkError(
                .transportUnavailable,
                "the transport has no descriptor for its events (error \(errno)); raise the limit of open files"
            )
        }
    }

    deinit {
        Glibc.close(signalCounter)
        Glibc.close(queue)
    }

    /// Makes the current or next ``wait(milliseconds:perform:)`` return; for other threads.
    func signal() {
        _ = eventfd_write(signalCounter, 1)
    }

    /// Sets what a socket is watched for; nothing to forget it.
    func watch(_ socket: Int32, readable: Bool, writable: Bool) {
        guard readable || writable else {
            _ = set(EPOLL_CTL_DEL, socket, 0)
            return
        }
        let events = (readable ? EPOLLIN.rawValue : 0) | (writable ? EPOLLOUT.rawValue : 0)
        if !set(EPOLL_CTL_ADD, socket, events) { _ = set(EPOLL_CTL_MOD, socket, events) }
    }

    /// Waits for an event, at most so many milliseconds (for ever if negative), and reports each socket's.
    func wait(milliseconds: Int32, perform action: (_ socket: Int32, _ readable: Bool, _ writable: Bool) -> Void) {
        unsafe withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 128) { events in
            guard let first = events.baseAddress else { return }
            let count = unsafe epoll_wait(queue, first, Int32(events.count), milliseconds)
            for index in 0..<max(0, Int(count)) {
                let happened = unsafe events[index].events
                let socket = unsafe events[index].data.fd
                guard socket != signalCounter else {
                    var signals: eventfd_t = 0
                    _ = unsafe eventfd_read(signalCounter, &signals)
                    continue
                }
                // After an error or hang-up, reading and writing both tell what it was.
                let isBroken = happened & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0
                action(
                    socket,
                    isBroken || happened & EPOLLIN.rawValue != 0,
                    isBroken || happened & EPOLLOUT.rawValue != 0
                )
            }
        }
    }

    private func set(_ operation: Int32, _ socket: Int32, _ events: UInt32) -> Bool {
        var event = unsafe epoll_event()
        unsafe event.events = events
        unsafe event.data.fd = socket
        return unsafe epoll_ctl(queue, operation, socket, &event) == 0
    }
}
