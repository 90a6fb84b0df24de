import Foundation
import TestSupport
import Testing
import TokenGeneration

/// Exchanges ML-DSA tokens and keys with `cryptography`, by `Tests/Interop/mldsa_peer.py`.
///
/// `AlgorithmInteropTests` exchanges them with jwcrypto.
@Suite(
    "Interoperability: ML-DSA",
    .enabled(if: Interop.isPrepared, Interop.hint),
    .enabled(if: JWSAlgorithm.implemented.contains(.mldsa65), "requires OpenSSL 3.5; run “bash Tests/Platforms/run”")
)
struct MLDSAInteropTests {
    private static let algorithms: [JWSAlgorithm] = [.mldsa44, .mldsa65, .mldsa87]
    private static let claims: JSONObject = ["sub": "Ünï 😀", "exp": 4_102_444_800, "list": [1, nil, true]]
    private static let password = "correct horse"

    @Test("The peer verifies our tokens, and signs with our keys in each format", arguments: algorithms)
    func ours(algorithm: JWSAlgorithm) async throws {
        let key = try SigningKey.generate(algorithm)
        let publicKey = key.verificationKey
        let token = try JWTGenerator(payload: Self.claims, signingService: key).token()
        let publicForms: [JSONValue] = [
            .jwk(publicKey.jwk), .pem(try publicKey.pem()), .octets(try publicKey.der()),
        ]
        for verdict in try await check(publicForms.map { (token, $0) }, algorithm) {
            #expect(verdict["accepted"] == true, "\(verdict["reason"]?.string ?? "")")
            #expect(verdict["claims"]?.object == Self.claims)
        }
        let encrypted = PrivateKeyFormat.encryptedPKCS8(password: Self.password)
        let privateForms: [JSONValue] = [
            .jwk(try key.privateJWK()), .pem(try key.pem()), .octets(try key.der()), .pem(try key.pem(encrypted)),
            .octets(try key.der(encrypted)),
        ]
        for token in try await make(privateForms, algorithm) {
            #expect(try JWTVerifier(key: publicKey).verify(token).claims == Self.claims)
        }
    }

