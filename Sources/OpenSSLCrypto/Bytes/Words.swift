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

extension MutableSpan<UInt8> {
    /// Copies octets to an offset, from which on there must be room.
    @inlinable
    @_lifetime(self: copy self)
    package mutating func store(_ octets: Span<UInt8>, at offset: Int) {
        var place = 0
        while place &+ 8 <= octets.count {
            store(bigEndianWord: octets.bigEndianWord(at: place), at: offset &+ place)
            place &+= 8
        }
        while place < octets.count {
            self[offset &+ place] = octets[place]
            place &+= 1
        }
    }
}

extension Span<UInt8> {
    /// Whether two spans have the same octets; the time it takes says where they differ.
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
}

extension Span<UInt8> {
    /// The place of the first octet of a value from an offset on, or `nil` if there is none.
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
    /// The high bit of each octet that is zero.
    @inlinable
    @inline(__always)
    package var zeroOctets: UInt64 {
        let lowBits: UInt64 = 0x7F7F_7F7F_7F7F_7F7F
        return ~(((self & lowBits) &+ lowBits) | self | lowBits)
    }

    /// Whether all eight octets are ASCII that stands for itself in a JSON string: no control character, quotation mark
    /// or backslash.
    @inlinable
    @inline(__always)
    package var isPlainJSONText: Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highBits = ones &* 0x80
        // An octet below 0x20 takes the high bit away that it was given, and no octet borrows from another.
        let control = (self | highBits) &- ones &* 0x20
        return self & highBits == 0 && control & highBits == highBits
            && (self ^ ones &* 0x22).zeroOctets == 0 && (self ^ ones &* 0x5C).zeroOctets == 0
    }
}

extension String {
    /// Takes octets that have been found to be ASCII.
    @inlinable
    package init(checkedASCII octets: Span<UInt8>) {
        // ASCII is UTF-8, which has just been found: looking again would take as long as all the rest.
        self.init(copying: unsafe UTF8Span(unchecked: octets, isKnownASCII: true))
    }
}
