extension [UInt8] {
    /// Creates an array of zeros.
    @inlinable
    @inline(__always)
    package init(zeros count: Int) {
        self.init(capacity: count) { output in output.append(repeating: 0, count: count) }
    }

    /// Creates an array from at most `capacity` bytes that a closure appends.
    ///
    /// The standard library's initializer looks up the array's type at run time on each call, which
    /// takes several times as long as the allocation.
    @inlinable
    @inline(__always)
    package init<Failure: Error>(
        capacity: Int,
        initializingWith body: (inout OutputSpan<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        self = []
        // Appending without any capacity would write to the storage that all empty arrays share.
        try append(addingCapacity: Swift.max(capacity, 1), initializingWith: body)
    }
}
