/// Octets that exist during one call, on the stack where the compiler can put them there.
///
/// They are not cleared: this is for public intermediate values such as a hash to sign.
enum TemporaryBytes {
    /// Makes octets and uses them.
    ///
    /// - Parameters:
    ///   - capacity: How many octets there may be; appending more is a programming error and traps.
    ///   - fill: Appends the octets.
    ///   - body: Uses them.
    /// - Returns: What `body` returns.
    /// - Throws: What `fill` or `body` throws.
    @inline(__always)
    static func with<Result, Failure: Error>(
        capacity: Int,
        filledBy fill: (inout OutputSpan<UInt8>) throws(Failure) -> Void,
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { buffer throws(Failure) in
            var output = unsafe OutputSpan(buffer: buffer, initializedCount: 0)
            try fill(&output)
            let count = unsafe output.finalize(for: buffer)
            return try body(
                unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
            )
        }
    }
}
