import CAllocations

/// One of the compared libraries, which repeats an operation.
struct Side: Sendable {
    let run: @Sendable (_ times: Int) async throws -> Void

    /// Warms up and returns the number of operations that fill a slice of CPU time.
    func timesPerSlice(_ nanoseconds: UInt64) async throws -> Int {
        // Excludes one-time work from the measurement.
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

    /// Returns the CPU time per operation, in microseconds.
    func measure(_ times: Int) async throws -> Double {
        let start = CPUClock.now
        try await run(times)
        return Double(CPUClock.now - start) / 1000 / Double(times)
    }

    /// Returns the number of allocations per operation.
    func allocations(_ times: Int = 200) async throws -> Double {
        try await run(times)
        allocations_count(true)
        try await run(times)
        let counted = allocations_counted()
        allocations_count(false)
        return Double(counted) / Double(times)
    }
}

/// Prevents the compiler from removing the computation of a value.
@inline(never)
func use<Value>(_ value: Value) {
    withExtendedLifetime(value) {}
}
