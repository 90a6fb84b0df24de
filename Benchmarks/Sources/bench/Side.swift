import CAllocations

/// One of those that are compared: does the operation a number of times.
struct Side: Sendable {
    let run: @Sendable (_ times: Int) async throws -> Void

    /// A number of times that takes about a slice of CPU time, after warming up.
    func timesPerSlice(_ nanoseconds: UInt64) async throws -> Int {
        // What is done the first time only would pass for a slice.
        try await run(1)
        var times = 1
        while true {
            let start = CPUClock.now
            try await run(times)
            let elapsed = CPUClock.now - start
            if elapsed >= nanoseconds / 4 {
                return max(1, Int(Double(times) * Double(nanoseconds) / Double(elapsed)))
            }
            times *= 2
        }
    }

    /// CPU time per operation in microseconds.
    func measure(_ times: Int) async throws -> Double {
        let start = CPUClock.now
        try await run(times)
        return Double(CPUClock.now - start) / 1000 / Double(times)
    }

    /// Calls of malloc and its kin per operation.
    func allocations(_ times: Int = 200) async throws -> Double {
        try await run(times)
        allocations_count(true)
        try await run(times)
        let counted = allocations_counted()
        allocations_count(false)
        return Double(counted) / Double(times)
    }
}

/// Sees to it that a result is made.
@inline(never)
func use<Value>(_ value: Value) {
    withExtendedLifetime(value) {}
}
