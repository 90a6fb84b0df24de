import Foundation
import FoundationNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// Access tokens at Apache with mod_auth_openidc, which `Tests/Interop/apache` starts.
@Suite("Resource servers: Apache", .enabled(if: Interop.isPrepared, Interop.hint), .limitedConcurrency)
struct ApacheServerTests {
    private static let algorithms: [JWSAlgorithm] = [.rs256, .ps256, .es256, .es384, .edDSA]

    /// The keys by algorithm, published where Apache gets them.
    private static let keys = Result {
        var keys: [JWSAlgorithm: SigningKey] = [:]
        for algorithm in algorithms { keys[algorithm] = try .generate(algorithm).identified(by: algorithm.rawValue) }
        let file = URL(filePath: try Interop.required("INTEROP_FOLDER")).appending(path: "files/access-token-keys.json")
        try JWKSet(keys: keys.values.map(\.verificationKey.jwk)).serializedData().write(to: file, options: .atomic)
        return keys
    }

    private static func claims(_ more: JSONObject = [:]) -> JSONObject {
        var claims: JSONObject = [
            "iss": "https://issuer.example", "sub": "alice", "aud": "https://api.example",
            "exp": .number(JSONNumber(Int(Date().timeIntervalSince1970) + 3600)),
        ]
        for member in more { claims[member.name] = member.value }
        return claims
    }

    private static func token(_ claims: JSONObject, _ key: SigningKey) throws -> String {
        try JWTGenerator(header: ["typ": "at+jwt"], payload: claims, signingService: key).token()
    }

    private static func key(_ algorithm: JWSAlgorithm) throws -> SigningKey {
        try #require(try keys.get()[algorithm])
    }

    /// Returns the status code of Apache's response to a token that an authenticator sends.
    private func status(_ token: String) async throws -> Int {
        let source = StaticTokenSource(AccessToken(value: Secret(token), requested: .now))
        let authenticator = OAuth2Authenticator(source: source, resources: .everyHTTPSOrigin)
        let client = NetworkClient(interceptors: [authenticator], options: .init(timeout: .seconds(120)))
        do {
            let url = try #require(URL(string: Interop.required("INTEROP_APACHE")))
            _ = try await client.makeRequest(URLRequest(url: url))
            return 200
        } catch let error as OAuth2Error {
            #expect(error.code == .reauthenticationRequired)
            return 401
        } catch let error as ServerError {
            return error.errorCode
        }
    }

    @Test("Apache accepts tokens of every algorithm that it supports", arguments: algorithms)
    func accepts(algorithm: JWSAlgorithm) async throws {
        let status = try await status(Self.token(Self.claims(), Self.key(algorithm)))
        #expect(status == (algorithm == .edDSA ? 401 : 200))
        let result = status == 200 ? "passed" : "not supported"
        try InteropMatrix.recordTokens(algorithm, at: "mod_auth_openidc", result)
    }

    @Test("Apache rejects another key, key ID, signature, audience or algorithm, and an expired token")
    func rejects() async throws {
        let key = try Self.key(.es256)
        #expect(try await status(Self.token(Self.claims(), key)) == 200)
        let valid = try Self.token(Self.claims(), key).split(separator: ".").map(String.init)
        let other = try Self.token(Self.claims(["sub": "bob"]), key).split(separator: ".").map(String.init)
        let none = Data(#"{"alg":"none"}"#.utf8).base64EncodedString().replacing("=", with: "")
        for rejected in [
            try Self.token(Self.claims(), .generate(.es256).identified(by: "ES256")),
            try Self.token(Self.claims(), key.identified(by: "unknown")),
            "\(valid[0]).\(valid[1]).\(other[2])", "\(valid[0]).\(valid[1]).", "\(none).\(valid[1]).",
            try Self.token(Self.claims(["aud": "https://other.example"]), key),
            try Self.token(Self.claims(["exp": 1_700_000_000]), key),
        ] {
            #expect(try await status(rejected) == 401)
        }
    }

    @Test("Apache accepts tokens without an expiration time, and before their time")
    func unchecked() async throws {
        let key = try Self.key(.es256)
        let later = JSONValue.number(JSONNumber(Int(Date().timeIntervalSince1970) + 3000))
        #expect(try await status(Self.token(Self.claims(["nbf": later]), key)) == 200)
        let endless: JSONObject = ["sub": "alice", "aud": "https://api.example"]
        #expect(try await status(Self.token(endless, key)) == 200)
    }
}
