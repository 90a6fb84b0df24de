import OpenSSLCrypto
import TestSupport
import Testing

@Suite("RSA and Edwards keys in unusual DER", .computing) struct KeyDERTests {
    private static let rsaIdentifier = [UInt8].der(0x06, [UInt8](hex: "2a864886f70d010101"))
    private static let null: [UInt8] = [0x05, 0x00]

    private static func integer(_ octets: [UInt8]) -> [UInt8] {
        .der(0x02, octets.first.map { $0 >= 0x80 } == true ? [0] + octets : octets)
    }

    private static func pkcs1(
        version: UInt8 = 0,
        _ numbers: RSATestKeyNumbers = RSATestKeyNumbers(),
        more: [UInt8] = []
    ) -> [UInt8] {
        let octets = [
            numbers.n, numbers.e, numbers.d, numbers.p, numbers.q, numbers.dp, numbers.dq, numbers.qi,
        ].flatMap(integer)
        return .der(0x30, .der(0x02, [version]), octets, more)
    }

    private static func pkcs8(
        version: UInt8 = 0,
        algorithm: [UInt8] = rsaIdentifier + null,
        key: [UInt8] = pkcs1(),
        more: [UInt8] = []
    ) -> [UInt8] {
        .der(0x30, .der(0x02, [version]), .der(0x30, algorithm), .der(0x04, key), more)
    }

    private static func pkcs1Public(_ numbers: RSATestKeyNumbers = RSATestKeyNumbers()) -> [UInt8] {
        .der(0x30, integer(numbers.n), integer(numbers.e))
    }

    @Test("Computes the factors of a PKCS#1 key with zeros") func withoutFactors() throws {
        var numbers = RSATestKeyNumbers()
        (numbers.p, numbers.q, numbers.dp, numbers.dq, numbers.qi) = ([0], [0], [0], [0], [0])
        let key = try PrivateKey(der: Self.pkcs1(numbers))
        #expect(try key.publicKey == PublicKey(pem: KeyPEM.rsaSPKI))
        #expect(try key.traditionalPEM() == KeyPEM.rsaPKCS1)
        numbers.p = RSATestKeyNumbers().p
        #expect(code { _ = try PrivateKey(der: Self.pkcs1(numbers)) } == .malformedKey)
    }

    @Test("Accepts PKCS#8 with attributes and, in version 2, a matching public key", .shows("RFC 5208, RFC 5958"))
    func secondVersion() throws {
        let fitting = [UInt8].der(0x81, [0] + Self.pkcs1Public())
        var otherNumbers = RSATestKeyNumbers()
        otherNumbers.e = [3]
        let other = [UInt8].der(0x81, [0] + Self.pkcs1Public(otherNumbers))
        let expected = try PublicKey(pem: KeyPEM.rsaSPKI)
        for der in [
            Self.pkcs8(), Self.pkcs8(version: 1), Self.pkcs8(more: .der(0xA0)), Self.pkcs8(version: 1, more: fitting),
        ] {
            #expect(try PrivateKey(der: der).publicKey == expected)
        }
        #expect(code { _ = try PrivateKey(der: Self.pkcs8(version: 1, more: other)) } == .keyMismatch)
        #expect(code { _ = try PrivateKey(der: Self.pkcs8(more: fitting)) } == .malformedKey)
    }

    @Test("Rejects numbers that don't match") func mismatch() {
        var numbers = RSATestKeyNumbers()
        numbers.qi[5] ^= 1
        #expect(code { _ = try PrivateKey(der: Self.pkcs1(numbers)) } == .keyMismatch)
        #expect(code { _ = try PrivateKey(der: Self.pkcs8(key: Self.pkcs1(numbers))) } == .keyMismatch)
    }

