// Backports from Swift 6.3's standard library. Remove this file when dropping support for 6.2.

#if compiler(<6.3)
    extension [UInt8] {
        /// Creates an array from bytes that a closure appends.
        ///
        /// - Parameters:
        ///   - capacity: The maximum number of bytes.
        ///   - body: A closure that appends the bytes.
        /// - Throws: The error that `body` throws.
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
