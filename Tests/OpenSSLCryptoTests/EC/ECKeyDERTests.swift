import OpenSSLCrypto
import TestSupport
import Testing

@Suite("EC keys in unusual DER", .computing) struct ECKeyDERTests {
    private static let p256 = [UInt8].der(0x06, [UInt8](hex: "2a8648ce3d030107"))
    private static let p384 = [UInt8].der(0x06, [UInt8](hex: "2b81040022"))
    private static let ecPublicKey = [UInt8].der(0x06, [UInt8](hex: "2a8648ce3d0201"))
    private static let base = [4] + ECKeyCoordinateTests.baseX + ECKeyCoordinateTests.baseY

    private static func sec1(
        version: UInt8 = 1,
        scalar: [UInt8] = [1],
        curve: [UInt8]? = p256,
        point: [UInt8]? = base,
        more: [UInt8] = []
    ) -> [UInt8] {
        .der(
            0x30,
            .der(0x02, [version]),
            .der(0x04, scalar),
            curve.map { .der(0xA0, $0) } ?? [],
            point.map { .der(0xA1, .der(0x03, [0] + $0)) } ?? [],
            more
        )
    }

    private static func pkcs8(
        version: UInt8 = 0,
        curve: [UInt8] = p256,
        key: [UInt8] = sec1(curve: nil),
        more: [UInt8] = []
    ) -> [UInt8] {
        .der(0x30, .der(0x02, [version]), .der(0x30, ecPublicKey, curve), .der(0x04, key), more)
    }

    @Test("Accepts a scalar without leading zeros") func shortScalar() throws {
        let key = try ECPrivateKey(der: Self.sec1())
        #expect(key.publicKey.x == ECKeyCoordinateTests.baseX)
        #expect(key.publicKey.y == ECKeyCoordinateTests.baseY)
        #expect(try key.scalar().exposed == [UInt8](repeating: 0, count: 31) + [1])
    }

    @Test("Accepts one leading zero too many, as GnuTLS writes it, and no other scalar that is too long")
    func longScalar() throws {
        for (privateKey, publicKey) in TestPEM.gnuTLS {
            let key = try ECPrivateKey(pem: privateKey)
            #expect(try key.publicKey == ECPublicKey(pem: publicKey))
            #expect(try key.scalar().count == key.curve.coordinateSize)
        }
        let one = [UInt8](repeating: 0, count: 31) + [1]
        #expect(try ECPrivateKey(der: Self.sec1(scalar: [0] + one)).publicKey.x == ECKeyCoordinateTests.baseX)
        #expect(try ECPrivateKey(der: Self.pkcs8(key: Self.sec1(scalar: [0] + one))).scalar().exposed == one)
        for scalar in [[0, 0] + one, [1] + one, [0x80] + one, [UInt8](repeating: 0, count: 33)] {
            #expect(code { _ = try ECPrivateKey(der: Self.sec1(scalar: scalar)) } == .invalidScalar)
        }
    }

    @Test("Accepts PKCS#8 with attributes, version 2 and an outer public key", .shows("RFC 5208, RFC 5958"))
    func extensions() throws {
        let point = [UInt8].der(0x81, [0] + Self.base)
        for der in [
            Self.pkcs8(), Self.pkcs8(more: .der(0xA0)), Self.pkcs8(version: 1), Self.pkcs8(version: 1, more: point),
            Self.pkcs8(version: 1, key: Self.sec1(curve: nil, point: nil), more: .der(0xA0) + point),
            Self.pkcs8(key: Self.sec1()),
        ] {
            #expect(try ECPrivateKey(der: der).publicKey.x == ECKeyCoordinateTests.baseX)
        }
    }

