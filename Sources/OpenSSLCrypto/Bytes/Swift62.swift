// Backports from Swift 6.3's standard library. Remove this file when dropping support for 6.2.

#if compiler(<6.3)
    extension [UInt8] {
        /// Appends at most `capacity` bytes that a closure provides.
        @inlinable
        package mutating func append<Failure: Error>(
            addingCapacity capacity: Int,
            initializingWith body: (inout OutputSpan<UInt8>) throws(Failure) -> Void
        ) throws(Failure) {
            var failure: Failure?
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { buffer, initializedCount in
                var output = unsafe OutputSpan(buffer: buffer, initializedCount: 0)
                do throws(Failure) {
                    try body(&output)
                } catch {
                    failure = error
                }
                initializedCount = unsafe output.finalize(for: buffer)
            }
            if let failure { throw failure }
            append(contentsOf: bytes)
        }
    }
#endif
