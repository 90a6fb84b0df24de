import TestSupport
import Testing

@testable import OpenSSLCrypto

@Suite("Key derivation cost", .computing)
struct KeyDerivationCostTests {
    /// A pseudorandom function of PBKDF2, given by the last byte of its identifier; `nil` is the
    /// default, HMAC-SHA-1.
    typealias Function = UInt8?

    @Test(
        "Accepts common iteration counts and rejects one above the limit",
        .shows("K6"),
        arguments: [
            // With HMAC-SHA-1, a key of 256 bits requires two blocks, and one of 128 bits a single
            // block.
            (nil, nil, 1_333_333), (7, 32, 1_333_333), (7, 16, 2_666_666), (9, nil, 2_000_000), (9, 32, 2_000_000),
            (10, nil, 1_000_000), (11, nil, 1_000_000), (13, nil, 666_666), (9, 64, 1_000_000),
        ] as [(Function, Int?, Int)]
    )
    func limit(function: Function, keySize: Int?, iterations: Int) throws {
        try Self.add(function, keySize: keySize, iterations: [iterations])
        #expect(code { _ = try Self.add(function, keySize: keySize, iterations: [iterations + 1]) } == .malformedKey)
    }

    @Test("Applies one limit to all key derivations of a file")
    func total() throws {
        try Self.add(9, iterations: [600_000, 600_000, 600_000])
        try Self.add(9, iterations: [1_999_999, 1])
        #expect(throws: CryptoError(.malformedKey, "")) { try Self.add(9, iterations: [1_999_999, 2]) }
        #expect(throws: CryptoError(.malformedKey, "")) { try Self.add(11, iterations: [600_000, 600_000]) }
    }

    @Test(
        "Rejects huge numbers without overflow",
        arguments: [(Int.max >> 8, 1 << 40), (1 << 40, Int.max >> 8), (Int.max >> 8, nil), (1, Int.max >> 8)]
            as [(Int, Int?)]
    )
    func overflow(iterations: Int, keySize: Int?) {
        #expect(code { _ = try Self.add(7, keySize: keySize, iterations: [iterations]) } == .malformedKey)
    }

    @Test("Counts all parameters of scrypt", .shows("K6"))
    func scrypt() throws {
        // 16 times OpenSSL's default.
        for _ in 0..<16 { try Self.addScrypt(16_384, 8, 1) }
        try Self.addScrypt(16_384, 8, 20)
        for (cost, blockSize, parallelization) in [
            (16_384, 8, 21), (2, 8, 131_072), (2, 1, 1 << 20), (1 << 22, 1, 1), (1, 1 << 22, 1),
            (Int.max >> 8, 1, 1), (1, Int.max >> 8, Int.max >> 8),
        ] {
            #expect(code { _ = try Self.addScrypt(cost, blockSize, parallelization) } == .malformedKey)
        }
    }

    @Test("Counts a PKCS#12 MAC like PBKDF2, and slow digests twice")
    func mac() throws {
        var cost = KeyDerivationCost()
        try cost.add(iterations: 1_000_000, digest: .sha512)
        try cost.add(iterations: 1_000_000, digest: .sha1)
        #expect(throws: CryptoError(.malformedKey, "")) { try cost.add(iterations: 1, digest: .sha256) }
        var other = KeyDerivationCost()
        #expect(throws: CryptoError(.malformedKey, "")) {
            // SHA3-512.
            try other.add(iterations: 1_000_001, digest: ObjectIdentifier(2, 16, 840, 1, 101, 3, 4, 2, 10))
        }
        for count in [Int.min, -1, .max] {
            var cost = KeyDerivationCost()
            #expect(throws: CryptoError(.malformedKey, "")) { try cost.add(iterations: count, digest: .sha256) }
        }
    }

    @Test("Accepts its own keys with the maximum iteration count")
    func written() throws {
        let key = try PrivateKey(pem: KeyPEM.ed25519PKCS8)
        let password = Array("correct".utf8).secret
        let der = try key.encryptedPKCS8DER(password: password, iterations: KeyDerivationCost.maximumIterations)
        var cost = KeyDerivationCost()
        try der.withBytes { der throws(CryptoError) in try cost.add(encryptedKey: der) }
        #expect(throws: CryptoError(.malformedKey, "")) { try cost.add(iterations: 1, digest: .sha256) }
    }

    /// Adds PBKDF2 derivations as if they were in one file.
    private static func add(_ function: Function, keySize: Int? = nil, iterations: [Int]) throws {
        var cost = KeyDerivationCost()
        for count in iterations {
            var parameters = [salt, integer(count)]
            if let keySize { parameters.append(integer(keySize)) }
            if let function {
                let identifier = ObjectIdentifier(1, 2, 840, 113549, 2, Int(function)).octets
                parameters.append(.der(0x30, .der(0x06, identifier), .der(0x05, [])))
            }
            try add(.pbkdf2, parameters, to: &cost)
        }
    }

    private static func addScrypt(_ numbers: Int...) throws {
        var cost = KeyDerivationCost()
        try add(.scrypt, [salt] + numbers.map(integer), to: &cost)
    }

    private static func add(
        _ identifier: ObjectIdentifier,
        _ parameters: [[UInt8]],
        to cost: inout KeyDerivationCost
    ) throws {
        let derivation = [UInt8].der(0x30, .der(0x06, identifier.octets), .der(0x30, Array(parameters.joined())))
        let cipher = [UInt8].der(0x30, .der(0x06, [0x2A]))
        let algorithm = [UInt8].der(
            0x30,
            .der(0x06, ObjectIdentifier.pbes2.octets),
            .der(0x30, derivation, cipher)
        )
        try algorithm.withBytes { algorithm throws(CryptoError) in try cost.add(algorithm: algorithm) }
    }

    private static let salt = [UInt8].der(0x04, [1, 2, 3, 4, 5, 6, 7, 8])

    private static func integer(_ number: Int) -> [UInt8] {
        var octets = (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
        octets = Array(octets.drop { $0 == 0 })
        if octets.first.map({ $0 & 0x80 != 0 }) ?? true { octets.insert(0, at: 0) }
        return .der(0x02, octets)
    }
}
