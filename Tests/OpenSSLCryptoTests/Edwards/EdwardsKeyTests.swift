import OpenSSLCrypto
import TestSupport
import Testing

@Suite("Edwards keys from bytes", .computing) struct EdwardsKeyTests {
    struct Point: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let curve: EdwardsCurve
        let octets: [UInt8]

        init(_ name: String, _ curve: EdwardsCurve, _ hex: String) {
            testDescription = "\(curve.name) \(name)"
            self.curve = curve
            octets = [UInt8](hex: hex)
        }
    }

    /// Returns little-endian hexadecimal digits: the first bytes, then `count` times `fill`, then
    /// the last byte.
    private static func digits(_ first: String, _ fill: String, _ count: Int, _ last: String) -> String {
        first + String(repeating: fill, count: count) + last
    }

    static let smallOrderPoints = [
        Point("order 1", .ed25519, digits("01", "00", 30, "00")),
        Point("order 2", .ed25519, digits("ec", "ff", 30, "7f")),
        Point("order 4", .ed25519, digits("00", "00", 30, "00")),
        Point("order 4, negative", .ed25519, digits("00", "00", 30, "80")),
        Point("order 8", .ed25519, "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
        Point("order 8, negative", .ed25519, "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85"),
        Point("order 8, other y", .ed25519, "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
        Point(
            "order 8, other y, negative",
            .ed25519,
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa"
        ),
        Point("order 1, x = -0", .ed25519, digits("01", "00", 30, "80")),
        Point("order 2, x = -0", .ed25519, digits("ec", "ff", 30, "ff")),
        Point("order 1", .ed448, digits("01", "00", 55, "00")),
        Point("order 2", .ed448, digits("fe", "ff", 27, "") + digits("fe", "ff", 27, "00")),
        Point("order 4", .ed448, digits("00", "00", 55, "00")),
        Point("order 4, negative", .ed448, digits("00", "00", 55, "80")),
        Point("order 1, x = -0", .ed448, digits("01", "00", 55, "80")),
    ]

    @Test("Rejects points of small order", .shows("B10", "RFC 8725bis §3.4"), arguments: smallOrderPoints)
    func smallOrder(point: Point) {
        #expect(code { _ = try EdwardsPublicKey(curve: point.curve, octets: point.octets) } == .weakKey)
    }

    static let otherEncodings = [
        Point("y = p", .ed25519, digits("ed", "ff", 30, "7f")),
        Point("y = p, negative", .ed25519, digits("ed", "ff", 30, "ff")),
        Point("y = p + 1", .ed25519, digits("ee", "ff", 30, "7f")),
        Point("y = 2²⁵⁵ - 1", .ed25519, digits("ff", "ff", 30, "7f")),
        Point("all bits", .ed25519, digits("ff", "ff", 30, "ff")),
        Point("y = p", .ed448, digits("ff", "ff", 27, "") + digits("fe", "ff", 27, "00")),
        Point("y = p + 1", .ed448, digits("00", "00", 27, "") + digits("ff", "ff", 27, "00")),
        Point("all bits", .ed448, digits("ff", "ff", 55, "ff")),
        Point("unused bit of the last byte", .ed448, digits("05", "00", 55, "01")),
        Point("unused bits of the last byte", .ed448, digits("05", "00", 55, "7f")),
    ]

    @Test("Rejects a second encoding of a number", .shows("B10", "RFC 8032 §5, §7"), arguments: otherEncodings)
    func nonCanonical(point: Point) {
        #expect(code { _ = try EdwardsPublicKey(curve: point.curve, octets: point.octets) } == .malformedKey)
    }

    @Test("Rejects encodings without a point on the curve", arguments: [EdwardsCurve.ed25519, .ed448])
    func onCurve(curve: EdwardsCurve) {
        // Whether y = 2, 3, 4 … is on the curve, computed with another program.
        let isPoint: [Int: Bool] =
            curve == .ed25519
            ? [2: false, 3: true, 4: true, 5: true, 6: true, 7: false, 8: false, 9: true, 10: true]
            : [2: false, 3: true, 4: true, 5: true, 6: false, 7: true, 8: true, 9: true, 10: false]
        for (y, isPoint) in isPoint {
            let octets = [UInt8(y)] + [UInt8](repeating: 0, count: curve.keySize - 1)
            #expect(
                code { _ = try EdwardsPublicKey(curve: curve, octets: octets) } == (isPoint ? nil : .pointNotOnCurve)
            )
        }
    }

    @Test("Accepts generated keys", arguments: [EdwardsCurve.ed25519, .ed448])
    func generated(curve: EdwardsCurve) throws {
        for _ in 0..<50 {
            let key = try EdwardsPrivateKey.generate(curve)
            #expect(key.publicKey.octets.count == curve.keySize)
            #expect(try EdwardsPublicKey(curve: curve, octets: key.publicKey.octets) == key.publicKey)
            let again = try EdwardsPrivateKey(curve: curve, seed: key.seed(), expecting: key.publicKey.octets)
            #expect(again.publicKey == key.publicKey)
            #expect(try EdwardsPrivateKey(curve: curve, seed: key.seed()).publicKey == key.publicKey)
        }
    }

    @Test("Rejects a seed with another public key", arguments: [EdwardsCurve.ed25519, .ed448])
    func mismatch(curve: EdwardsCurve) throws {
        let key = try EdwardsPrivateKey.generate(curve)
        let other = try EdwardsPrivateKey.generate(curve).publicKey.octets
        for wrong in [other, [], [UInt8](repeating: 0, count: curve.keySize)] {
            #expect(
                code { _ = try EdwardsPrivateKey(curve: curve, seed: key.seed(), expecting: wrong) } == .keyMismatch
            )
        }
    }

    @Test("Rejects other sizes", arguments: [EdwardsCurve.ed25519, .ed448])
    func sizes(curve: EdwardsCurve) {
        for count in [0, 1, curve.keySize - 1, curve.keySize + 1, 1000] {
            let octets = [UInt8](repeating: 9, count: count)
            #expect(code { _ = try EdwardsPublicKey(curve: curve, octets: octets) } == .malformedKey)
            #expect(code { _ = try EdwardsPrivateKey(curve: curve, seed: octets.secret) } == .malformedKey)
        }
    }

    @Test("Finds curves by their names from RFC 8037") func names() {
        #expect(EdwardsCurve(name: "Ed25519") == .ed25519)
        #expect(EdwardsCurve(name: "Ed448") == .ed448)
        for name in ["ed25519", "ED448", "X25519", "P-256", ""] {
            #expect(EdwardsCurve(name: name) == nil)
        }
    }
}
