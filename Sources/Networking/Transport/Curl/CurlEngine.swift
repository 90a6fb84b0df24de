import Glibc
import OpenSSLCrypto
import Synchronization
import SystemIO

/// The handle for an engine's thread.
///
/// The thread starts with a request and ends when the engine has been idle for a while, or when the
/// last reference is released. The transport holds a reference, and so does each response that's
/// still being read.
final class CurlEngine: Sendable {
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

    let streamBlocks: BlockPool
    let load = EngineLoad()
    private let index: Int
    private let configuration: CurlTransport.Configuration
    private let admission: CurlAdmission
    private let watchdog: CurlWatchdog
    private let state = Mutex(State())

    /// The engines of a transport share the limits and the watchdog.
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

    /// Guarantees an outcome.
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

    /// The request ends soon even if the thread is busy.
    func cancel(_ exchange: CurlExchange) {
        exchange.cancel()
        post(.cancel(exchange.identifier))
        watchdog.noteCancellation()
    }

    /// For a message about a request: the thread doesn't end before its requests.
    func post(_ message: CurlMessage) {
        state.withLock(\.run)?.mailbox.post(message)
    }

    /// The number is unique among the transport's requests.
    func nextIdentifier() -> UInt64 { admission.nextIdentifier(for: index) }

    var isRunning: Bool {
        guard let run = state.withLock(\.run) else { return false }
        return !run.mailbox.isClosed
    }

    /// Starts the thread, unless it's running; returns `nil` if the engine was closed; the mailbox
    /// in `ended` is that of a thread that has ended.
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

    /// The thread ends because it was idle.
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
            let (end, closer) = (Moment.now + patience, CurlCloser(continuation))
            guard run.mailbox.post(.close(at: end, closer)) else { return closer.resume(hasEnded: true) }
            watchdog.close(at: end, closer)
        }
        if hasEnded { run.thread.join() }
    }
}

/// The engines of a transport.
///
/// A request goes to the first engine that isn't busy, so that a light load uses a single thread
/// and few connections. If all are busy, it goes to the one with the fewest requests.
struct CurlEngines: Sendable {
    let admission: CurlAdmission
    private let engines: [CurlEngine]
    private let usesTurns: Bool

    init(configuration: CurlTransport.Configuration) {
        let admission = CurlAdmission(configuration)
        let watchdog = CurlWatchdog(admission)
        self.admission = admission
        usesTurns = configuration.usesEnginesInTurn
        engines = (0..<configuration.engineCount).map {
            CurlEngine($0, configuration: configuration, admission: admission, watchdog: watchdog)
        }
    }

    func next() -> CurlEngine {
        if usesTurns { return engines[admission.nextTurn() % engines.count] }
        return engines.first { $0.load.hasRoom } ?? engines.min { $0.load.requests < $1.load.requests } ?? engines[0]
    }

    func close(after patience: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            for engine in engines { group.addTask { await engine.close(after: patience) } }
        }
    }

    var runningCount: Int { engines.count { $0.isRunning } }
}

enum CurlMessage: Sendable {
    case submit(CurlSubmission)
    /// Starts a waiting request, which may have ended; another engine has counted it as running.
    case admit(UInt64, HTTPOrigin)
    /// Cancels a request, which may have ended already or not have arrived yet.
    case cancel(UInt64)
    /// Resumes a request whose reader has taken data or whose next body part is available.
    case resume(UInt64)
    /// Delivers the resolver's answer to a request that's waiting for it.
    case answer(UInt64, NameResolver.Answer)
    /// Stops the engine when all requests have ended, or at a time, then resumes the caller.
    case close(at: Moment, CurlCloser?)
}

/// It's a class because copying a configuration for each transfer costs a dozen reference counts.
final class CurlEngineSettings {
    let configuration: CurlTransport.Configuration
    /// In libcurl's notation.
    let resolverEntries: [String]
    /// The list must outlive each transfer.
    let resolverLines: CurlLines?

    init(_ configuration: CurlTransport.Configuration) {
        self.configuration = configuration
        resolverEntries = configuration.resolverEntries.map(\.line)
        resolverLines = CurlLines(resolverEntries)
    }
}

/// The load of an engine's thread, which decides whether another engine takes the next request.
///
/// The thread's processor time counts, not the time it's runnable: if the machine is busy, another
/// thread wouldn't help.
final class EngineLoad: Sendable {
    /// The share of a processor, in thousandths, from which an engine counts as busy.
    ///
    /// Two engines need more processor time for the same requests than one, because each handles
    /// fewer at a time. A second one therefore helps only when the first has no time left.
    private static let busyShare = 950

    private let share = Atomic<Int>(0)
    private let isAsleep = Atomic<Bool>(true)
    private let requestCount = Atomic<Int>(0)

    var hasRoom: Bool {
        isAsleep.load(ordering: .relaxed) || share.load(ordering: .relaxed) < Self.busyShare
    }

    var requests: Int { requestCount.load(ordering: .relaxed) }

    func begin() { requestCount.wrappingAdd(1, ordering: .relaxed) }

    func end() { requestCount.wrappingSubtract(1, ordering: .relaxed) }

    func sleep() { isAsleep.store(true, ordering: .relaxed) }

    func wake() { isAsleep.store(false, ordering: .relaxed) }

    func set(share value: Int) { share.store(value, ordering: .relaxed) }
}

struct EngineLoadMeter {
    private static let period = Duration.milliseconds(20)
    private let load: EngineLoad
    private var start = Moment.now
    private var startTime = threadTime()

    init(_ load: EngineLoad) {
        self.load = load
    }

    /// Updates the load if the period has passed.
    mutating func measure(at now: Moment) {
        let elapsed = now - start
        guard elapsed >= Self.period else { return }
        let time = Self.threadTime()
        load.set(share: Int(clamping: (time - startTime) / elapsed * 1000))
        (start, startTime) = (now, time)
    }

    /// The processor time that the calling thread has used.
    private static func threadTime() -> Duration {
        var time = timespec()
        guard unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 else { return .zero }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)  // reason: integers
    }
}
