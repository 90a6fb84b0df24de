import Foundation
import TestSupport
import Testing
import TokenGeneration

/// Access tokens at Debian's Dovecot, whose authentication service `Tests/Interop/dovecot` starts.
@Suite("Resource servers: Dovecot", .enabled(if: Interop.isPrepared, Interop.hint), .limitedConcurrency)
struct DovecotServerTests {
    private static let algorithms: [JWSAlgorithm] = [.rs256, .ps256, .es256, .es384, .edDSA]

    /// The keys by algorithm, in the folder that Dovecot reads.
    private static let keys = Result {
        var keys: [JWSAlgorithm: SigningKey] = [:]
        let folder = URL(filePath: try Interop.required("INTEROP_FOLDER")).appending(path: "dovecot-keys/default")
        for algorithm in algorithms {
            let key = try SigningKey.generate(algorithm).identified(by: "current")
            let file = folder.appending(path: algorithm.rawValue.uppercased()).appending(path: "current")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(key.verificationKey.pem().utf8).write(to: file)
            keys[algorithm] = key
        }
        return keys
    }

    private static func key(_ algorithm: JWSAlgorithm) throws -> SigningKey {
        try #require(try keys.get()[algorithm])
    }

    private static func token(_ key: SigningKey, type: String = "JWT", _ more: JSONObject = [:]) throws -> String {
        var claims: JSONObject = [
            "iss": "https://issuer.example", "sub": "alice", "aud": "https://api.example",
            "exp": .number(JSONNumber(Int(Date().timeIntervalSince1970) + 3600)),
        ]
        for member in more { claims[member.name] = member.value }
        return try JWTGenerator(header: ["typ": .string(type)], payload: claims, signingService: key).token()
    }

    /// Returns whether Dovecot accepts each token as Alice's.
    private func accepts(_ tokens: [String]) async throws -> [Bool] {
        let process = try await ChildProcess.run(
            Interop.required("INTEROP_PYTHON"),
            [Interop.file("dovecot_peer.py"), Interop.required("INTEROP_DOVECOT")],
            input: tokens.map { "alice \($0)\n" }.joined()
        )
        try #require(process.status == 0, "\(process.errors.suffix(2000))")
        let verdicts = process.output.split(separator: "\n")
        #expect(verdicts.allSatisfy { $0 == "OK" || $0 == "FAIL" })
        return verdicts.map { $0 == "OK" }
    }

    @Test("Dovecot accepts tokens of three algorithms", arguments: algorithms)
    func accepts(algorithm: JWSAlgorithm) async throws {
        let isAccepted = try await accepts([Self.token(Self.key(algorithm))]) == [true]
        #expect(isAccepted == [.rs256, .ps256, .es256].contains(algorithm))
        let result = isAccepted ? "passed" : algorithm == .es384 ? "server refuses" : "not offered"
        try InteropMatrix.recordTokens(algorithm, at: "dovecot", result)
    }

    @Test("Dovecot rejects another key, key ID, user, audience, issuer or algorithm, and any other time")
    func rejects() async throws {
        let key = try Self.key(.es256)
        let valid = try Self.token(key)
        let parts = valid.split(separator: ".").map(String.init)
        let other = try Self.token(key, ["jti": "2"]).split(separator: ".").map(String.init)
        let none = Data(#"{"alg":"none","typ":"JWT"}"#.utf8).base64EncodedString().replacing("=", with: "")
        let later = JSONValue.number(JSONNumber(Int(Date().timeIntervalSince1970) + 3000))
        let rejected = [
            try Self.token(.generate(.es256).identified(by: "current")), try Self.token(key.identified(by: "unknown")),
            "\(parts[0]).\(parts[1]).\(other[2])", "\(parts[0]).\(parts[1]).", "\(none).\(parts[1]).",
            try Self.token(key, ["sub": "bob"]), try Self.token(key, ["aud": "https://other.example"]),
            try Self.token(key, ["iss": "https://other.example"]), try Self.token(key, ["exp": 1_700_000_000]),
            try Self.token(key, ["nbf": later]),
        ]
        #expect(try await accepts([valid] + rejected) == [true] + rejected.map { _ in false })
    }

    @Test("Dovecot rejects the type of RFC 9068")
    func type() async throws {
        #expect(try await accepts([Self.token(Self.key(.es256), type: "at+jwt")]) == [false])
    }
}
