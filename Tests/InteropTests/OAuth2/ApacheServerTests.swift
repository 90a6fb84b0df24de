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
    fileprivate static let algorithms: [JWSAlgorithm] = [.rs256, .ps256, .es256, .es384, .edDSA]

    /// The keys by algorithm, published where Apache gets them.
    fileprivate static let keys = Result {
        var keys: [JWSAlgorithm: SigningKey] = [:]
        for algorithm in algorithms { keys[algorithm] = try .generate(algorithm).identified(by: algorithm.rawValue) }
        let file = URL(filePath: try Interop.required("INTEROP_FOLDER")).appending(path: "files/access-token-keys.json")
        try JWKSet(keys: keys.values.map(\.verificationKey.jwk)).serializedData().write(to: file, options: .atomic)
        return keys
    }

    fileprivate static func claims(_ more: JSONObject = [:]) -> JSONObject {
        var claims: JSONObject = [
            "iss": "https://issuer.example", "sub": "alice", "aud": "https://api.example",
            "exp": .number(JSONNumber(Int(Date().timeIntervalSince1970) + 3600)),
        ]
        for member in more { claims[member.name] = member.value }
        return claims
    }

    fileprivate static func token(_ claims: JSONObject, _ key: SigningKey) throws -> String {
        try JWTGenerator(header: ["typ": "at+jwt"], payload: claims, signingService: key).token()
    }

    fileprivate static func key(_ algorithm: JWSAlgorithm) throws -> SigningKey {
        try #require(try keys.get()[algorithm])
    }

    @Test("Apache accepts tokens of every algorithm that it supports", arguments: algorithms)
    func accepts(algorithm: JWSAlgorithm) async throws {
        let status = try await Self.status(Self.token(Self.claims(), Self.key(algorithm)))
        #expect(status == (algorithm == .edDSA ? 401 : 200))
        let result = status == 200 ? "passed" : "not offered"
        try InteropMatrix.recordTokens(algorithm, at: "mod_auth_openidc", result)
    }

    @Test("Apache rejects another key, key ID, signature, audience or algorithm, and an expired token")
    func rejects() async throws {
        let key = try Self.key(.es256)
        #expect(try await Self.status(Self.token(Self.claims(), key)) == 200)
        for rejected in try Self.rejected() {
            #expect(try await Self.status(rejected) == 401)
        }
    }

    @Test("Apache accepts tokens without an expiration time, and before their time")
    func unchecked() async throws {
        let key = try Self.key(.es256)
        let later = JSONValue.number(JSONNumber(Int(Date().timeIntervalSince1970) + 3000))
        #expect(try await Self.status(Self.token(Self.claims(["nbf": later]), key)) == 200)
        let endless: JSONObject = ["sub": "alice", "aud": "https://api.example"]
        #expect(try await Self.status(Self.token(endless, key)) == 200)
    }
}

extension ApacheServerTests {
    /// Returns tokens that every resource server rejects.
    fileprivate static func rejected() throws -> [String] {
        let key = try key(.es256)
        let valid = try Self.token(Self.claims(), key).split(separator: ".").map(String.init)
        let other = try Self.token(Self.claims(["sub": "bob"]), key).split(separator: ".").map(String.init)
        let none = Data(#"{"alg":"none"}"#.utf8).base64EncodedString().replacing("=", with: "")
        return [
            try Self.token(Self.claims(), .generate(.es256).identified(by: "ES256")),
            try Self.token(Self.claims(), key.identified(by: "unknown")),
            "\(valid[0]).\(valid[1]).\(other[2])", "\(valid[0]).\(valid[1]).", "\(none).\(valid[1]).",
            try Self.token(Self.claims(["aud": "https://other.example"]), key),
            try Self.token(Self.claims(["exp": 1_700_000_000]), key),
        ]
    }

    /// Returns the status code of Apache's response to a token that an authenticator sends.
    fileprivate static func status(
        _ token: String,
        at path: String = "",
        boundTo generator: DPoPProofGenerator? = nil
    ) async throws -> Int {
        let type = generator == nil ? "Bearer" : "DPoP"
        let source = StaticTokenSource(
            AccessToken(value: Secret(token), type: type, requested: .now, proofGenerator: generator)
        )
        let authenticator = OAuth2Authenticator(source: source, resources: .everyHTTPSOrigin)
        let client = NetworkClient(interceptors: [authenticator], options: .init(timeout: .seconds(120)))
        do {
            let url = try #require(URL(string: Interop.required("INTEROP_APACHE") + path))
            _ = try await client.makeRequest(URLRequest(url: url))
            return 200
        } catch let error as OAuth2Error {
            #expect(error.code == .reauthenticationRequired)
            return 401
        } catch let error as ServerError {
            return error.errorCode
        }
    }
}

/// Access tokens at the same Apache with mod_oauth2, as bearer tokens and bound to a key.
@Suite("Resource servers: Apache with mod_oauth2", .enabled(if: Interop.isPrepared, Interop.hint), .limitedConcurrency)
struct ModOAuthServerTests {
    @Test("mod_oauth2 accepts tokens of every algorithm that it supports", arguments: ApacheServerTests.algorithms)
    func accepts(algorithm: JWSAlgorithm) async throws {
        let token = try ApacheServerTests.token(ApacheServerTests.claims(), ApacheServerTests.key(algorithm))
        let status = try await ApacheServerTests.status(token, at: "/bearer")
        #expect(status == (algorithm == .edDSA ? 401 : 200))
        let result = status == 200 ? "passed" : "not offered"
        try InteropMatrix.recordTokens(algorithm, at: "mod_oauth2", result)
    }

