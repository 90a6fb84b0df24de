/// Octets that exist during one call, on the stack where the compiler can put them there.
///
/// They are not cleared: this is for public intermediate values such as a hash to sign, or a signature.
///
/// It is public, in a module that no product offers, because the compiler inlines no member of a `package` type elsewhere.
public enum TemporaryBytes {
    /// Makes octets and uses them.
    ///
    /// - Parameters:
    ///   - capacity: How many octets there may be; appending more is a programming error and traps.
    ///   - fill: Appends the octets.
    ///   - body: Uses them.
    /// - Returns: What `body` returns.
    /// - Throws: What `fill` or `body` throws.
    @inlinable
    @inline(__always)
    package static func with<Result, Failure: Error>(
        capacity: Int,
        filledBy fill: (inout OutputSpan<UInt8>) throws(Failure) -> Void,
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // The failure goes out as a value: with Swift 6.2 the standard library's function only rethrows untyped errors.
        let result = unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { buffer in
            do throws(Failure) {
                var output = unsafe OutputSpan(buffer: buffer, initializedCount: 0)
                try fill(&output)
                let count = unsafe output.finalize(for: buffer)
                let octets = unsafe UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count])
                return Swift.Result<Result, Failure>.success(try body(unsafe RawSpan(_unsafeBytes: octets)))
            } catch {
                return Swift.Result<Result, Failure>.failure(error)
            }
        }
        return try result.get()
    }
}
