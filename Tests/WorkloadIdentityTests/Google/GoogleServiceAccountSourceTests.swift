import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration
import WorkloadIdentity

@Suite("GoogleServiceAccountSource", .serialized)
struct GoogleServiceAccountSourceTests {
    private static let email = "reports@p.iam.gserviceaccount.com"

    private let time = ManualTime(advancesWhenSleeping: true)
    private let folder: TokenFolder
    private let key: SigningKey

    init() throws {
        folder = try TokenFolder()
        key = try SigningKey.generate(.rs256)
    }

    private var environment: WorkloadEnvironment {
        WorkloadEnvironment(
            variable: { [path = folder.path] in ["GOOGLE_APPLICATION_CREDENTIALS": path][$0] },
            timeSource: time.timeSource,
            transport: MockTransport(steps: [], time: time.timeSource, handler: nil)
        )
    }

    private func write(_ changes: [String: JSONValue?] = [:], key: SigningKey? = nil) throws {
        var file: JSONObject = [
            "type": "service_account", "client_email": .string(Self.email), "private_key_id": "1",
            "private_key": .string(try (key ?? self.key).pem()), "token_uri": "https://evil.example/token",
        ]
        for (name, value) in changes { file[name] = value }
        try folder.write(String(decoding: file.serializedData(), as: UTF8.self))
    }

    @Test("Signs a token for scopes or an audience, for an hour, without a request")
    func signed() async throws {
        try write()
        let cases: [(GoogleServiceAccountSource, String, JSONValue)] = [
            (
                try GoogleServiceAccountSource(environment: environment), "scope",
                "https://www.googleapis.com/auth/cloud-platform"
            ),
            (try GoogleServiceAccountSource(scopes: ["a", "b"], environment: environment), "scope", "a b"),
            (
                try GoogleServiceAccountSource(audience: "https://a.googleapis.com/", environment: environment), "aud",
                "https://a.googleapis.com/"
            ),
        ]
        for (source, name, value) in cases {
            let token = try await source.token()
            #expect(token.type == "Bearer")
            #expect(token.expiry == time.now + .seconds(3_600))
            let parsed = try UnverifiedToken(text(token))
            #expect(parsed.unverifiedHeader == ["alg": "RS256", "kid": "1", "typ": "JWT"])
            #expect(
                parsed.unverifiedClaims == [
                    "iss": .string(Self.email), "sub": .string(Self.email), name: value, "iat": 1_000_000_000,
                    "exp": 1_000_003_600,
                ]
            )
            let verifier = JWSVerifier(key: key.verificationKey)
            #expect(throws: Never.self) { try verifier.verify(compact: text(token)) }
        }
    }

    @Test("A replaced file takes effect with the next token")
    func replaced() async throws {
        try write()
        let source = try GoogleServiceAccountSource(environment: environment)
        _ = try await source.token()
        try write(["private_key_id": "2"])
        #expect(try UnverifiedToken(text(try await source.token())).unverifiedHeader["kid"] == "2")
    }

    @Test("A rejected token isn't returned again within its second")
    func unwanted() async throws {
        try write()
        let source = try GoogleServiceAccountSource(environment: environment)
        let token = try await source.token()
        #expect(await failure(of: source, .replacing(token))?.code == .rejectedToken)
        time.advance(by: .seconds(1))
        #expect(text(try await source.token(for: .replacing(token))) != text(token))
    }

    @Test("Refuses other files and keys, without disclosing the key")
    func refusals() throws {
        let other = try SigningKey.generate(.es256).pem()
        let changes: [[String: JSONValue?]] = [
            ["type": "external_account"], ["type": "authorized_user"], ["type": nil], ["client_email": nil],
            ["client_email": ""], ["private_key_id": nil], ["private_key": nil], ["private_key": "S3cr3t"],
            ["private_key": .string(other)],
        ]
        for change in changes {
            try write(change)
            let error = #expect(throws: WorkloadIdentityError.self) {
                try GoogleServiceAccountSource(environment: environment)
            }
            #expect(error?.code == .invalidConfiguration)
            #expect(error?.message.contains("GOOGLE_APPLICATION_CREDENTIALS") == true)
            #expect(error?.description.contains("S3cr3t") == false)
            #expect(error?.description.contains("PRIVATE") == false)
        }
        let missing = #expect(throws: WorkloadIdentityError.self) {
            try GoogleServiceAccountSource(environment: WorkloadEnvironment(variable: { _ in nil }))
        }
        #expect(missing?.code == .notConfigured)
        try write()
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: folder.path)
        let insecure = #expect(throws: WorkloadIdentityError.self) {
            try GoogleServiceAccountSource(environment: environment)
        }
        #expect(insecure?.code == .insecureFile)
    }

    @Test("Descriptions don't disclose the key")
    func secrecy() throws {
        try write()
        let source = try GoogleServiceAccountSource(environment: environment)
        var dumped = ""
        dump(source, to: &dumped)
        #expect(!dumped.contains("PRIVATE KEY"))
        #expect(!String(reflecting: source).contains("PRIVATE KEY"))
    }
}
