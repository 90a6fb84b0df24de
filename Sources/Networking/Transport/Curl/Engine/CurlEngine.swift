import Glibc
import Synchronization
import System

/// The engine's thread and the way to it.
///
/// The thread starts with the first exchange. It ends when the last reference goes; the transport has one, and so has each response that
/// is still being read.
final class CurlEngine: Sendable {
    private enum State {
        /// No thread and no descriptor exist yet.
        case idle
        /// `fork()` copies this object into a process that has no such thread.
        case running(WorkerThread, process: pid_t)
        /// It was closed before its first exchange.
        case closed
    }

    let mailbox = Mailbox<CurlMessage>()
    /// Where the octets of streamed responses wait for their readers.
    let streamBlocks: BlockPool
    /// How many octets of a streamed response libcurl receives at once.
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

    /// Hands an exchange to the thread, which then owes it an outcome.
    func submit(_ submission: CurlSubmission) {
        if !mailbox.post(.submit(submission)) { submission.refuse(.transportClosed) }
    }

    /// Asks the thread to give up an exchange; it may have ended already or come later.
    func cancel(_ identifier: UInt64) {
        mailbox.post(.cancel(identifier))
    }

    /// A number that no other exchange of this engine has.
    func nextIdentifier() -> UInt64 { lastIdentifier.add(1, ordering: .relaxed).newValue }

    /// A Boolean value that indicates whether the engine has a thread and descriptors.
    var isRunning: Bool {
        if case .running = state.withLock({ $0 }) { true } else { false }
    }

    /// Starts the thread, unless it runs or the engine was closed.
    ///
    /// - Parameter process: The process that asks.
    /// - Throws: ``NetworkError`` with the code `transportUnavailable` in a process that was forked after the thread was started, or
    ///   if the process has no descriptor or thread left; the next call tries again.
    func start(in process: pid_t = getpid()) throws(NetworkError) {
        try state.withLock { state throws(NetworkError) in
            switch state {
            case .closed: return
            case .running(_, process): return
            case .running:
                throw NetworkError(
                    .transportUnavailable,
                    "the transport was used before this process was forked; make a new one in the child"
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
                        "the transport's thread could not be started (error \(error.number))",
                        isUnprocessed: true
                    )
                }
            }
        }
    }

    /// Stops the thread and returns when it has ended.
    ///
    /// - Parameter patience: How long exchanges may still run.
    func close(after patience: Duration) async {
        let thread = state.withLock { state -> WorkerThread? in
            switch state {
            case .running(let thread, getpid()): return thread
            case .running: return nil
            case .idle, .closed:
                // Under the lock: no exchange may find the engine closed and its mailbox open.
                _ = mailbox.close()
                state = .closed
                return nil
            }
        }
        guard let thread else { return }
        // More than a year is for ever, and an instant has an end.
        let patience = min(max(patience, .zero), .seconds(31_536_000))
        await withCheckedContinuation { continuation in
            if !mailbox.post(.close(at: .now + patience, continuation)) { continuation.resume() }
        }
        thread.join()
    }
}
