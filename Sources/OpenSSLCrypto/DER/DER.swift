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

    init(_ range: Range<Int>, code: CryptoError.Code) {
        position = range.lowerBound
        end = range.upperBound
        self.code = code
    }

    func nextTag(in bytes: RawSpan) -> UInt8? {
        position < end ? bytes[position] : nil
    }

    /// Returns the range of the element's contents; `name` is for error messages.
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

    /// Returns a reader for the element's contents.
    mutating func reader(_ tag: UInt8, _ name: StaticString, in bytes: RawSpan) throws(CryptoError) -> DERReader {
        DERReader(try contents(tag, name, in: bytes), code: code)
    }

    mutating func smallInteger(_ name: StaticString, in bytes: RawSpan) throws(CryptoError) -> Int {
        let contents = try magnitude(name, in: bytes)
        guard contents.count < 8 else { throw CryptoError(code, "The \(name) is too large") }
        return contents.reduce(0) { $0 << 8 | Int(bytes[$1]) }
    }

    /// Returns the range of a non-negative INTEGER's bytes without leading zeros; empty for zero.
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

    /// Returns the range of an element of any kind, including its tag and length.
    mutating func skip(_ name: StaticString, in bytes: RawSpan) throws(CryptoError) -> Range<Int> {
        let start = position
        guard let tag = nextTag(in: bytes) else {
            throw CryptoError(code, "The \(name) is missing at offset \(start)")
        }
        _ = try contents(tag, name, in: bytes)
        return start..<position
    }

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
        let reader = try outer.reader(Tag.sequence, name, in: bytes)
        try outer.finish(name)
        return reader
    }

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

/// Sizes and headers of DER elements (X.690 §8.1).
enum DERWriter {
    static func size(ofElementWith contents: Int) -> Int {
        headerSize(contents) + contents
    }

    static func appendHeader(_ tag: UInt8, size contents: Int, to output: inout OutputSpan<UInt8>) {
        output.append(tag)
        switch headerSize(contents) {
        case 2: break
        case 3: output.append(0x81)
        default:
            output.append(0x82)
            output.append(UInt8(truncatingIfNeeded: contents >> 8))
        }
        output.append(UInt8(truncatingIfNeeded: contents))
    }

    static func append(_ tag: UInt8, _ octets: [UInt8], to output: inout OutputSpan<UInt8>) {
        appendHeader(tag, size: octets.count, to: &output)
        octets.withBytes { output.append($0) }
    }

    /// Keys have at most a few thousand bytes, so two length bytes are enough.
    private static func headerSize(_ contents: Int) -> Int {
        contents < 0x80 ? 2 : contents < 0x100 ? 3 : 4
    }
}

/// An ASN.1 object identifier in its DER encoding.
package struct ObjectIdentifier: Hashable, Sendable, CustomStringConvertible {
    let octets: [UInt8]

    init(octets: [UInt8]) {
        self.octets = octets
    }

    init(_ first: Int, _ second: Int, _ others: Int...) {
        var octets: [UInt8] = []
        for arc in [first * 40 + second] + others {
            var groups = [UInt8(arc & 0x7F)]
            var rest = arc >> 7
            while rest > 0 {
                groups.append(UInt8(rest & 0x7F) | 0x80)
                rest >>= 7
            }
            octets += groups.reversed()
        }
        self.octets = octets
    }

    var element: [UInt8] { [DERReader.Tag.objectIdentifier, UInt8(octets.count)] + octets }

    static let rsaKey = ObjectIdentifier(1, 2, 840, 113549, 1, 1, 1)
    static let rsaPSSKey = ObjectIdentifier(1, 2, 840, 113549, 1, 1, 10)
    static let ellipticCurveKey = ObjectIdentifier(1, 2, 840, 10045, 2, 1)
    static let pbes2 = ObjectIdentifier(1, 2, 840, 113549, 1, 5, 13)
    static let pbmac1 = ObjectIdentifier(1, 2, 840, 113549, 1, 5, 14)
    static let pbkdf2 = ObjectIdentifier(1, 2, 840, 113549, 1, 5, 12)
    static let hmacSHA1 = ObjectIdentifier(1, 2, 840, 113549, 2, 7)
    static let hmacSHA256 = ObjectIdentifier(1, 2, 840, 113549, 2, 9)
    static let hmacSHA384 = ObjectIdentifier(1, 2, 840, 113549, 2, 10)
    static let hmacSHA512 = ObjectIdentifier(1, 2, 840, 113549, 2, 11)
    static let sha1 = ObjectIdentifier(1, 3, 14, 3, 2, 26)
    static let sha256 = ObjectIdentifier(2, 16, 840, 1, 101, 3, 4, 2, 1)
    static let sha384 = ObjectIdentifier(2, 16, 840, 1, 101, 3, 4, 2, 2)
    static let sha512 = ObjectIdentifier(2, 16, 840, 1, 101, 3, 4, 2, 3)
    static let scrypt = ObjectIdentifier(1, 3, 6, 1, 4, 1, 11591, 4, 11)

    private static let names: [ObjectIdentifier: String] = [
        rsaKey: "RSA",
        rsaPSSKey: "RSA-PSS",
        ObjectIdentifier(1, 2, 840, 113549, 1, 1, 7): "RSA-OAEP",
        ObjectIdentifier(1, 2, 840, 10040, 4, 1): "DSA",
        ObjectIdentifier(1, 2, 840, 113549, 1, 3, 1): "DH",
        ObjectIdentifier(1, 2, 840, 10046, 2, 1): "DH (X9.42)",
        ObjectIdentifier(1, 3, 132, 1, 12): "ECDH",
        MLDSAParameters.mldsa44.identifier: MLDSAParameters.mldsa44.name,
        MLDSAParameters.mldsa65.identifier: MLDSAParameters.mldsa65.name,
        MLDSAParameters.mldsa87.identifier: MLDSAParameters.mldsa87.name,
        ellipticCurveKey: "EC",
        ObjectIdentifier(1, 3, 101, 110): "X25519",
        ObjectIdentifier(1, 3, 101, 111): "X448",
        EdwardsCurve.ed25519.identifier: EdwardsCurve.ed25519.name,
        EdwardsCurve.ed448.identifier: EdwardsCurve.ed448.name,
    ]

    package var description: String { Self.names[self] ?? dotted }

    private var dotted: String {
        var arcs: [UInt64] = []
        var arc: UInt64 = 0
        for octet in octets.prefix(32) {
            guard arc < 1 << 56 else { return "an unknown kind" }
            arc = arc << 7 | UInt64(octet & 0x7F)
            guard octet & 0x80 == 0 else { continue }
            if arcs.isEmpty {
                arcs = [min(arc / 40, 2)]
                arc -= arcs[0] * 40
            }
            arcs.append(arc)
            arc = 0
        }
        return arcs.map(String.init).joined(separator: ".")
    }
}
