import Glibc
import Synchronization
import System

/// The handle for the engine's thread.
///
/// The thread starts with the first request and ends when the last reference is released. The
/// transport holds a reference, and so does each response that's still being read.
final class CurlEngine: Sendable {
    private enum State {
        /// The thread and its descriptors haven't been created.
        case idle
        /// The thread is running, except in a process that `fork()` copied this object to.
        case running(WorkerThread, process: pid_t)
        /// The engine was closed before its first request.
        case closed
    }

    let mailbox = Mailbox<CurlMessage>()
    /// The memory for data of streamed responses that hasn't been read.
    let streamBlocks: BlockPool
    /// The number of bytes of a streamed response that libcurl receives at once.
    let receivingSize: Int
    private let configuration: CurlTransport.Configuration
    private let state = Mutex(State.idle)
    private let lastIdentifier = Atomic<UInt64>(0)

    init(configuration: CurlTransport.Configuration) {
        self.configuration = configuration
        streamBlocks = BlockPool(blockSize: configuration.streamBufferSize)
        receivingSize = configuration.receivingSize
    }

    deinit {
        if case .running(_, getpid()) = state.withLock({ $0 }) { mailbox.post(.close(at: .now, nil)) }
    }

    /// Submits a request to the thread, which guarantees an outcome.
    func submit(_ submission: CurlSubmission) {
        if !mailbox.post(.submit(submission)) { submission.refuse(.transportClosed) }
    }

    /// Cancels a request, which may have ended already or not have arrived yet.
    func cancel(_ identifier: UInt64) {
        mailbox.post(.cancel(identifier))
    }

    /// Returns a number that's unique among this engine's requests.
    func nextIdentifier() -> UInt64 { lastIdentifier.add(1, ordering: .relaxed).newValue }

    /// A Boolean value that indicates whether the engine has a thread and descriptors.
    var isRunning: Bool {
        if case .running = state.withLock({ $0 }) { true } else { false }
    }

    /// Starts the thread, unless it's running or the engine was closed.
    ///
    /// - Parameter process: The current process. The default is the calling process.
    /// - Throws: ``NetworkError`` with the code `transportUnavailable` in a process that was forked
    ///   after the thread started, or if the process is out of descriptors or threads. Call it
    ///   again to retry.
    func start(in process: pid_t = getpid()) throws(NetworkError) {
        try state.withLock { state throws(NetworkError) in
            switch state {
            case .closed: return
            case .running(_, process): return
            case .running:
                throw NetworkError(
                    .transportUnavailable,
                    "the transport was used before this process was forked; create another one in the child"
                )
            case .idle:
                let poller: EventPoller
                do throws(SystemFailure) { poller = try EventPoller() } catch {
                    throw .noDescriptor(error.number, "the transport can't wait for events")
                }
                mailbox.attach(poller)
                let (mailbox, configuration) = (mailbox, configuration)
                do throws(SystemFailure) {
                    let thread = try WorkerThread {
                        CurlLoop(mailbox: mailbox, poller: poller, configuration: configuration).run()
                    }
                    state = .running(thread, process: process)
                } catch {
                    mailbox.attach(nil)
                    throw NetworkError(
                        .transportUnavailable,
                        "can't start the transport's thread (error \(error.number))",
                        isUnprocessed: true
                    )
                }
            }
        }
    }

    /// Stops the thread and waits for it to end.
    ///
    /// - Parameter patience: The maximum time to wait for running requests.
    func close(after patience: Duration) async {
        let thread = state.withLock { state -> WorkerThread? in
            switch state {
            case .running(let thread, getpid()): return thread
            case .running: return nil
            case .idle, .closed:
                // Under the lock, so that no request finds a closed engine with an open mailbox.
                _ = mailbox.close()
                state = .closed
                return nil
            }
        }
        guard let thread else { return }
        // Limited to a year, because adding an arbitrary duration to an instant can overflow.
        let patience = min(max(patience, .zero), .seconds(31_536_000))
        await withCheckedContinuation { continuation in
            if !mailbox.post(.close(at: .now + patience, continuation)) { continuation.resume() }
        }
        thread.join()
    }
}
