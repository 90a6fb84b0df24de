// What Swift 6.3's standard library has and Swift 6.2's lacks. Goes when 6.2 is no longer supported.

#if compiler(<6.3)
    extension [UInt8] {
        /// Makes an array whose octets a closure appends.
        ///
        /// - Parameters:
        ///   - capacity: How many octets there may be.
        ///   - body: Appends them.
        /// - Throws: What `body` throws.
        package init<Failure: Error>(
            capacity: Int,
            initializingWith body: (inout OutputSpan<UInt8>) throws(Failure) -> Void
        ) throws(Failure) {
            var failure: Failure?
            unsafe self.init(unsafeUninitializedCapacity: capacity) { buffer, initializedCount in
                var output = unsafe OutputSpan(buffer: buffer, initializedCount: 0)
                do throws(Failure) {
                    try body(&output)
                } catch {
                    failure = error
                }
                initializedCount = unsafe output.finalize(for: buffer)
            }
            if let failure { throw failure }
        }
    }
#endif