    @Test("mod_oauth2 rejects another key, key ID, signature, audience or algorithm, and an expired token")
    func rejects() async throws {
        for rejected in try ApacheServerTests.rejected() {
            #expect(try await ApacheServerTests.status(rejected, at: "/bearer") == 401)
        }
    }

    @Test("mod_oauth2 accepts tokens without an expiration time, before their time, and bound tokens as bearer tokens")
    func unchecked() async throws {
        let key = try ApacheServerTests.key(.es256)
        let later = JSONValue.number(JSONNumber(Int(Date().timeIntervalSince1970) + 3000))
        let endless: JSONObject = ["sub": "alice", "aud": "https://api.example"]
        let bound = ApacheServerTests.claims(["cnf": ["jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"]])
        for claims in [ApacheServerTests.claims(["nbf": later]), endless, bound] {
            #expect(try await ApacheServerTests.status(ApacheServerTests.token(claims, key), at: "/bearer") == 200)
        }
    }

    @Test("mod_oauth2 verifies the library's DPoP proofs", arguments: ApacheServerTests.algorithms)
    func proofs(algorithm: JWSAlgorithm) async throws {
        let generator = try DPoPProofGenerator(key: .generate(algorithm))
        let status = try await ApacheServerTests.status(Self.token(generator), at: "/dpop", boundTo: generator)
        #expect(status == (algorithm == .edDSA ? 401 : 200))
    }

    @Test("mod_oauth2 rejects invalid DPoP proofs, but doesn't check the token in them")
    func invalidProofs() async throws {
        let url = try Interop.required("INTEROP_APACHE") + "/dpop"
        let generator = try DPoPProofGenerator(key: .generate(.es256))
        let token = try Self.token(generator)
        func proof(_ method: String = "GET", _ url: String = url, _ token: String? = token) throws -> String {
            try generator.proof(method: method, url: url, accessToken: token)
        }
        let used = try proof()
        #expect(try await status(token, used) == 200)
        let other = try DPoPProofGenerator(key: .generate(.es256))
            .proof(method: "GET", url: url, accessToken: token)
        let forged = try proof().split(separator: ".").dropLast() + used.split(separator: ".").suffix(1)
        for rejected in [
            used, nil, other, forged.joined(separator: "."), try proof("POST"), try proof("GET", url + "/other"),
        ] {
            #expect(try await status(token, rejected) == 401)
        }
        let unbound = try ApacheServerTests.token(ApacheServerTests.claims(), ApacheServerTests.key(.es256))
        #expect(try await status(unbound, proof("GET", url, unbound)) == 401)
        #expect(try await status(token, proof(), scheme: "Bearer") == 401)
        // RFC 9449 §4.3 requires the check of `ath`.
        for accepted in [try proof("GET", url, nil), try proof("GET", url, unbound)] {
            #expect(try await status(token, accepted) == 200)
        }
    }

    private static func token(_ generator: DPoPProofGenerator) throws -> String {
        let claims = ApacheServerTests.claims(["cnf": ["jkt": .string(generator.thumbprint)]])
        return try ApacheServerTests.token(claims, ApacheServerTests.key(.es256))
    }

    /// Returns the status code of the response to a token with a proof.
    private func status(_ token: String, _ proof: String?, scheme: String = "DPoP") async throws -> Int {
        var request = URLRequest(url: try #require(URL(string: Interop.required("INTEROP_APACHE") + "/dpop")))
        request.setValue("\(scheme) \(token)", forHTTPHeaderField: "Authorization")
        request.setValue(proof, forHTTPHeaderField: "DPoP")
        do {
            _ = try await NetworkClient(options: .init(timeout: .seconds(120))).makeRequest(request)
            return 200
        } catch let error as ServerError {
            return error.errorCode
        }
    }
}