    @Test("Rejects parameters other than NULL, unknown versions and extra bytes") func leftovers() {
        for der in [
            Self.pkcs8(version: 2), Self.pkcs8(algorithm: Self.rsaIdentifier),
            Self.pkcs8(algorithm: Self.rsaIdentifier + [0x05, 0x01, 0x00]),
            Self.pkcs8(algorithm: Self.rsaIdentifier + Self.null + Self.null),
            Self.pkcs8(algorithm: Self.rsaIdentifier + .der(0x30)), Self.pkcs8(key: Self.pkcs1() + Self.null),
            Self.pkcs8(key: Self.pkcs1(more: Self.null)), Self.pkcs8(more: Self.null), Self.pkcs8() + Self.null,
            Self.pkcs1(version: 2), Self.pkcs1(more: Self.null), Self.pkcs1() + [0],
        ] {
            #expect(code { _ = try PrivateKey(der: der) } == .malformedKey)
        }
        #expect(code { _ = try PrivateKey(der: Self.pkcs1(version: 1)) } == .wrongKeyType)
        #expect(code { _ = try PublicKey(der: Self.pkcs1Public() + [0]) } == .malformedKey)
    }

    @Test("Rejects negative and padded integers") func integers() {
        let good = RSATestKeyNumbers()
        let negative = [UInt8].der(0x30, .der(0x02, good.n), Self.integer(good.e))
        let padded = [UInt8].der(0x30, .der(0x02, [0, 0] + good.n), Self.integer(good.e))
        for der in [negative, padded] {
            #expect(code { _ = try PublicKey(der: der) } == .malformedKey)
        }
    }

    @Test(
        "Requires Edwards keys to have one seed and no parameters",
        .shows("RFC 8410, RFC 3279"),
        arguments: [EdwardsCurve.ed25519, .ed448]
    )
    func edwards(curve: EdwardsCurve) throws {
        let identifier = [UInt8].der(0x06, curve == .ed25519 ? [0x2B, 0x65, 0x70] : [0x2B, 0x65, 0x71])
        let pair = try EdwardsPrivateKey.generate(curve)
        let seed = [UInt8].der(0x04, try pair.seed().exposed)
        let octets = pair.publicKey.octets
        func key(_ algorithm: [UInt8], _ contents: [UInt8], version: UInt8 = 0, more: [UInt8] = []) -> [UInt8] {
            Self.pkcs8(version: version, algorithm: algorithm, key: contents, more: more)
        }
        let expected = PublicKey.edwards(pair.publicKey)
        #expect(try PrivateKey(der: key(identifier, seed)).publicKey == expected)
        let outside = [UInt8].der(0x81, [0] + octets)
        #expect(try PrivateKey(der: key(identifier, seed, version: 1, more: outside)).publicKey == expected)
        let other = [UInt8].der(0x81, [0] + (try EdwardsPrivateKey.generate(curve).publicKey.octets))
        #expect(code { _ = try PrivateKey(der: key(identifier, seed, version: 1, more: other)) } == .keyMismatch)
        for der in [
            key(identifier + Self.null, seed), key(identifier, Array(seed.dropFirst(2))), key(identifier, seed + [0]),
            key(identifier, .der(0x04, [1, 2, 3])), key(identifier, []),
        ] {
            #expect(code { _ = try PrivateKey(der: der) } == .malformedKey)
        }
        func spki(_ algorithm: [UInt8], _ octets: [UInt8], unusedBits: UInt8 = 0) -> [UInt8] {
            .der(0x30, .der(0x30, algorithm), .der(0x03, [unusedBits] + octets))
        }
        #expect(try PublicKey(der: spki(identifier, octets)) == expected)
        for der in [
            spki(identifier + Self.null, octets), spki(identifier, octets + [0]), spki(identifier, []),
            spki(identifier, octets, unusedBits: 1),
        ] {
            #expect(code { _ = try PublicKey(der: der) } == .malformedKey)
        }
        let identity = [1] + [UInt8](repeating: 0, count: curve.keySize - 1)
        #expect(code { _ = try PublicKey(der: spki(identifier, identity)) } == .weakKey)
    }

    @Test("Shows the identifier of an unknown algorithm", .shows("RFC 8410, RFC 3279")) func unknownAlgorithm() throws {
        let unknown = [UInt8].der(0x06, [UInt8](hex: "2a0304"))
        let error = try #require(error { _ = try PrivateKey(der: Self.pkcs8(algorithm: unknown)) })
        #expect(error.code == .wrongKeyType)
        #expect(error.message.contains("1.2.3.4"))
    }
}
