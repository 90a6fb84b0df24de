internal import CSocket
import Glibc
import Synchronization

package final class WorkerThread: Sendable {
    private final class Start {
        private let name: String
        private var body: (() -> Void)?
        private let atEnd: @Sendable () -> Void

        init(name: String, body: @escaping () -> Void, atEnd: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
            self.atEnd = atEnd
        }

        func run() {
            _ = unsafe name.withCString { unsafe pthread_setname_np(pthread_self(), $0) }
            body?()
            body = nil
            atEnd()
        }
    }

    private let thread: Mutex<pthread_t?>

    /// Starts a thread with a name of at most 15 bytes; `atEnd` runs after `body` and its captures
    /// are released.
    package init(
        named name: String,
        body: sending @escaping () -> Void,
        atEnd: @escaping @Sendable () -> Void = {}
    ) throws(SystemFailure) {
        var identifier = pthread_t()
        let start = unsafe Unmanaged.passRetained(Start(name: name, body: body, atEnd: atEnd))
        let code = unsafe pthread_create(
            &identifier,
            nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                let start = unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                WorkerThread.blockSignals()
                start.run()
                return nil
            },
            start.toOpaque()
        )
        thread = Mutex(code == 0 ? identifier : nil)
        guard code == 0 else {
            unsafe start.release()
            throw SystemFailure("pthread_create", number: code)
        }
    }

    deinit { detach() }

    package func detach() {
        if let identifier = take() { pthread_detach(identifier) }
    }

    package func join() {
        if let identifier = take() { pthread_join(identifier, nil) }
    }

    private func take() -> pthread_t? {
        thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
    }

    /// Leaves the process's signals to its other threads.
    ///
    /// This includes SIGPIPE: libcurl doesn't use signals here, so a TLS write to a closed socket
    /// would kill the process. Signals for faults stay with the thread that caused them.
    private static func blockSignals() {
        var signals = sigset_t()
        unsafe sigfillset(&signals)
        for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] { unsafe sigdelset(&signals, fault) }
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}
