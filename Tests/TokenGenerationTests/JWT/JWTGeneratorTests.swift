import Foundation
import TestSupport
import Testing
import TokenGeneration

/// A signing service that returns a fixed signature.
struct FixedSigningService: LocalSigningService {
    var algorithm = JWSAlgorithm.es256
    var keyID: String?
    var signature = [UInt8](repeating: 7, count: 64)

    func sign(data: Data) -> Data { Data(signature) }
}

private struct FailingSigningService: LocalSigningService {
    struct Unplugged: Error, Equatable {
        let slot: Int
    }

    let algorithm = JWSAlgorithm.es256

    func sign(data: Data) throws -> Data { throw Unplugged(slot: 3) }
}

private func parts(of token: String) -> [String] {
    token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
}

private func json(_ part: String) throws -> String {
    String(decoding: try Base64URL.decode(part), as: UTF8.self)
}

@Suite("JWTGenerator", .computing, .tags(.concurrency))
struct JWTGeneratorTests {
    @Test("A token has three parts, and the third signs the first two", .shows("3.33"))
    func shape() throws {
        struct CustomContent: JWTContent {
            let header: [String: Any] = ["alg": "ES256", "x": 1]
            let payload: [String: Any] = ["iss": "a", "count": 5, "isAdmin": true]
        }
        let contents: [any JWTContent] = [
            JWTRepresentation(header: ["typ": "JWT"], payload: ["iss": "a"]),
            JWTRepresentation(header: ["typ": "JWT", "n": 3], payload: ["iss": "a", "count": 5, "isAdmin": true]),
            CustomContent(),
        ]
        let service = try ES256SigningService.generate()
        for content in contents {
            let token = try JWTGenerator(jwtRepresentation: content, signingService: service).token()
            let parts = parts(of: token)
            #expect(parts.count == 3)
            let input = Array((parts[0] + "." + parts[1]).utf8)
            #expect(try service.verificationKey.isValid(Base64URL.decode(parts[2]), for: input))
            #expect(try JSONObject(parsing: json(parts[1]))["iss"] == "a")
            #expect(try JSONObject(parsing: json(parts[0]))["alg"] == "ES256")
        }
    }

