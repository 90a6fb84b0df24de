/// Reads the elements of a DER encoding (X.690 §10) one after the other.
///
/// It keeps offsets only; the octets are given to each call. Lengths must be definite and minimal, and no element may
/// reach beyond the one around it.
struct DERReader {
    enum Tag {
        static let integer: UInt8 = 0x02
        static let bitString: UInt8 = 0x03
        static let octetString: UInt8 = 0x04
        static let null: UInt8 = 0x05
        static let objectIdentifier: UInt8 = 0x06
        static let sequence: UInt8 = 0x30
        /// `[n]` around or in place of a constructed type.
        static func context(_ number: UInt8) -> UInt8 { 0xA0 | number }
        /// `[n]` in place of a primitive type.
        static func primitiveContext(_ number: UInt8) -> UInt8 { 0x80 | number }
    }

    private let code: CryptoError.Code
    private var position: Int
    private let end: Int

    /// - Parameters:
    ///   - range: The octets to read from.
    ///   - code: The code of the errors to throw.
    init(_ range: Range<Int>, code: CryptoError.Code) {
        position = range.lowerBound
        end = range.upperBound
        self.code = code
    }

    /// The tag of the next element, if there is one.
    func nextTag(in bytes: RawSpan) -> UInt8? {
        position < end ? bytes[position] : nil
    }

    /// Reads an element with a certain tag.
    ///
    /// - Parameters:
    ///   - tag: The tag.
    ///   - name: What the element is, for the error.
    ///   - bytes: The octets.
    /// - Returns: Where the element's contents are.
    /// - Throws: The reader's code if there is no such element.
    mutating func contents(_ tag: UInt8, _ name: StaticString, in bytes: RawSpan) throws(CryptoError) -> Range<Int> {
        let start = position
        guard start < end else { throw CryptoError(code, "The \(name) is missing at offset \(start)") }
        guard bytes[start] == tag else {
            throw CryptoError(
                code,
                "There is tag \(bytes[start]) instead of the \(name) (tag \(tag)) at offset \(start)"
            )
        }
        guard let length = readLength(in: bytes) else {
            throw CryptoError(code, "The length of the \(name) at offset \(start) is not minimal or not definite")
        }
        guard length <= end - position else {
            throw CryptoError(
                code,
                "The \(name) at offset \(start) has \(length) octets but only \(end - position) follow"
            )
        }
        defer { position += length }
        return position..<position + length
    }

    /// Reads a non-negative number that fits `Int`.
    mutating func smallInteger(_ name: StaticString, in bytes: RawSpan) throws(CryptoError) -> Int {
        let contents = try magnitude(name, in: bytes)
        guard contents.count < 8 else { throw CryptoError(code, "The \(name) is too large") }
        return contents.reduce(0) { $0 << 8 | Int(bytes[$1]) }
    }

    /// Reads a non-negative INTEGER.
    ///
    /// - Returns: Where its octets are, without leading zeros; empty for zero.
    mutating func magnitude(_ name: StaticString, in bytes: RawSpan) throws(CryptoError) -> Range<Int> {
        let contents = try contents(Tag.integer, name, in: bytes)
        guard let first = contents.first else { throw CryptoError(code, "The \(name) has no octets") }
        guard bytes[first] & 0x80 == 0 else { throw CryptoError(code, "The \(name) is negative") }
        guard bytes[first] == 0 else { return contents }
        if contents.count > 1, bytes[first + 1] & 0x80 == 0 {
            throw CryptoError(code, "The \(name) has a leading zero too many")
        }
        return contents.dropFirst()
    }

    /// Reads an element of any kind, which nobody looks into.
    ///
    /// - Returns: Where the element is, its tag and length included.
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

    /// Reads a BIT STRING of whole octets.
    ///
    /// - Returns: Where its octets are.
    mutating func bitString(
        _ name: StaticString,
        tag: UInt8 = Tag.bitString,
        in bytes: RawSpan
    ) throws(CryptoError) -> Range<Int> {
        let contents = try contents(tag, name, in: bytes)
        guard let unusedBits = contents.first, bytes[unusedBits] == 0 else {
            throw CryptoError(code, "The \(name) does not hold whole octets")
        }
        return contents.dropFirst()
    }

    /// Starts to read a SEQUENCE that is all there is in a range.
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

    /// Checks that nothing follows.
    func finish(_ name: StaticString) throws(CryptoError) {
        guard position == end else {
            throw CryptoError(code, "\(end - position) octets follow the \(name) at offset \(position)")
        }
    }

    /// Reads the length of the element at `position` and moves to its contents.
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
