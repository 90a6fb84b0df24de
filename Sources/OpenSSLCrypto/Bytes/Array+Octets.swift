extension [UInt8] {
    /// Makes an array of zeros.
    ///
    /// The initializer of the standard library asks the runtime for the array's type each time, which takes several times as
    /// long as the memory does.
    ///
    /// - Parameter count: How many there are.
    @inlinable
    @inline(__always)
    package init(zeros count: Int) {
        self = []
        append(contentsOf: repeatElement(0, count: count))
    }
}
