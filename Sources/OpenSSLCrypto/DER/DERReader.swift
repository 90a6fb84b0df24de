/// A reader for the elements of a DER encoding (X.690 §10).
///
/// It only keeps offsets, so each call needs the bytes. Lengths must be definite and minimal, and
/// no element may extend beyond its parent.
struct DERReader {
    enum Tag {
        static let integer: UInt8 = 0x02
        static let bitString: UInt8 = 0x03
        static let octetString: UInt8 = 0x04
        static let null: UInt8 = 0x05
        static let objectIdentifier: UInt8 = 0x06
        static let sequence: UInt8 = 0x30
        /// `[n]`, explicit or in place of a constructed type.
        static func context(_ number: UInt8) -> UInt8 { 0xA0 | number }
        /// `[n]` in place of a primitive type.
        static func primitiveContext(_ number: UInt8) -> UInt8 { 0x80 | number }
    }

    private let code: CryptoError.Code
    private var position: Int
    private let end: Int

    /// Creates a reader for a range of bytes; `code` is the error code for malformed input.
    init(_ range: Range<Int>, code: CryptoError.Code) {
        position = range.lowerBound
        end = range.upperBound
        self.code = code
    }

    /// Returns the tag of the next element, or `nil` at the end.
    func nextTag(in bytes: RawSpan) -> UInt8? {
        position < end ? bytes[position] : nil
    }

    /// Reads an element with a given tag, and returns the range of its contents; `name` is for
    /// error messages.
    ///
    /// An element that is missing, different or malformed has the reader's error code.
    mutating func contents(_ tag: UInt8, _ name: StaticString, in bytes: RawSpan) throws(CryptoError) -> Range<Int> {
        let start = position
        guard start < end else { throw CryptoError(code, "The \(name) is missing at offset \(start)") }
        guard bytes[start] == tag else {
            throw CryptoError(
                code,
                "Expected the \(name) (tag \(tag)) at offset \(start), but found tag \(bytes[start])"
            )
        }
        guard let length = readLength(in: bytes) else {
            throw CryptoError(code, "The length of the \(name) at offset \(start) isn't minimal or definite")
        }
        guard length <= end - position else {
            throw CryptoError(
                code,
                "The \(name) at offset \(start) has a length of \(length) bytes, but only \(end - position) bytes follow"
            )
        }
        defer { position += length }
        return position..<position + length
    }

    /// Reads a non-negative number that fits in an `Int`.
    mutating func smallInteger(_ name: StaticString, in bytes: RawSpan) throws(CryptoError) -> Int {
        let contents = try magnitude(name, in: bytes)
        guard contents.count < 8 else { throw CryptoError(code, "The \(name) is too large") }
        return contents.reduce(0) { $0 << 8 | Int(bytes[$1]) }
    }

    /// Reads a non-negative INTEGER, and returns the range of its bytes without leading zeros;
    /// empty for zero.
    mutating func magnitude(_ name: StaticString, in bytes: RawSpan) throws(CryptoError) -> Range<Int> {
        let contents = try contents(Tag.integer, name, in: bytes)
        guard let first = contents.first else { throw CryptoError(code, "The \(name) is empty") }
        guard bytes[first] & 0x80 == 0 else { throw CryptoError(code, "The \(name) is negative") }
        guard bytes[first] == 0 else { return contents }
        if contents.count > 1, bytes[first + 1] & 0x80 == 0 {
            throw CryptoError(code, "The \(name) has an unnecessary leading zero")
        }
        return contents.dropFirst()
    }

    /// Skips an element of any kind, and returns its range, including its tag and length.
    mutating func skip(_ name: StaticString, in bytes: RawSpan) throws(CryptoError) -> Range<Int> {
        let start = position
        guard let tag = nextTag(in: bytes) else {
            throw CryptoError(code, "The \(name) is missing at offset \(start)")
        }
        _ = try contents(tag, name, in: bytes)
        return start..<position
    }

    /// Reads an OBJECT IDENTIFIER.
    mutating func identifier(_ name: StaticString, in bytes: RawSpan) throws(CryptoError) -> ObjectIdentifier {
        let contents = try contents(Tag.objectIdentifier, name, in: bytes)
        return ObjectIdentifier(octets: contents.map { bytes[$0] })
    }

    /// Reads a BIT STRING of whole bytes, and returns their range.
    mutating func bitString(
        _ name: StaticString,
        tag: UInt8 = Tag.bitString,
        in bytes: RawSpan
    ) throws(CryptoError) -> Range<Int> {
        let contents = try contents(tag, name, in: bytes)
        guard let unusedBits = contents.first, bytes[unusedBits] == 0 else {
            throw CryptoError(code, "The \(name) isn't a whole number of bytes")
        }
        return contents.dropFirst()
    }

    /// Returns a reader for the contents of a SEQUENCE that must fill the whole range.
    static func sequence(
        _ name: StaticString,
        in bytes: RawSpan,
        _ range: Range<Int>? = nil,
        code: CryptoError.Code = .malformedKey
    ) throws(CryptoError) -> DERReader {
        var outer = DERReader(range ?? bytes.byteOffsets, code: code)
        let contents = try outer.contents(Tag.sequence, name, in: bytes)
        try outer.finish(name)
        return DERReader(contents, code: code)
    }

    /// Checks that no data follows.
    func finish(_ name: StaticString) throws(CryptoError) {
        guard position == end else {
            throw CryptoError(code, "Unexpected \(end - position) bytes after the \(name), at offset \(position)")
        }
    }

    /// Reads the length of the element at `position` and advances to its contents.
    private mutating func readLength(in bytes: RawSpan) -> Int? {
        var offset = position + 1
        guard offset < end else { return nil }
        var length = Int(bytes[offset])
        offset += 1
        if length >= 0x80 {
            let count = length & 0x7F
            guard (1...4).contains(count), count <= end - offset, bytes[offset] != 0 else { return nil }
            length = (offset..<offset + count).reduce(0) { $0 << 8 | Int(bytes[$1]) }
            guard length >= 0x80 else { return nil }
            offset += count
        }
        position = offset
        return length
    }
}
