import Glibc
import Synchronization
import SystemIO

/// The handle for an engine's thread.
///
/// The thread starts with a request and ends when the engine has been idle for a while, or when the
/// last reference is released. The transport holds a reference, and so does each response that's
/// still being read.
final class CurlEngine: Sendable {
    /// A thread with its mailbox.
    private struct Run {
        let mailbox: Mailbox<CurlMessage>
        let thread: WorkerThread
        /// The process that started the thread, unlike one that `fork()` copied this object to.
        let process: pid_t
    }

    private struct State {
        /// The last thread, which may be ending if the engine was closed.
        var run: Run?
        var isClosed = false
    }

    /// The memory for data of streamed responses that hasn't been read.
    let streamBlocks: BlockPool
    let load = EngineLoad()
    private let index: Int
    private let configuration: CurlTransport.Configuration
    private let admission: CurlAdmission
    private let watchdog: CurlWatchdog
    private let state = Mutex(State())

    /// Creates an engine with its number in its transport, whose engines share the limits and the
    /// watchdog; by default, it has its own.
    init(
        _ index: Int,
        configuration: CurlTransport.Configuration,
        admission: CurlAdmission,
        watchdog: CurlWatchdog? = nil
    ) {
        self.index = index
        self.configuration = configuration
        self.admission = admission
        self.watchdog = watchdog ?? CurlWatchdog(admission)
        streamBlocks = BlockPool(blockSize: configuration.streamBufferSize)
    }

    deinit {
        let state = state.withLock(\.self)
        if !state.isClosed, let run = state.run, run.process == getpid() { run.mailbox.post(.close(at: .now, nil)) }
    }

    /// Submits a request to the thread, which guarantees an outcome.
    func submit(_ submission: CurlSubmission) {
        load.begin()
        do throws(NetworkError) {
            // The thread may end between its start and the post.
            var ended: Mailbox<CurlMessage>?
            while let mailbox = try start(replacing: ended) {
                if mailbox.post(.submit(submission)) { return watchdog.watch(submission) }
                ended = mailbox
            }
            submission.refuse(NetworkError.transportClosed, load)
        } catch {
            submission.refuse(error, load)
        }
    }

    /// Cancels a request, which ends soon even if the thread is busy.
    func cancel(_ exchange: CurlExchange) {
        exchange.cancel()
        post(.cancel(exchange.identifier))
        watchdog.noteCancellation()
    }

    /// Posts a message about a request to the thread, which doesn't end before its requests.
    func post(_ message: CurlMessage) {
        state.withLock(\.run)?.mailbox.post(message)
    }

    /// Returns a number that's unique among the transport's requests.
    func nextIdentifier() -> UInt64 { admission.nextIdentifier(for: index) }

    /// A Boolean value that indicates whether the engine has a thread and descriptors.
    var isRunning: Bool {
        guard let run = state.withLock(\.run) else { return false }
        return !run.mailbox.isClosed
    }

    /// Starts the thread, unless it's running, and returns its mailbox; `nil` if the engine was
    /// closed.
    ///
    /// A mailbox in `ended` is that of a thread that has ended.
    ///
    /// It throws `transportUnavailable` in a process that was forked after the thread started, or
    /// if the process is out of descriptors or threads. Call it again to retry.
    @discardableResult
    func start(
        replacing ended: Mailbox<CurlMessage>? = nil,
        in process: pid_t = getpid()
    ) throws(NetworkError) -> Mailbox<CurlMessage>? {
        try state.withLock { state throws(NetworkError) in
            guard !state.isClosed else { return nil }
            guard state.run.map({ $0.process == process }) ?? true else {
                throw NetworkError(
                    .transportUnavailable,
                    "the transport was used before this process was forked; create another one in the child"
                )
            }
            if let mailbox = state.run?.mailbox, mailbox !== ended { return mailbox }
            let run = try makeRun(in: process)
            state.run = run
            return run.mailbox
        }
    }

    private func makeRun(in process: pid_t) throws(NetworkError) -> Run {
        let poller: EventPoller
        do throws(SystemFailure) { poller = try EventPoller() } catch {
            throw .noDescriptor(error.number, "the transport can't wait for events")
        }
        let mailbox = Mailbox<CurlMessage>()
        mailbox.attach(poller)
        let (index, configuration, admission, load) = (index, configuration, admission, load)
        admission.open(mailbox, for: index)
        do throws(SystemFailure) {
            let thread = try WorkerThread(named: "http-engine") {
                CurlLoop(index, mailbox: mailbox, poller: poller, configuration, admission, load).run()
            } atEnd: { [weak self] in
                self?.detachThread(of: mailbox)
            }
            return Run(mailbox: mailbox, thread: thread, process: process)
        } catch {
            admission.close(mailbox, for: index)
            throw NetworkError(
                .transportUnavailable,
                "can't start the transport's thread (error \(error.number))",
                isUnprocessed: true
            )
        }
    }

    /// Detaches a thread that ends because it was idle.
    private func detachThread(of mailbox: Mailbox<CurlMessage>) {
        state.withLock { state in
            if !state.isClosed, state.run?.mailbox === mailbox { state.run?.thread.detach() }
        }
    }

    /// Stops the thread after its requests, or after `patience`, and waits for it to end unless
    /// it's busy.
    func close(after patience: Duration) async {
        let run = state.withLock { state in
            state.isClosed = true
            return state.run
        }
        guard let run, run.process == getpid() else { return }
        // Limited to a year, because adding an arbitrary duration to an instant can overflow.
        let patience = min(max(patience, .zero), .seconds(31_536_000))
        let hasEnded = await withCheckedContinuation { continuation in
            let (end, closer) = (ContinuousClock.now + patience, CurlCloser(continuation))
            guard run.mailbox.post(.close(at: end, closer)) else { return closer.resume(hasEnded: true) }
            watchdog.close(at: end, closer)
        }
        if hasEnded { run.thread.join() }
    }
}
