import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("jwt dpop", .limitedConcurrency)
struct DPoPCommandTests {
    private let folder: TemporaryFolder
    private let key: String

    init() throws {
        folder = try TemporaryFolder()
        key = try folder.write(KeyFixtures.pkcs8, to: "key.pem")
    }

    @Test("Creates a proof that is valid only for its request and token")
    func proof() throws {
        let url = "https://api.example/orders?page=1"
        let result = try BuiltProgram.jwt.run(
            ["dpop", "GET", url, "-k", key, "--access-token-env", "T", "--nonce", "n", "--json"],
            environment: ["T": "access"]
        )
        #expect(result.errors == "")
        let object = try JSONObject(parsing: result.output)
        let thumbprint = try SigningKey(pem: KeyFixtures.pkcs8).verificationKey.thumbprint
        #expect(object["thumbprint"]?.string == thumbprint)
        let proof = try #require(object["proof"]?.string)
        let verifier = DPoPVerifier(replayCache: InMemoryReplayCache())
        let token = try DPoPAccessToken("access", thumbprint: thumbprint)
        let verified = try verifier.verifySkippingReplayCheck(
            proof,
            method: "GET",
            url: url,
            for: .resource(accessToken: token),
            nonce: .oneOf(["n"])
        )
        #expect(verified.url == "https://api.example/orders")
        #expect(throws: TokenError(.methodMismatch, "")) {
            try verifier.verifySkippingReplayCheck(
                proof,
                method: "POST",
                url: url,
                for: .resource(accessToken: token),
                nonce: .oneOf(["n"])
            )
        }
        let file = try folder.write("access\n", to: "token")
        let other = try BuiltProgram.jwt.run("dpop", "GET", url, "-k", key, "--access-token-file", file)
        let second = String(other.output.dropLast())
        #expect(throws: Never.self) {
            try verifier.verifySkippingReplayCheck(
                second,
                method: "GET",
                url: url,
                for: .resource(accessToken: token),
                nonce: .notRequired
            )
        }
        #expect(second != proof)
    }

    @Test("Rejects a secret")
    func secret() throws {
        let result = try BuiltProgram.jwt.run(
            ["dpop", "GET", "https://a/", "--key-env", "S", "--secret", "text", "--alg", "HS256"],
            environment: ["S": "0123456789abcdef0123456789abcdef"]
        )
        let message = "jwt dpop: HS256 isn't an algorithm for DPoP proofs; use a key pair\n"
        #expect(result == .failure(2, message))
    }
}
