import OpenSSLCrypto
import Testing

@Suite("EllipticCurve", .serialized) struct EllipticCurveTests {
    @Test("Finds the four curves by their JWK names") func names() {
        let sizes = ["P-256": 32, "P-384": 48, "P-521": 66, "secp256k1": 32]
        for (name, size) in sizes {
            #expect(EllipticCurve(name: name)?.name == name)
            #expect(EllipticCurve(name: name)?.coordinateSize == size)
        }
        #expect(EllipticCurve(name: "P-256") == .p256)
        #expect(EllipticCurve(name: "secp256k1") == .secp256k1)
    }

    @Test("Doesn't find other names", arguments: ["", "p-256", "P256", "prime256v1", "P-224", "Ed25519", "SECP256K1"])
    func others(name: String) {
        #expect(EllipticCurve(name: name) == nil)
    }
}
