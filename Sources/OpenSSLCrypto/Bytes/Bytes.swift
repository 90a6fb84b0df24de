extension [UInt8] {
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

extension RawSpan {
    @inline(__always)
    subscript(offset: Int) -> UInt8 {
        // `unsafeLoad` checks the offset, and any byte is a valid `UInt8`. Only the type parameter
        // makes it unsafe.
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }
}

extension OutputSpan<UInt8> {
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

extension MutableSpan<UInt8> {
    @inlinable
    @inline(__always)
    @_lifetime(self: copy self)
    package mutating func store(bigEndianWord word: UInt64, at offset: Int) {
        precondition(offset >= 0 && offset <= count - 8)  // reason: an offset outside the span is a programming error
        unsafe withUnsafeMutableBytes { octets in
            unsafe octets.storeBytes(of: word.bigEndian, toByteOffset: offset, as: UInt64.self)
        }
    }

    @inlinable
    @_lifetime(self: copy self)
    package mutating func store(_ octets: Span<UInt8>, at offset: Int) {
        unsafe octets.withUnsafeBytes { octets in
            unsafe withUnsafeMutableBytes { target in
                unsafe UnsafeMutableRawBufferPointer(rebasing: target[offset..<offset + octets.count])
                    .copyMemory(from: octets)
            }
        }
    }
}

extension Span<UInt8> {
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

    @inlinable
    @inline(__always)
    package func bigEndianWord(at offset: Int) -> UInt64 {
        // The bounds are checked, and any eight bytes are a valid number. Only the type parameter
        // makes it unsafe.
        UInt64(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// Returns whether two spans have the same bytes; the duration reveals where they differ.
    @inlinable
    package func isEqual(to other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        var offset = 0
        while offset &+ 8 <= count {
            guard bigEndianWord(at: offset) == other.bigEndianWord(at: offset) else { return false }
            offset &+= 8
        }
        while offset < count {
            guard self[offset] == other[offset] else { return false }
            offset &+= 1
        }
        return true
    }

    @inlinable
    package func firstOffset(of octet: UInt8, from start: Int) -> Int? {
        let pattern = UInt64(octet) &* 0x0101_0101_0101_0101
        var offset = start
        while offset &+ 8 <= count {
            let found = (bigEndianWord(at: offset) ^ pattern).zeroOctets
            if found != 0 { return offset &+ found.leadingZeroBitCount / 8 }
            offset &+= 8
        }
        while offset < count {
            if self[offset] == octet { return offset }
            offset &+= 1
        }
        return nil
    }
}

extension UInt64 {
    /// A word with the high bit set in each byte that is zero here, and no other bits.
    @inlinable
    @inline(__always)
    package var zeroOctets: UInt64 {
        let lowBits: UInt64 = 0x7F7F_7F7F_7F7F_7F7F
        return ~(((self & lowBits) &+ lowBits) | self | lowBits)
    }

    /// A Boolean value that indicates whether all eight bytes are ASCII characters that a JSON
    /// string represents literally: no control characters, quotation marks or backslashes.
    @inlinable
    @inline(__always)
    package var isPlainJSONText: Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highBits = ones &* 0x80
        // Subtracting 0x20 clears the high bit of bytes below 0x20. No byte borrows from another.
        let control = (self | highBits) &- ones &* 0x20
        return self & highBits == 0 && control & highBits == highBits
            && (self ^ ones &* 0x22).zeroOctets == 0 && (self ^ ones &* 0x5C).zeroOctets == 0
    }
}

extension String {
    @inlinable
    package init<Failure: Error>(
        utf8Capacity capacity: Int,
        initializingWith body: (inout OutputSpan<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        var failure: Failure?
        unsafe self.init(unsafeUninitializedCapacity: capacity) { buffer in
            var output = unsafe OutputSpan(buffer: buffer, initializedCount: 0)
            do throws(Failure) {
                try body(&output)
            } catch {
                failure = error
            }
            return unsafe output.finalize(for: buffer)
        }
        if let failure { throw failure }
    }

    @inlinable
    package init(checkedASCII octets: Span<UInt8>) {
        // ASCII is valid UTF-8. Checking again would take as long as everything else.
        self.init(copying: unsafe UTF8Span(unchecked: octets, isKnownASCII: true))
    }
}

// Backport from Swift 6.3's standard library; remove it when dropping support for 6.2.

#if compiler(<6.3)
    extension [UInt8] {
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
