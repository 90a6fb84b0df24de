extension RawSpan {
    /// Accesses the byte at an offset, which must be within the span.
    @inline(__always)
    subscript(offset: Int) -> UInt8 {
        // `unsafeLoad` checks the offset, and any byte is a valid `UInt8`. Only the type parameter
        // makes it unsafe.
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }
}

extension OutputSpan<UInt8> {
    /// Appends bytes, which must fit.
    @inlinable
    @_lifetime(self: copy self)
    package mutating func append(_ bytes: RawSpan) {
        precondition(bytes.byteCount <= freeCapacity)  // reason: a buffer without room is a programming error
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe withUnsafeMutableBufferPointer { buffer, count in
                unsafe UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
                    .copyMemory(from: bytes)
                count += bytes.count
            }
        }
    }
}

extension [UInt8] {
    /// Calls a closure with the bytes as a raw span.
    @inlinable
    package func withBytes<Result, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        #if compiler(>=6.3)
            // The property is marked unsafe because of element types with padding. `UInt8` has
            // none.
            try body(unsafe span.bytes)
        #else
            try body(span.bytes)
        #endif
    }
}

extension Span<UInt8> {
    /// The bytes as a raw span.
    @inlinable
    @inline(__always)
    package var octets: RawSpan {
        @_lifetime(copy self)
        get {
            #if compiler(>=6.3)
                // Safe for the same reason as in `withBytes`.
                unsafe bytes
            #else
                bytes
            #endif
        }
    }
}
