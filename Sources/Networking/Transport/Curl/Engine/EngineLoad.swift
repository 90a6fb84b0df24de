import Glibc
import OpenSSLCrypto
import Synchronization

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

    /// A Boolean value that indicates whether the engine can take more requests without delay.
    var hasRoom: Bool {
        isAsleep.load(ordering: .relaxed) || share.load(ordering: .relaxed) < Self.busyShare
    }

    /// The number of requests that the engine has and hasn't ended.
    var requests: Int { requestCount.load(ordering: .relaxed) }

    func begin() { requestCount.wrappingAdd(1, ordering: .relaxed) }

    func end() { requestCount.wrappingSubtract(1, ordering: .relaxed) }

    func sleep() { isAsleep.store(true, ordering: .relaxed) }

    func wake() { isAsleep.store(false, ordering: .relaxed) }

    func set(share value: Int) { share.store(value, ordering: .relaxed) }
}

/// The measurement of an engine's load, on its thread.
struct EngineLoadMeter {
    private static let period = Duration.milliseconds(20)
    private let load: EngineLoad
    private var start = ContinuousClock.now
    private var startTime = threadTime()

    init(_ load: EngineLoad) {
        self.load = load
    }

    /// Updates the load if the period has passed.
    mutating func measure(at now: ContinuousClock.Instant) {
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
