import Foundation
import TestSupport
import TestVectors
import Testing

@testable import OpenSSLCrypto

/// C2SP/wycheproof's files about ML-DSA.
///
/// The module is stricter in one way: signatures with a context that isn't empty are invalid
/// ([RFC 9964](https://www.rfc-editor.org/rfc/rfc9964)). It signs messages, not their hashes, and
/// never deterministically, so expected signatures are verified instead of repeated.
@Suite(
    "Wycheproof ML-DSA",
    .enabled(if: ExternalVector.exists("wycheproof"), Comment(rawValue: ExternalVector.hint)),
    .enabled(if: MLDSAParameters.mldsa65.isAvailable, "requires OpenSSL 3.5"),
    .computing
)
struct WycheproofMLDSATests {
    private struct File: Decodable {
        let numberOfTests: Int
        let testGroups: [Group]
    }

    private struct Group: Decodable {
        let publicKey, publicKeyDer, privateSeed, privateKey, privateKeyPkcs8: String?
        let tests: [Case]
    }

    private struct Case: Decodable {
        let tcId: Int
        let msg, ctx, sig: String?
        let result: String

        var isValid: Bool { result == "valid" && ctx ?? "" == "" }
    }

    private static let names = MLDSAParameters.all.map(\.name)

    /// Calls a closure for each test of a file, and returns the number of tests.
    private func eachTest(
        _ name: String,
        _ kind: String,
        _ check: (MLDSAParameters, Group, Case) throws -> Void
    ) throws -> Int {
        let parameters = try #require(MLDSAParameters(name: name))
        let path = "wycheproof/\(name.lowercased().replacing("ml-dsa-", with: "mldsa_"))_\(kind)_test.json"
        let file = try JSONDecoder().decode(File.self, from: ExternalVector.data(path))
        var count = 0
        for group in file.testGroups {
            for test in group.tests {
                count += 1
                try check(parameters, group, test)
            }
        }
        #expect(count == file.numberOfTests)
        return count
    }

    @Test("Verification", arguments: zip(names, [180, 210, 241]))
    func verification(name: String, expected: Int) throws {
        let count = try eachTest(name, "verify") { parameters, group, test in
            let octets = [UInt8](hex: try #require(group.publicKey))
            let key = try? MLDSAPublicKey(parameters: parameters, octets: octets)
            #expect((key == nil) == (octets.count != parameters.keySize))
            if let key, let der = group.publicKeyDer {
                #expect(try PublicKey(der: [UInt8](hex: der)) == .mldsa(key))
            }
            let signature = [UInt8](hex: try #require(test.sig))
            let message = [UInt8](hex: try #require(test.msg))
            #expect((key?.isValidSignature(signature, for: message) ?? false) == test.isValid, "test \(test.tcId)")
        }
        #expect(count == expected)
    }

    @Test("Keys from seeds", arguments: zip(names, [86, 105, 96]))
    func seeds(name: String, expected: Int) throws {
        let count = try eachTest(name, "sign_seed") { parameters, group, test in
            let seed = [UInt8](hex: try #require(group.privateSeed))
            let key = try? MLDSAPrivateKey(parameters: parameters, seed: seed.secret)
            #expect((key == nil) == (group.publicKey == nil), "test \(test.tcId)")
            guard let key else { return }
            if let der = group.privateKeyPkcs8 {
                guard case .mldsa(let read) = try PrivateKey(der: [UInt8](hex: der)) else {
                    Issue.record("test \(test.tcId) isn't a key for ML-DSA")
                    return
                }
                #expect(try read.seed().exposed == seed)
                #expect(try PrivateKey.mldsa(read).pkcs8DER().exposed == [UInt8](hex: der))
            }
            try check(key, group, test)
        }
        #expect(count == expected)
    }

    @Test("Expanded keys", arguments: zip(names, [73, 78, 69]))
    func expandedKeys(name: String, expected: Int) throws {
        let count = try eachTest(name, "sign_noseed") { parameters, group, test in
            let expanded = [UInt8](hex: try #require(group.privateKey))
            let key = try? MLDSAPrivateKey(parameters: parameters, expanded: expanded.secret)
            // The module rejects invalid keys when it reads them.
            #expect((key == nil) == (test.result == "invalid" && test.ctx == nil), "test \(test.tcId)")
            if let key { try check(key, group, test) }
        }
        #expect(count == expected)
    }

    /// Checks the public key, a new signature, and the signature of the test.
    private func check(_ key: MLDSAPrivateKey, _ group: Group, _ test: Case) throws {
        #expect(key.publicKey.octets == [UInt8](hex: try #require(group.publicKey)), "test \(test.tcId)")
        guard let message = test.msg.map({ [UInt8](hex: $0) }) else { return }
        let signature = try message.withBytes { try key.signature(for: $0) }
        #expect(key.publicKey.isValidSignature(signature, for: message), "test \(test.tcId)")
        guard let signature = test.sig.map({ [UInt8](hex: $0) }), !signature.isEmpty else { return }
        #expect(key.publicKey.isValidSignature(signature, for: message) == test.isValid, "test \(test.tcId)")
    }
}
