import OpenSSLCrypto
import TestSupport
import Testing

@Suite("ECDSASignature", .computing) struct ECDSASignatureTests {
    struct Pair: Sendable, CustomTestStringConvertible {
        let name: String
        let raw: [UInt8]
        let der: [UInt8]

        var testDescription: String { name }
    }

    static let pairs = [
        Pair(name: "one byte each", raw: [1, 2], der: [UInt8](hex: "3006020101020102")),
        Pair(name: "zeros", raw: [0, 0], der: [UInt8](hex: "3006020100020100")),
        Pair(name: "high bits", raw: [0x80, 0xFF], der: [UInt8](hex: "30080202008002" + "0200ff")),
        Pair(name: "leading zeros", raw: [0, 0, 1, 0, 0x80, 0], der: [UInt8](hex: "300802010102" + "03008000")),
        Pair(
            name: "32 bytes",
            raw: [UInt8](repeating: 0x7F, count: 32) + [UInt8](repeating: 0x80, count: 32),
            der: [UInt8].der(
                0x30,
                [UInt8].der(0x02, [UInt8](repeating: 0x7F, count: 32)),
                [UInt8].der(0x02, [0] + [UInt8](repeating: 0x80, count: 32))
            )
        ),
        Pair(
            name: "66 bytes with a long length",
            raw: [UInt8](repeating: 0xFF, count: 132),
            der: [UInt8].der(
                0x30,
                [UInt8].der(0x02, [0] + [UInt8](repeating: 0xFF, count: 66)),
                [UInt8].der(0x02, [0] + [UInt8](repeating: 0xFF, count: 66))
            )
        ),
    ]

    @Test("Converts in both directions", arguments: pairs)
    func conversion(pair: Pair) throws {
        #expect(try Self.encode(pair.raw) == pair.der)
        #expect(try Self.decode(pair.der, pair.raw.count / 2) == pair.raw)
    }

    @Test("Pads to the requested size") func padding() throws {
        #expect(try Self.decode([UInt8](hex: "3006020101020102"), 3) == [0, 0, 1, 0, 0, 2])
    }

    static let malformedEncodings: [(String, String)] = [
        ("empty", ""),
        ("only a tag", "30"),
        ("another outer tag", "3106020101020102"),
        ("bytes after the end", "300602010102010200"),
        ("bytes inside after s", "30080201010201020500"),
        ("truncated in s", "30060201010201"),
        ("s missing", "3003020101"),
        ("both missing", "3000"),
        ("r isn't an INTEGER", "3006040101020102"),
        ("s isn't an INTEGER", "3006020101040102"),
        ("empty r", "30050200020102"),
        ("empty s", "30050201010200"),
        ("negative r", "3006020180020102"),
        ("negative s", "30060201010201ff"),
        ("r with a leading zero", "300702020001020102"),
        ("s with a leading zero", "300702010102020002"),
        ("zero with a leading zero", "300702020000020102"),
        ("long form for a short length", "308106020101020102"),
        ("long form with a leading zero", "30820006020101020102"),
        ("long form of r's length", "30070281010102" + "0102"),
        ("indefinite length", "30800201010201020000"),
        ("length of five bytes", "30850000000006020101020102"),
        ("length larger than the rest", "3007020101020102"),
        ("r extends beyond the sequence", "3006020701020102"),
        ("length of 4 GiB", "3084ffffffff020101020102"),
        ("r too long", "30080203010000020101"),
        ("s too long", "30080201010203010000"),
    ]

    @Test("Rejects anything but DER of two numbers that fit", arguments: malformedEncodings)
    func malformed(name: String, hex: String) {
        #expect(code { _ = try Self.decode([UInt8](hex: hex), 2) } == .malformedSignature)
    }

    @Test("Rejects coordinate sizes out of range", arguments: [0, -1, 67, .max, .min])
    func coordinateSize(size: Int) {
        #expect(code { _ = try Self.decode([UInt8](hex: "3006020101020102"), size) } == .invalidArgument)
    }

    @Test("Rejects raw signatures of an impossible size", arguments: [0, 1, 3, 65, 133, 134, 1000])
    func rawSize(size: Int) {
        #expect(code { _ = try Self.encode([UInt8](repeating: 1, count: size)) } == .malformedSignature)
    }

    @Test("Changed bytes never trap, and accepted encodings are canonical") func canonical() throws {
        let der = Self.pairs[4].der
        var acceptedCount = 0
        for index in der.indices {
            for value in UInt8.min...UInt8.max {
                var changed = der
                changed[index] = value
                guard let raw = try? Self.decode(changed, 32) else { continue }
                acceptedCount += 1
                #expect(try Self.encode(raw) == changed)
            }
        }
        #expect(acceptedCount > der.count)
    }

    private static func encode(_ raw: [UInt8]) throws -> [UInt8] {
        try raw.withBytes { try ECDSASignature.der(fromRaw: $0) }
    }

    private static func decode(_ der: [UInt8], _ size: Int) throws -> [UInt8] {
        try der.withBytes { try ECDSASignature.raw(fromDER: $0, coordinateSize: size) }
    }
}