    @Test("Rejects contradictions within a key") func contradictions() throws {
        let other = try ECPrivateKey.generate(.p256).publicKey
        let otherPoint = [4] + other.x + other.y
        #expect(code { _ = try ECPrivateKey(der: Self.sec1(point: otherPoint)) } == .keyMismatch)
        #expect(
            code { _ = try ECPrivateKey(der: Self.pkcs8(version: 1, more: .der(0x81, [0] + otherPoint))) }
                == .keyMismatch
        )
        #expect(
            code {
                let key = Self.sec1(curve: nil, point: nil)
                _ = try ECPrivateKey(der: Self.pkcs8(version: 1, key: key, more: .der(0x81, [0] + otherPoint)))
            } == .keyMismatch
        )
        #expect(code { _ = try ECPrivateKey(der: Self.pkcs8(key: Self.sec1(curve: Self.p384))) } == .malformedKey)
        #expect(code { _ = try ECPrivateKey(der: Self.sec1(curve: Self.p384)) } == .malformedKey)
    }

    @Test("Rejects a scalar out of range") func scalarRange() {
        for scalar in [
            [], [0], ECKeyCoordinateTests.order, [UInt8](repeating: 0xFF, count: 32), [0] + ECKeyCoordinateTests.order,
        ] {
            #expect(code { _ = try ECPrivateKey(der: Self.sec1(scalar: scalar)) } == .invalidScalar)
        }
    }

    @Test("Rejects curves without a known name", .shows("RFC 5915, RFC 5480")) func curves() {
        let explicit = [UInt8].der(0x30, .der(0x02, [1]))
        let null: [UInt8] = [0x05, 0x00]
        let unknown = [UInt8].der(0x06, [0x2A, 0x03])
        let endless = [UInt8].der(0x06, [UInt8](repeating: 0xFF, count: 200))
        for curve in [explicit, null, unknown, endless, .der(0x06)] {
            #expect(code { _ = try ECPrivateKey(der: Self.sec1(curve: curve)) } == .unsupportedCurve)
            #expect(code { _ = try ECPrivateKey(der: Self.pkcs8(curve: curve)) } == .unsupportedCurve)
            let spki = [UInt8].der(0x30, .der(0x30, Self.ecPublicKey, curve), .der(0x03, [0] + Self.base))
            #expect(code { _ = try ECPublicKey(der: spki) } == .unsupportedCurve)
        }
        #expect(code { _ = try ECPrivateKey(der: Self.sec1(curve: nil)) } == .unsupportedCurve)
    }

    @Test("Rejects malformed points", .shows("RFC 8725bis §3.4")) func points() {
        let infinity: [UInt8] = [0]
        let short = Array(Self.base.dropLast())
        for point in [[], infinity, short, Self.base + [0], [6] + Self.base.dropFirst(), [1] + Self.base.dropFirst()] {
            #expect(code { _ = try ECPrivateKey(der: Self.sec1(point: point)) } == .malformedKey)
            let spki = [UInt8].der(0x30, .der(0x30, Self.ecPublicKey, Self.p256), .der(0x03, [0] + point))
            #expect(code { _ = try ECPublicKey(der: spki) } == .malformedKey)
        }
        let offCurve = Self.base.dropLast() + [0]
        #expect(code { _ = try ECPrivateKey(der: Self.sec1(point: Array(offCurve))) } == .pointNotOnCurve)
        let bits = [UInt8].der(0x30, .der(0x30, Self.ecPublicKey, Self.p256), .der(0x03, [1] + Self.base))
        #expect(code { _ = try ECPublicKey(der: bits) } == .malformedKey)
        // No point of P-256 has the x coordinate 2^256 - 1, which isn't a field element.
        let compressed = [2] + [UInt8](repeating: 0xFF, count: 32)
        #expect(code { _ = try ECPrivateKey(der: Self.sec1(point: compressed)) } == .pointNotOnCurve)
    }

    @Test("Rejects unknown versions and bytes after any element") func leftovers() {
        let null: [UInt8] = [0x05, 0x00]
        for der in [
            Self.sec1(version: 0), Self.sec1(version: 2), Self.pkcs8(version: 2), Self.sec1(more: null),
            Self.pkcs8(more: null), Self.sec1() + null, Self.pkcs8() + [0], Self.pkcs8(key: Self.sec1() + null),
            Self.pkcs8(curve: Self.p256 + null), Self.sec1(curve: Self.p256 + null),
            Self.pkcs8(more: .der(0x81, [0] + Self.base)),
        ] {
            #expect(code { _ = try ECPrivateKey(der: der) } == .malformedKey)
        }
        #expect(code { _ = try ECPublicKey(der: [UInt8](pem: TestKey.p256.spki) + [0]) } == .malformedKey)
    }

    @Test(
        "Rejects bytes that aren't a key",
        arguments: [
            [], [0x30], [0x30, 0x00], [0x30, 0x80], [0x04, 0x01, 0x00], [UInt8](repeating: 0x30, count: 100),
            [UInt8](repeating: 0xFF, count: 100), [UInt8](repeating: 0, count: 70_000),
        ] as [[UInt8]]
    )
    func garbage(octets: [UInt8]) {
        #expect(code { _ = try ECPrivateKey(der: octets) } == .malformedKey)
        #expect(code { _ = try ECPublicKey(der: octets) } == .malformedKey)
    }
}