    @Test("Creates the published header and payload, byte for byte", .shows("3.30"))
    func shapeVector() throws {
        let content = JWTRepresentation(header: ["typ": "JWT", "alg": "ES256"], payload: ["sub": "b", "iss": "a"])
        let token = try JWTGenerator(jwtRepresentation: content, signingService: FixedSigningService()).token()
        #expect(
            parts(of: token).dropLast() == ["eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9", "eyJpc3MiOiJhIiwic3ViIjoiYiJ9"]
        )
    }

    @Test("Equal content gives equal signing inputs, with sorted members and unescaped slashes", .shows("3.30"))
    func deterministic() throws {
        let payload: [String: Any] = ["url": "https://x/y", "b": 1, "a": ["z": 1, "é": 2, "A": 3]]
        let content = JWTRepresentation(header: [:], payload: payload)
        let generator = JWTGenerator(jwtRepresentation: content, signingService: FixedSigningService())
        let token = try generator.token()
        #expect(try json(parts(of: token)[1]) == #"{"a":{"A":3,"z":1,"é":2},"b":1,"url":"https://x/y"}"#)
        #expect(try json(parts(of: token)[0]) == #"{"alg":"ES256"}"#)
        for _ in 0..<20 {
            let again = JWTGenerator(jwtRepresentation: content, signingService: FixedSigningService())
            #expect(try again.token() == token)
        }
    }

    @Test("Each call signs again", .shows("3.29"))
    func signsAgain() throws {
        let service = try ES256SigningService.generate()
        let generator = JWTGenerator(payload: ["exp": 4_000_000_000], signingService: service)
        let tokens = Set(try (0..<5).map { _ in try generator.token() })
        #expect(tokens.count == 5)
        for token in tokens { _ = try JWTVerifier(key: service.verificationKey).verify(token) }
    }

    @Test("Writes the service's alg and kid, and typ only with the typed initializers")
    func header() throws {
        let service = FixedSigningService(keyID: "k/1")
        let representation = JWTRepresentation(header: [:], payload: [:])
        let ways: [(JWTGenerator, String)] = [
            (JWTGenerator(jwtRepresentation: representation, signingService: service), #"{"alg":"ES256","kid":"k/1"}"#),
            (JWTGenerator(payload: [:], signingService: service), #"{"alg":"ES256","kid":"k/1","typ":"JWT"}"#),
            (
                JWTGenerator(header: ["typ": "at+jwt"], payload: [:], signingService: service),
                #"{"alg":"ES256","kid":"k/1","typ":"at+jwt"}"#
            ),
            (
                JWTGenerator(header: ["cty": "x"], claims: RegisteredClaims(), signingService: service),
                #"{"alg":"ES256","cty":"x","kid":"k/1","typ":"JWT"}"#
            ),
        ]
        for (generator, expected) in ways { #expect(try json(parts(of: generator.token())[0]) == expected) }
    }

    @Test(
        "Rejects a header that contradicts the service",
        .shows("3.31"),
        arguments: [
            ["alg": "RS256"], ["alg": "none"], ["alg": "es256"], ["alg": 1], ["alg": nil], ["alg": ["ES256"]],
            ["kid": "other"], ["kid": nil], ["kid": "\u{212A}1"],
        ] as [JSONObject]
    )
    func contradiction(header: JSONObject) {
        let service = FixedSigningService(keyID: "K1")
        let generator = JWTGenerator(header: header, payload: [:], signingService: service)
        #expect(code { try generator.token() } == .algorithmMismatch)
    }

    @Test("Accepts a consistent header, and the caller's kid if the service has none")
    func agreement() throws {
        let service = FixedSigningService(keyID: "K1")
        #expect(
            try !JWTGenerator(header: ["alg": "ES256", "kid": "K1"], payload: [:], signingService: service).token()
                .isEmpty
        )
        let token = try JWTGenerator(header: ["kid": "mine"], payload: [:], signingService: FixedSigningService())
            .token()
        #expect(try JSONObject(parsing: json(parts(of: token)[0]))["kid"] == "mine")
    }

    @Test(
        "Rejects a header with an extension or wrong types",
        arguments: [
            (["crit": ["exp"], "exp": 1], .criticalHeaderUnsupported), (["crit": []], .criticalHeaderUnsupported),
            (["b64": false], .criticalHeaderUnsupported), (["typ": 1], .unencodableContent),
            (["kid": 1], .unencodableContent),
        ] as [(JSONObject, TokenError.Code)]
    )
    func unusableHeader(header: JSONObject, expected: TokenError.Code) {
        let generator = JWTGenerator(header: header, payload: [:], signingService: FixedSigningService())
        #expect(code { try generator.token() } == expected)
    }

    @Test("Writes a service's custom algorithm name unchanged")
    func customAlgorithm() throws {
        let algorithm = try #require(JWSAlgorithm(rawValue: "X-CUSTOM"))
        let service = FixedSigningService(algorithm: algorithm, signature: [1, 2, 3])
        let parts = try parts(of: JWTGenerator(payload: [:], signingService: service).token())
        #expect(try json(parts[0]) == #"{"alg":"X-CUSTOM","typ":"JWT"}"#)
        #expect(parts[2] == "AQID")
    }

    @Test("Passes a service's error on unchanged")
    func serviceError() {
        #expect(throws: FailingSigningService.Unplugged(slot: 3)) {
            try JWTGenerator(payload: [:], signingService: FailingSigningService()).token()
        }
    }

    @Test("Rejects a result that can't be a signature of the algorithm", arguments: [0, 1, 32, 63, 65, 72, 128])
    func wrongLength(count: Int) throws {
        let service = FixedSigningService(signature: [UInt8](repeating: 7, count: count))
        #expect(code { try JWTGenerator(payload: [:], signingService: service).token() } == .signingFailed)
    }

    @Test("The error for a DER signature explains the required form")
    func derSignature() throws {
        let service = FixedSigningService(signature: [0x30, 0x45, 0x02, 0x20] + [UInt8](repeating: 1, count: 67))
        let refusal = try #require(error { try JWTGenerator(payload: [:], signingService: service).token() })
        #expect(refusal.code == .signingFailed)
        #expect(refusal.message.contains("DER") && refusal.message.contains("r ‖ s") && refusal.message.contains("32"))
        let raw = FixedSigningService(signature: [UInt8](repeating: 1, count: 64))
        #expect(try parts(of: JWTGenerator(payload: [:], signingService: raw).token())[2].utf8.count == 86)
    }

    @Test("The service's own sign(data:) returns what the generator uses: 64 bytes that verify")
    func serviceAlone() throws {
        let service = try ES256SigningService.generate()
        let input = Base64URL.encode(Array(#"{"alg":"ES256"}"#.utf8)) + "." + Base64URL.encode(Array(#"{"a":1}"#.utf8))
        let signature = try service.sign(data: Data(input.utf8))
        #expect(signature.count == 64)
        let verifier = JWTVerifier(key: service.verificationKey, policy: ValidationPolicy(expiration: .optional))
        #expect(try verifier.verify(input + "." + Base64URL.encode(Array(signature))).claims == ["a": 1])
    }

    @Test("Many tasks can use one generator and one verifier concurrently")
    func concurrency() async throws {
        let service = try ES256SigningService.generate()
        let generator = JWTGenerator(payload: ["exp": 4_000_000_000, "a": "b"], signingService: service)
        let verifier = JWTVerifier(key: service.verificationKey)
        let verified = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    try (0..<10).allSatisfy { _ in try verifier.verify(generator.token()).claims["a"] == "b" }
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(verified == 16)
    }
}
