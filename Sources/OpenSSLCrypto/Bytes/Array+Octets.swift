extension [UInt8] {
    /// Creates an array of zeros.
    ///
    /// The standard library's initializer looks up the array's type at run time on each call, which
    /// takes several times as long as the allocation.
    @inlinable
    @inline(__always)
    package init(zeros count: Int) {
        self = []
        append(contentsOf: repeatElement(0, count: count))
    }
}
