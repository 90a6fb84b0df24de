import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Known headers of a verifier", .computing, .tags(.concurrency)) struct KnownHeaderTests {
    private static func changed(_ token: String) -> String {
        // The first character of the signature, because all of its bits count.
        var parts = token.split(separator: ".").map(String.init)
        parts[2] = (parts[2].hasPrefix("A") ? "B" : "A") + parts[2].dropFirst()
        return parts.joined(separator: ".")
    }

    @Test("Verifies the signature again for a known header", .shows("C14"))
    func forged() throws {
        let verifier = try Fixture.verifier()
        let token = try Fixture.token()
        for _ in 0..<3 {
            #expect(throws: Never.self) { try verifier.verify(token) }
            #expect(code { try verifier.verify(Self.changed(token)) } == .signatureInvalid)
        }
        let other = try Fixture.token(payload: #"{"exp":1700000100,"sub":"other"}"#)
        let parts = [token, other].map { $0.split(separator: ".").map(String.init) }
        let mixed = "\(parts[0][0]).\(parts[1][1]).\(parts[0][2])"
        #expect(code { try verifier.verify(mixed) } == .signatureInvalid)
        #expect(try verifier.verify(other).registered.subject == "other")
    }

    @Test("Parses more headers than the verifier keeps")
    func many() throws {
        let verifier = try Fixture.verifier()
        let tokens = try (0..<12).map { number in
            try Fixture.token(header: #"{"alg":"ES256","kid":"\#(number)"}"#)
        }
        for _ in 0..<3 {
            for (number, token) in tokens.enumerated() {
                #expect(try verifier.verify(token).header["kid"] == .string("\(number)"))
            }
        }
    }

    @Test("A header with a known header as prefix, or vice versa, is a different header", .shows("C14"))
    func prefixes() throws {
        let verifier = try Fixture.verifier()
        let headers = [#"{"alg":"ES256","a":1}"#, #"{"alg":"ES256","a":1} "#, #"{"alg":"ES256","a":1}  "#]
        for header in headers + headers {
            #expect(try verifier.verify(Fixture.token(header: header)).header["a"] == 1)
        }
        #expect(code { try verifier.verify(Fixture.token(header: #"{"alg":"ES256","a":1"#)) } == .malformedToken)
        #expect(code { try verifier.verify(Fixture.token(header: #"{"alg":"ES256","a":1}}"#)) } == .malformedToken)
    }

    @Test("Rejects a bad header every time")
    func refused() throws {
        let verifier = try Fixture.verifier(ValidationPolicy(type: "at+jwt"))
        for _ in 0..<3 {
            #expect(code { try verifier.verify(Fixture.token()) } == .typeMismatch)
            let critical = try Fixture.token(header: #"{"alg":"ES256","crit":["x"],"x":1}"#)
            #expect(code { try verifier.verify(critical) } == .criticalHeaderUnsupported)
            let other = try Fixture.token(header: #"{"alg":"ES384"}"#)
            #expect(code { try verifier.verify(other) } == .algorithmMismatch)
            #expect(throws: Never.self) {
                try verifier.verify(Fixture.token(header: #"{"alg":"ES256","typ":"at+jwt"}"#))
            }
        }
    }

    @Test("Many tasks share one verifier")
    func tasks() async throws {
        let verifier = try Fixture.verifier()
        let tokens = try (0..<8).map { try Fixture.token(header: #"{"alg":"ES256","kid":"\#($0)"}"#) }
        let failures = await withTaskGroup(of: Int.self) { group in
            for task in 0..<16 {
                group.addTask {
                    var failures = 0
                    for round in 0..<8 {
                        let number = (task + round) % tokens.count
                        let found = try? verifier.verify(tokens[number])
                        if found?.header["kid"] != .string("\(number)") { failures += 1 }
                        if (try? verifier.verify(Self.changed(tokens[number]))) != nil { failures += 1 }
                    }
                    return failures
                }
            }
            return await group.reduce(0, +)
        }
        #expect(failures == 0)
    }
}

@Suite("Prepared headers of a service", .computing, .tags(.concurrency)) struct PreparedHeaderTests {
    /// A custom service without a prepared header.
    private struct Other: LocalSigningService {
        let service: SigningKey
        var algorithm: JWSAlgorithm { service.algorithm }
        var keyID: String? { service.keyID }
        func sign(data: Data) throws -> Data { try service.sign(data: data) }
    }

    @Test(
        "A prepared header equals a header for a single token",
        arguments: [nil, "1", "", "a \"quoted\" \\ key", "käse", "long " + String(repeating: "x", count: 300)]
    )
    func equal(keyID: String?) throws {
        let service = try Fixture.signingKey().identified(by: keyID)
        let generators = [
            JWTGenerator(payload: ["a": 1], signingService: service),
            JWTGenerator(header: ["typ": "JWT"], payload: ["a": 1], signingService: service),
            JWTGenerator(payload: ["a": 1], signingService: Other(service: service)),
            JWTGenerator(
                payload: ["a": 1],
                signingService: try ES256SigningService(key: Fixture.signingKey(), keyID: keyID)
            ),
        ]
        let headers = try generators.map { try $0.token().split(separator: ".")[0] }
        #expect(Set(headers).count == 1)
        let header = try JSONObject(parsing: Data(Base64URL.decode(String(headers[0]))))
        var expected: JSONObject = ["alg": "ES256", "typ": "JWT"]
        if let id = service.keyID { expected["kid"] = .string(id) }
        #expect(header == expected)
        #expect(header["kid"]?.string == keyID)
    }

    @Test("Doesn't add a type to the header of a dictionary")
    func dictionaries() throws {
        let service = try Fixture.signingKey()
        let content = JWTRepresentation(header: [:], payload: ["exp": 1_700_000_100])
        let token = try JWTGenerator(jwtRepresentation: content, signingService: service).token()
        #expect(try Fixture.verifier().verify(token).header == ["alg": "ES256"])
    }
}
