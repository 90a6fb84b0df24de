import Foundation
import TestSupport
import Testing

@testable import OpenSSLCrypto

@Suite(
    "ML-DSA: keys and signatures",
    .enabled(if: MLDSAParameters.mldsa65.isAvailable, "requires OpenSSL 3.5"),
    .computing
)
struct MLDSATests {
    private static let names = MLDSAParameters.all.map(\.name)

    private func key(_ name: String) throws -> (MLDSAParameters, MLDSAPrivateKey) {
        let parameters = try #require(MLDSAParameters(name: name))
        let seed = [UInt8](0..<32).secret
        return (parameters, try MLDSAPrivateKey(parameters: parameters, seed: seed))
    }

    /// Returns a PrivateKeyInfo with the ML-DSA-PrivateKey.
    private func privateKeyInfo(
        _ parameters: MLDSAParameters,
        _ key: [UInt8],
        algorithmParameters: [UInt8] = []
    ) -> [UInt8] {
        let algorithm = [UInt8].der(0x30, identifier(of: parameters), algorithmParameters)
        return .der(0x30, .der(0x02, [0]), algorithm, .der(0x04, key))
    }

    private func identifier(of parameters: MLDSAParameters) -> [UInt8] {
        let last: [String: UInt8] = ["ML-DSA-44": 0x11, "ML-DSA-65": 0x12, "ML-DSA-87": 0x13]
        return .der(0x06, [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, last[parameters.name] ?? 0])
    }

    private func read(_ der: [UInt8]) throws -> MLDSAPrivateKey? {
        guard case .mldsa(let key) = try PrivateKey(der: der) else { return nil }
        return key
    }

    @Test("Reads the seed, the expanded key and both, and writes the seed if it's known", arguments: Self.names)
    func privateForms(name: String) throws {
        let (parameters, key) = try key(name)
        let (seed, expanded) = (try key.seed().exposed, try key.expanded().exposed)
        #expect(expanded.count == parameters.expandedKeySize)
        let short = privateKeyInfo(parameters, .der(0x80, seed))
        let long = privateKeyInfo(parameters, .der(0x04, expanded))
        let both = privateKeyInfo(parameters, .der(0x30, .der(0x04, seed), .der(0x04, expanded)))
        for form in [short, long, both] {
            let pair = try #require(try read(form))
            #expect(pair.publicKey == key.publicKey)
            #expect(try PrivateKey.mldsa(pair).pkcs8DER().exposed == (form == long ? long : short))
        }
        let withoutSeed = try #require(try read(long))
        #expect(code { _ = try withoutSeed.seed() } == .wrongKeyType)
        let message = Array("message".utf8)
        let signature = try message.withBytes { try withoutSeed.signature(for: $0) }
        #expect(key.publicKey.isValidSignature(signature, for: message))
    }

    @Test("Rejects malformed private keys", arguments: Self.names)
    func malformedPrivateKeys(name: String) throws {
        let (parameters, key) = try key(name)
        let (seed, expanded) = (try key.seed().exposed, try key.expanded().exposed)
        let otherSeed = [UInt8](1..<33)
        var damaged = expanded
        damaged[40] ^= 1
        let cases: [([UInt8], CryptoError.Code)] = [
            ([], .malformedKey),
            (.der(0x80, []), .malformedKey),
            (.der(0x80, Array(seed.dropLast())), .malformedKey),
            (.der(0x80, seed + [0]), .malformedKey),
            (.der(0x80, seed) + [0], .malformedKey),
            (.der(0x81, seed), .malformedKey),
            (.der(0xA0, .der(0x04, seed)), .malformedKey),
            (seed, .malformedKey),
            (expanded, .malformedKey),
            (.der(0x04, seed), .malformedKey),
            (.der(0x04, Array(expanded.dropLast())), .malformedKey),
            (.der(0x04, expanded) + [0], .malformedKey),
            (.der(0x30, .der(0x04, seed)), .malformedKey),
            (.der(0x30, .der(0x04, expanded), .der(0x04, seed)), .malformedKey),
            (.der(0x30, .der(0x04, seed), .der(0x04, expanded), .der(0x05)), .malformedKey),
            (.der(0x30, .der(0x04, otherSeed), .der(0x04, expanded)), .keyMismatch),
            (.der(0x30, .der(0x04, seed), .der(0x04, damaged)), .keyMismatch),
        ]
        for (index, (contents, expected)) in cases.enumerated() {
            let form = privateKeyInfo(parameters, contents)
            #expect(code { _ = try PrivateKey(der: form) } == expected, "case \(index)")
        }
        let withNull = privateKeyInfo(parameters, .der(0x80, seed), algorithmParameters: .der(0x05))
        #expect(code { _ = try PrivateKey(der: withNull) } == .malformedKey)
    }

    @Test("Rejects malformed public keys", arguments: Self.names)
    func malformedPublicKeys(name: String) throws {
        let (parameters, key) = try key(name)
        let octets = key.publicKey.octets
        func info(_ bits: [UInt8], _ algorithmParameters: [UInt8] = []) -> [UInt8] {
            .der(0x30, .der(0x30, identifier(of: parameters), algorithmParameters), .der(0x03, bits))
        }
        #expect(try PublicKey(der: info([0] + octets)) == .mldsa(key.publicKey))
        #expect(PublicKey.mldsa(key.publicKey).spkiDER() == info([0] + octets))
        for form in [
            info([0] + octets.dropLast()), info([0] + octets + [0]), info([1] + octets), info([0]), info([]),
            info([0] + octets, .der(0x05)), info([0] + octets) + [0],
        ] {
            #expect(code { _ = try PublicKey(der: form) } == .malformedKey)
        }
    }

    @Test("Signs differently each time, and rejects changed signatures and messages", arguments: Self.names)
    func signatures(name: String) throws {
        let (parameters, key) = try key(name)
        let message = Array("message".utf8)
        let signature = try message.withBytes { try key.signature(for: $0) }
        #expect(signature.count == parameters.signatureSize)
        #expect(try message.withBytes { try key.signature(for: $0) } != signature)
        #expect(key.publicKey.isValidSignature(signature, for: message))
        #expect(!key.publicKey.isValidSignature(signature, for: message + [0]))
        #expect(!key.publicKey.isValidSignature(signature, for: []))
        for size in [0, 1, signature.count - 1] {
            #expect(!key.publicKey.isValidSignature(Array(signature.prefix(size)), for: message))
        }
        #expect(!key.publicKey.isValidSignature(signature + [0], for: message))
        for index in stride(from: 0, to: signature.count, by: 97) {
            var changed = signature
            changed[index] ^= 0x10
            #expect(!key.publicKey.isValidSignature(changed, for: message))
        }
        let empty = try [UInt8]().withBytes { try key.signature(for: $0) }
        #expect(key.publicKey.isValidSignature(empty, for: []))
    }
}

extension MLDSAPublicKey {
    func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        signature.withBytes { signature in message.withBytes { isValidSignature(signature, for: $0) } }
    }
}
