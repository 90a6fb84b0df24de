import Foundation

/// The CPU time of the whole process, all threads: what other programs do on the machine does not count.
enum CPUClock {
    /// In nanoseconds.
    static var now: UInt64 { nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID) }
}

/// Time that passes, whoever has the processors.
enum WallClock {
    /// In nanoseconds.
    static var now: UInt64 { nanoseconds(of: CLOCK_MONOTONIC) }
}

private func nanoseconds(of clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