    @Test(
        "Reads the peer's keys in each format of RFC 9881 and RFC 9964, and its tokens",
        .shows("RFC 9964"),
        arguments: algorithms
    )
    func theirs(algorithm: JWSAlgorithm) async throws {
        let (privateForms, publicForms) = try await forms(algorithm)
        let names = ["pkcs8 PEM", "pkcs8 DER", "encrypted PEM", "encrypted DER", "jwk", "both", "expanded"]
        let keys = try names.map { try signingKey(#require(privateForms[$0]), algorithm) }
        let publicKeys = try publicForms.map { try verificationKey($0.value, algorithm) }
        #expect(publicKeys.count == 3)
        #expect(Set((keys.map(\.verificationKey) + publicKeys).map(\.thumbprint)).count == 1)

        let publicForm = try #require(publicForms["spki PEM"])
        let tokens = try keys.map { try JWTGenerator(payload: Self.claims, signingService: $0).token() }
        for verdict in try await check(tokens.map { ($0, publicForm) }, algorithm) {
            #expect(verdict["accepted"] == true, "\(verdict["reason"]?.string ?? "")")
        }
        for token in try await make([#require(privateForms["pkcs8 PEM"])], algorithm) {
            for key in publicKeys { #expect(try JWTVerifier(key: key).verify(token).claims == Self.claims) }
        }
    }

    @Test("A key that was read in its expanded form stays in it, and isn't a JWK", arguments: algorithms)
    func expanded(algorithm: JWSAlgorithm) async throws {
        let (privateForms, _) = try await forms(algorithm)
        let text = try #require(privateForms["expanded"]?.object?["pem"]?.string)
        let key = try SigningKey(pem: text, algorithm: algorithm)
        #expect(try key.pem().filter { !$0.isWhitespace } == text.filter { !$0.isWhitespace })
        #expect(throws: TokenError(.unsupportedKey, "")) { try key.privateJWK() }
    }

    @Test("Rejects private keys in OpenSSL's own formats", arguments: algorithms)
    func otherFormats(algorithm: JWSAlgorithm) async throws {
        let (privateForms, _) = try await forms(algorithm)
        for name in ["bare seed", "bare expanded", "with public key"] {
            let form = try #require(privateForms[name])
            #expect(throws: TokenError(.malformedKey, ""), "\(name)") { try signingKey(form, algorithm) }
        }
    }

    @Test("Both sides reject each changed token", arguments: algorithms)
    func changes(algorithm: JWSAlgorithm) async throws {
        let key = try SigningKey.generate(algorithm)
        let other = try SigningKey.generate(algorithm)
        let tokens = try await [
            JWTGenerator(payload: Self.claims, signingService: key).token(),
            make([.jwk(key.privateJWK())], algorithm)[0],
        ]
        var changed = try await make([.jwk(key.privateJWK())], algorithm, context: "JWS")
        for token in tokens {
            let parts = token.split(separator: ".").map(String.init)
            let signature = try #require(SignedText.octets(Substring(parts[2])))
            for index in stride(from: 0, to: signature.count, by: 97) {
                var octets = signature
                octets[index] ^= 1
                changed.append("\(parts[0]).\(parts[1]).\(SignedText.base64URL(octets))")
            }
            for octets in [Data(), signature.dropLast(), signature + [0], Data(count: signature.count)] {
                changed.append("\(parts[0]).\(parts[1]).\(SignedText.base64URL(octets))")
            }
            let claims = SignedText.base64URL(Data(#"{"sub":"root","exp":4102444800}"#.utf8))
            changed.append("\(parts[0]).\(claims).\(parts[2])")
            let header = SignedText.base64URL(Data(#"{"alg":"\#(algorithm.rawValue)","kid":"1"}"#.utf8))
            changed.append("\(header).\(parts[1]).\(parts[2])")
        }
        let verifier = JWTVerifier(key: key.verificationKey)
        for (index, token) in changed.enumerated() {
            #expect(throws: TokenError(.signatureInvalid, ""), "\(index)") { try verifier.verify(token) }
        }
        for token in tokens {
            #expect(throws: TokenError(.signatureInvalid, "")) {
                try JWTVerifier(key: other.verificationKey).verify(token)
            }
        }
        let pairs = changed.map { ($0, JSONValue.jwk(key.verificationKey.jwk)) }
        let verdicts = try await check(pairs + tokens.map { ($0, .jwk(other.verificationKey.jwk)) }, algorithm)
        #expect(verdicts.map { $0["accepted"] } == verdicts.map { _ in false })
    }

    // MARK: The peer

    private func forms(_ algorithm: JWSAlgorithm) async throws -> (private: JSONObject, public: JSONObject) {
        let answer = try #require(await ask([["do": "forms", "alg": .string(algorithm.rawValue)]]).first)
        return (try #require(answer["private"]?.object), try #require(answer["public"]?.object))
    }

    private func check(_ pairs: [(String, JSONValue)], _ algorithm: JWSAlgorithm) async throws -> [JSONObject] {
        try await ask(
            pairs.map { ["do": "check", "alg": .string(algorithm.rawValue), "token": .string($0), "key": $1] }
        )
    }

    private func make(
        _ keys: [JSONValue],
        _ algorithm: JWSAlgorithm,
        context: String = ""
    ) async throws -> [String] {
        let requests: [JSONObject] = keys.map { key in
            [
                "do": "make", "alg": .string(algorithm.rawValue), "key": key, "claims": .object(Self.claims),
                "context": .string(context),
            ]
        }
        return try await ask(requests).map { try #require($0["token"]?.string) }
    }

    private func ask(_ requests: [JSONObject]) async throws -> [JSONObject] {
        let process = try await ChildProcess.run(
            Interop.required("INTEROP_PYTHON"),
            [Interop.file("mldsa_peer.py")],
            input: requests.map { $0.serialized() + "\n" }.joined()
        )
        try #require(process.status == 0, "The peer failed: \(process.errors.suffix(2000))")
        let answers = try process.output.split(separator: "\n").map { try JSONObject(parsing: String($0)) }
        try #require(answers.count == requests.count)
        return answers
    }

    // MARK: Keys

    private func signingKey(_ form: JSONValue, _ algorithm: JWSAlgorithm) throws -> SigningKey {
        let form = try #require(form.object)
        if let jwk = form["jwk"]?.object { return try SigningKey(jwk: JWK(jwk), algorithm: algorithm) }
        if let pem = form["pem"]?.string {
            return try SigningKey(pem: pem, password: Self.password, algorithm: algorithm)
        }
        let der = try #require(form["der"]?.string.flatMap { Data(base64Encoded: $0) })
        return try SigningKey(der: der, password: Self.password, algorithm: algorithm)
    }

    private func verificationKey(_ form: JSONValue, _ algorithm: JWSAlgorithm) throws -> VerificationKey {
        let form = try #require(form.object)
        if let jwk = form["jwk"]?.object { return try VerificationKey(jwk: JWK(jwk), algorithm: algorithm) }
        if let pem = form["pem"]?.string { return try VerificationKey(pem: pem, algorithm: algorithm) }
        let der = try #require(form["der"]?.string.flatMap { Data(base64Encoded: $0) })
        return try VerificationKey(der: der, algorithm: algorithm)
    }
}

extension JSONValue {
    /// Returns a key in a peer's format.
    fileprivate static func octets(_ der: Data) -> JSONValue { ["der": .string(der.base64EncodedString())] }
}
