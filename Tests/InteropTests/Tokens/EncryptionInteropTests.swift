import Foundation
import Testing
import TokenGeneration

/// Exchanges encrypted tokens of every algorithm with the libraries in `Tests/Interop/jwe_peer.py`.
@Suite("Interoperability: encryption", .enabled(if: Interop.isPrepared, Interop.hint))
struct EncryptionInteropTests {
    private static let content = "Ünï 😀"
    private static let password = "correct horse"

    /// The algorithms that the pinned versions don't support.
    private static let unsupported: Set<JWEAlgorithm> = [.rsaOAEP384, .rsaOAEP512]

    private static var cases: [(Peer, JWEAlgorithm)] {
        [Peer.joserfc, .jwcrypto].flatMap { peer in
            JWEAlgorithm.implemented.filter { !unsupported.contains($0) }.map { (peer, $0) }
        }
    }

    @Test("Exchanges tokens in both directions, with every content encryption and curve", arguments: cases)
    func exchange(peer: Peer, algorithm: JWEAlgorithm) async throws {
        var keys: [(DecryptionKey, JWEEncryption)] = []
        var requests: [JSONObject] = []
        for encryption in JWEEncryption.implemented {
            for key in try self.keys(algorithm, encryption) {
                let recipient = try encryptionKey(key)
                let generator = JWEGenerator(
                    plaintext: Data(Self.content.utf8),
                    encryption: encryption,
                    additionalData: Data("additional".utf8),
                    recipients: [JWERecipient(key: recipient)]
                )
                let request: JSONObject = [
                    "alg": .string(algorithm.rawValue), "enc": .string(encryption.rawValue), "key": try form(of: key),
                ]
                var decryptions = [request, request]
                let compact = try recipient.encrypt(Data(Self.content.utf8), encryption: encryption)
                decryptions[0]["token"] = .string(compact)
                decryptions[1]["token"] = .object(try generator.generalJSON())
                for index in decryptions.indices { decryptions[index]["do"] = "decrypt" }
                var encryptionRequest = request
                encryptionRequest["do"] = "encrypt"
                encryptionRequest["content"] = .string(Self.content)
                requests += decryptions + [encryptionRequest]
                keys.append((key, encryption))
            }
        }
        let answers = try await ask(peer, requests)
        for (index, (key, encryption)) in keys.enumerated() {
            #expect(answers[3 * index]["content"]?.string == Self.content)
            #expect(answers[3 * index + 1]["content"]?.string == Self.content)
            let token = try #require(answers[3 * index + 2]["token"]?.string)
            let policy = DecryptionPolicy(
                algorithms: [algorithm],
                encryptions: [encryption],
                maximumPasswordIterations: 1_200_000
            )
            let jwe = try JWEDecrypter(key: key, policy: policy).decrypt(compact: token)
            #expect(jwe.plaintext == Data(Self.content.utf8))
        }
    }

    private func keys(_ algorithm: JWEAlgorithm, _ encryption: JWEEncryption) throws -> [DecryptionKey] {
        if algorithm.rawValue.hasPrefix("PBES2") {
            return [try DecryptionKey(password: EncryptionPassword(Self.password), algorithm: algorithm)]
        }
        let curves: [KeyAgreementCurve] =
            algorithm.rawValue.hasPrefix("ECDH") ? [.p256, .p384, .p521, .x25519, .x448] : [.p256]
        return try curves.map { try DecryptionKey.generate(algorithm, on: $0, encryption: encryption) }
    }

    private func encryptionKey(_ key: DecryptionKey) throws -> EncryptionKey {
        guard key.algorithm.rawValue.hasPrefix("PBES2") else { return key.encryptionKey }
        // The peers reject the recommended number of iterations.
        return try EncryptionKey(
            password: EncryptionPassword(Self.password),
            algorithm: key.algorithm,
            iterations: 2_048
        )
    }

    private func form(of key: DecryptionKey) throws -> JSONValue {
        if key.algorithm.rawValue.hasPrefix("PBES2") { return ["password": .string(Self.password)] }
        return ["jwk": .object(try key.privateJWK().members)]
    }

    private func ask(_ peer: Peer, _ requests: [JSONObject]) async throws -> [JSONObject] {
        let process = try await ChildProcess.run(
            Interop.required("INTEROP_PYTHON"),
            [Interop.file("jwe_peer.py"), peer.rawValue],
            input: requests.map { $0.serialized() + "\n" }.joined()
        )
        try #require(process.status == 0, "\(peer) failed: \(process.errors.suffix(2000))")
        let answers = try process.output.split(separator: "\n").map { try JSONObject(parsing: String($0)) }
        try #require(answers.count == requests.count)
        return answers
    }
}
