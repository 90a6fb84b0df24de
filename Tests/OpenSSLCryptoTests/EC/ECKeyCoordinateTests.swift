import OpenSSLCrypto
import TestSupport
import Testing

@Suite("EC keys from coordinates", .computing) struct ECKeyCoordinateTests {
    static let curves: [EllipticCurve] = [.p256, .p384, .p521, .secp256k1]
    /// The base point of P-256, which is the public key of scalar 1.
    static let baseX = [UInt8](hex: "6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296")
    static let baseY = [UInt8](hex: "4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5")
    static let order = [UInt8](hex: "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551")

    @Test("Recreates a generated key from its numbers", arguments: curves)
    func roundTrip(curve: EllipticCurve) throws {
        let key = try ECPrivateKey.generate(curve)
        let scalar = try key.scalar()
        #expect(scalar.count == curve.coordinateSize)
        #expect(key.publicKey.x.count == curve.coordinateSize)
        #expect(key.publicKey.y.count == curve.coordinateSize)
        #expect(key.curve == curve && key.publicKey.curve == curve)

        let again = try ECPrivateKey(curve: curve, scalar: scalar, x: key.publicKey.x, y: key.publicKey.y)
        #expect(again.publicKey == key.publicKey)
        #expect(try again.scalar() == scalar)
        let publicKey = try ECPublicKey(curve: curve, x: key.publicKey.x, y: key.publicKey.y)
        let signature = try again.signature(for: [1, 2, 3], hash: .sha256)
        #expect(publicKey.isValidSignature(signature, for: [1, 2, 3], hash: .sha256))
    }

    @Test("Generates different keys, whose points aren't on another curve") func distinct() throws {
        let key = try ECPrivateKey.generate(.p256).publicKey
        #expect(try ECPrivateKey.generate(.p256).publicKey != key)
        #expect(code { _ = try ECPublicKey(curve: .secp256k1, x: key.x, y: key.y) } == .pointNotOnCurve)
        #expect(code { _ = try ECPublicKey(curve: .p384, x: key.x, y: key.y) } == .malformedKey)
    }

    @Test("Pads the scalar") func paddedScalar() throws {
        let one = [UInt8](repeating: 0, count: 31) + [1]
        let key = try ECPrivateKey(curve: .p256, scalar: one.secret, x: Self.baseX, y: Self.baseY)
        #expect(try key.scalar().exposed == one)
    }

    private static func refusal(
        _ curve: EllipticCurve = .p256,
        _ scalar: SecretBytes,
        _ x: [UInt8] = baseX,
        _ y: [UInt8] = baseY
    ) -> CryptoError.Code? {
        code { _ = try ECPrivateKey(curve: curve, scalar: scalar, x: x, y: y) }
    }

    @Test("Rejects other sizes", arguments: curves)
    func sizes(curve: EllipticCurve) throws {
        let key = try ECPrivateKey.generate(curve)
        let (x, y) = (key.publicKey.x, key.publicKey.y)
        let scalar = try key.scalar().exposed
        let variants: [([UInt8]) -> [UInt8]] = [{ Array($0.dropFirst()) }, { [0] + $0 }, { _ in [] }]
        for change in variants {
            #expect(code { _ = try ECPublicKey(curve: curve, x: change(x), y: y) } == .malformedKey)
            #expect(code { _ = try ECPublicKey(curve: curve, x: x, y: change(y)) } == .malformedKey)
            #expect(Self.refusal(curve, change(scalar).secret, x, y) == .malformedKey)
            #expect(Self.refusal(curve, scalar.secret, change(x), y) == .malformedKey)
        }
    }

    @Test("Rejects a point off the curve, and another key's point", .shows("RFC 7518 §6.2"), arguments: curves)
    func offCurve(curve: EllipticCurve) throws {
        let key = try ECPrivateKey.generate(curve)
        let (x, y) = (key.publicKey.x, key.publicKey.y)
        let scalar = try key.scalar()
        let zero = [UInt8](repeating: 0, count: curve.coordinateSize)
        let largest = [UInt8](repeating: 0xFF, count: curve.coordinateSize)
        var changed = y
        changed[changed.count - 1] ^= 1
        let other = try ECPrivateKey.generate(curve).publicKey
        #expect(Self.refusal(curve, scalar, other.x, other.y) == .keyMismatch)
        for (wrongX, wrongY) in [(x, changed), (zero, zero), (largest, y), (x, largest), (largest, largest)] {
            #expect(code { _ = try ECPublicKey(curve: curve, x: wrongX, y: wrongY) } == .pointNotOnCurve)
            #expect(Self.refusal(curve, scalar, wrongX, wrongY) == .pointNotOnCurve)
        }
    }

    @Test("Rejects a scalar out of range") func scalarRange() {
        let zero = [UInt8](repeating: 0, count: 32)
        var aboveOrder = Self.order
        aboveOrder[31] += 1
        for scalar in [zero, Self.order, aboveOrder, [UInt8](repeating: 0xFF, count: 32)] {
            #expect(Self.refusal(.p256, scalar.secret) == .invalidScalar)
        }
    }

    @Test("Accepts the largest scalar") func largestScalar() throws {
        var scalar = Self.order
        scalar[31] -= 1
        // (n - 1)·G is the base point with y negated: p - y.
        let negatedY = [UInt8](hex: "B01CBD1C01E58065711814B583F061E9D431CCA994CEA1313449BF97C840AE0A")
        let key = try ECPrivateKey(curve: .p256, scalar: scalar.secret, x: Self.baseX, y: negatedY)
        let signature = try key.signature(for: [1], hash: .sha256)
        #expect(key.publicKey.isValidSignature(signature, for: [1], hash: .sha256))
    }

    @Test("Compares the curve and both coordinates") func equality() throws {
        let negatedY = [UInt8](hex: "B01CBD1C01E58065711814B583F061E9D431CCA994CEA1313449BF97C840AE0A")
        let key = try ECPublicKey(curve: .p256, x: Self.baseX, y: Self.baseY)
        #expect(try key == ECPublicKey(curve: .p256, x: Self.baseX, y: Self.baseY))
        #expect(try key != ECPublicKey(curve: .p256, x: Self.baseX, y: negatedY))
    }
}

@Suite("EllipticCurve", .computing) struct EllipticCurveTests {
    @Test("Finds the four curves by their JWK names") func names() {
        let sizes = ["P-256": 32, "P-384": 48, "P-521": 66, "secp256k1": 32]
        for (name, size) in sizes {
            #expect(EllipticCurve(name: name)?.name == name)
            #expect(EllipticCurve(name: name)?.coordinateSize == size)
        }
        #expect(EllipticCurve(name: "P-256") == .p256)
        #expect(EllipticCurve(name: "secp256k1") == .secp256k1)
    }

    @Test(
        "Doesn't find other names",
        .shows("FAPI 2.0 §5.4.1 (3)"),
        arguments: ["", "p-256", "P256", "prime256v1", "P-224", "Ed25519", "SECP256K1"]
    )
    func others(name: String) {
        #expect(EllipticCurve(name: name) == nil)
    }
}
