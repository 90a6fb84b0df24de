import TestSupport
import Testing
import TokenGeneration

@Suite("JWS algorithms", .computing)
struct JWSAlgorithmTests {
    @Test(
        "Keeps any registered or private name unchanged",
        arguments: ["ES256", "RS256", "identity", "urn:x:y/1", "A"]
    )
    func names(name: String) throws {
        let algorithm = try #require(JWSAlgorithm(rawValue: name))
        #expect(algorithm.rawValue == name)
        #expect(algorithm.description == name)
    }

    @Test(
        "Rejects “none” in any case, and invalid names",
        .shows("A4"),
        arguments: [
            "none", "None", "NONE", "nOnE", "", " none", "none ", "a b", "a\"b", "a\\b", "a\nb", "ES256\u{0}",
            "ES256\u{212A}", "é", String(repeating: "a", count: 65),
        ]
    )
    func refused(name: String) {
        #expect(JWSAlgorithm(rawValue: name) == nil)
    }

    @Test("Names are case-sensitive", .shows("RFC 8725bis §3.1 (names)"))
    func caseSensitive() {
        #expect(JWSAlgorithm(rawValue: "es256") != .es256)
        #expect(JWSAlgorithm(rawValue: "ES256") == .es256)
    }

    @Test("Rejects generating a key for an unsupported algorithm", arguments: ["SLH-DSA-SHA2-128s", "es256", "dir"])
    func unsupported(name: String) throws {
        let algorithm = try #require(JWSAlgorithm(rawValue: name))
        let refusal = try #require(error { try SigningKey.generate(algorithm) })
        #expect(refusal.code == .unsupportedAlgorithm)
        #expect(refusal.message.contains("ES256"))
    }
}
