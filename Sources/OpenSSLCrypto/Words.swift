// Eight octets in one load or store, for code that works on several at a time.

extension Span<UInt8> {
    /// Eight octets from an offset, all of which must be inside the span, as one number: the first octet is the highest.
    @inlinable
    @inline(__always)
    package func bigEndianWord(at offset: Int) -> UInt64 {
        // Bounds are checked, and any octets make a number: what is unsafe about it is the type.
        UInt64(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

extension MutableSpan<UInt8> {
    /// Writes a number into eight octets from an offset, all of which must be inside the span: the first octet is the
    /// highest.
    @inlinable
    @inline(__always)
    @_lifetime(self: copy self)
    package mutating func store(bigEndianWord word: UInt64, at offset: Int) {
        precondition(offset >= 0 && offset <= count - 8)  // reason: a place outside the span is a programming error
        unsafe withUnsafeMutableBytes { octets in
            unsafe octets.storeBytes(of: word.bigEndian, toByteOffset: offset, as: UInt64.self)
        }
    }
}
