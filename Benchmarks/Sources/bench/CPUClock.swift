import Foundation

/// The CPU time of all threads of the process, which excludes other programs.
enum CPUClock {
    /// The current value, in nanoseconds.
    static var now: UInt64 { nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID) }
}

/// The elapsed time.
enum WallClock {
    /// The current value, in nanoseconds.
    static var now: UInt64 { nanoseconds(of: CLOCK_MONOTONIC) }
}

private func nanoseconds(of clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
