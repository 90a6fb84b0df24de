import Glibc
import Synchronization

/// The thread of an event loop.
final class LoopThread: Sendable {
    private final class Start {
        private var loop: EventLoop?
        private let atEnd: @Sendable () -> Void

        init(loop: EventLoop, atEnd: @escaping @Sendable () -> Void) {
            self.loop = loop
            self.atEnd = atEnd
        }

        func run() {
            loop?.run()
            loop = nil
            atEnd()
        }
    }

    private let thread: Mutex<pthread_t?>

    /// Starts a thread that runs the loop until it ends.
    ///
    /// - Parameters:
    ///   - loop: The loop, which nobody else may use from here on.
    ///   - atEnd: What is called when everything that the loop owns has been released.
    /// - Throws: What the operating system refused.
    init(running loop: consuming sending EventLoop, atEnd: @escaping @Sendable () -> Void) throws(SystemFailure) {
        let start = unsafe Unmanaged.passRetained(Start(loop: loop, atEnd: atEnd))
        var thread = pthread_t()
        let code = unsafe pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                let start = unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                start.run()
                return nil
            },
            start.toOpaque()
        )
        guard code == 0 else {
            unsafe start.release()
            errno = code
            throw SystemFailure("pthread_create")
        }
        self.thread = Mutex(thread)
    }

    deinit {
        // Dropped without having been joined; it may even be the loop's own thread that drops it.
        thread.withLock { thread in
            if let thread { _ = pthread_detach(thread) }
        }
    }

    /// Waits for the end of the thread, once.
    func join() {
        let ended = thread.withLock { $0.take() }
        if let ended { _ = pthread_join(ended, nil) }
    }
}
