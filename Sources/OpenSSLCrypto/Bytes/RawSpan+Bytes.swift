extension RawSpan {
    /// The octet at an offset, which must be inside the span.
    @inline(__always)
    subscript(offset: Int) -> UInt8 {
        // The offset is checked (an octet has no alignment or invalid pattern): what is unsafe about it is the type.
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }
}

extension OutputSpan<UInt8> {
    /// Appends octets.
    @inline(__always)
    @_lifetime(self: copy self)
    mutating func append(_ bytes: RawSpan) {
        for offset in bytes.byteOffsets {
            append(bytes[offset])
        }
    }
}

extension [UInt8] {
    /// Lends the octets as a raw span for the time of a call.
    ///
    /// - Parameter body: Receives the octets.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    @inlinable
    package func withBytes<Result, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        #if compiler(>=6.3)
            // The standard library marks this property as unsafe for element types with padding; an octet has none.
            try body(unsafe span.bytes)
        #else
            try body(span.bytes)
        #endif
    }
}

extension Span<UInt8> {
    /// The octets as a raw span.
    @inlinable
    @inline(__always)
    package var octets: RawSpan {
        @_lifetime(copy self)
        get {
            #if compiler(>=6.3)
                // As in `withBytes`: marked as unsafe for element types with padding, which an octet is not.
                unsafe bytes
            #else
                bytes
            #endif
        }
    }
}
