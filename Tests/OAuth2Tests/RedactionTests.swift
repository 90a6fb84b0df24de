import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// Secrets don't occur in descriptions, dumps and mirrors of public types, or in error texts.
@Suite("Redaction", .limitedConcurrency)
struct RedactionTests {
    private let secret = "S3cr3t-that-nobody-must-see"

    @Test("Types with secrets don't show them")
    func types() async throws {
        let key = try SigningKey.generate(.es256)
        let pem = try key.pem().split(separator: "\n")[1]
        let service = try ES256SigningService(key: key)
        let basic = ClientSecretBasic.clientSecretBasic(clientID: "a", secret: Secret(secret))
        let token = AccessToken(value: Secret(secret), requested: .now)
        let record = TokenRecord(accessToken: Secret(secret), refreshToken: Secret(secret))
        let store = InMemoryTokenStore()
        _ = store.compareAndSwap("k", expectedVersion: nil, record: record)
        var request = TokenRequest(server: OAuth2Fixture.server, form: [("refresh_token", secret), ("scope", "read")])
        try basic.authenticate(&request, at: Date())
        let authentication = JWTClientAuthentication.privateKeyJWT(clientID: "a", signingService: service)
        try await authentication.authenticate(&request, at: Date())
        let assertion = try #require(request.form.first { $0.name == "client_assertion" }?.value)
        let header = try #require(request.headers["Authorization"]?.split(separator: " ").last)
        let fixture = OAuth2Fixture(steps: [.tokens(secret, refresh: secret)])
        let authenticator = fixture.authenticator(grant: RefreshTokenGrant(refreshToken: Secret(secret)), store: store)
        _ = try await authenticator.accessToken()

        let values: [Any] = [
            Secret(secret), basic, token, record,
            VersionedTokenRecord(record: record, version: TokenRecordVersion("1")), store, request,
            authentication, RefreshTokenGrant(refreshToken: Secret(secret)), authenticator,
            OAuth2Authenticator.Options(), MockAuthorizationServer.Client(id: "a", secret: secret),
            ["key": Secret(secret)], Optional(Secret(secret)) as Any,
        ]
        for value in values {
            for shown in texts(of: value) {
                for hidden in [secret, String(pem), assertion, String(header)] {
                    #expect(!shown.contains(hidden), "\(type(of: value)) shows a secret")
                }
            }
        }
        #expect("\(request)".contains("refresh_token, scope, client_id, client_assertion_type, client_assertion"))
    }

    @Test("A secret shows its value only in expose(_:)")
    func secretType() {
        #expect("\(Secret(secret))" == "<redacted>")
        #expect(String(reflecting: Secret(secret)) == "<redacted>")
        #expect(Mirror(reflecting: Secret(secret)).children.isEmpty)
        #expect(Secret(secret).expose { $0 } == secret)
        #expect(Secret(secret) == Secret(secret))
        #expect(Secret(secret) != Secret(secret + "!"))
        #expect(Set([Secret("a"), Secret("a"), Secret("b")]).count == 2)
    }

    @Test(
        "Redacts secrets that a server repeats",
        arguments: [400, 401, 500, 200]
    )
    func echoingServer(status: Int) async throws {
        let words = "no use for \(secret), dear s3cret-of-reports, nor for cmVwb3J0czpzM2NyZXQtb2YtcmVwb3J0cw=="
        let fixture = OAuth2Fixture(steps: [
            .json(#"{"error":"invalid_request","error_description":"\#(words)","note":"\#(secret)"}"#, status: status)
        ])
        let authenticator = fixture.authenticator(grant: RefreshTokenGrant(refreshToken: Secret(secret)))
        let error = try #require(await #expect(throws: OAuth2Error.self) { try await authenticator.accessToken() })
        #expect((error.cause as? ServerError)?.response == nil)
        #expect(error.message.contains("no use for <redacted>, dear <redacted>, nor for <redacted>"))
        for shown in texts(of: error) {
            for hidden in [secret, "s3cret-of-reports", "cmVwb3J0czpzM2NyZXQtb2YtcmVwb3J0cw=="] {
                #expect(!shown.contains(hidden))
            }
        }
    }

    @Test("Keeps an HTML page out of the error", arguments: [200, 403, 502])
    func pages(status: Int) async throws {
        let fixture = OAuth2Fixture(steps: [.text("<html>\(secret)</html>", status: status)])
        let error = try #require(
            await #expect(throws: OAuth2Error.self) { try await fixture.authenticator().accessToken() }
        )
        for shown in texts(of: error) { #expect(!shown.contains(secret)) }
        let cause = error.cause as? ServerError
        #expect(cause?.response == nil)
        #expect(status == 200 || cause?.errorCode == status)
    }

    @Test("The server's description is a single line")
    func printable() async throws {
        let words = String(repeating: "long ", count: 100)
        let fixture = OAuth2Fixture(steps: [
            .json(#"{"error":"bad\ncode\u0000\u202E","error_description":"two\r\nlines \#(words)"}"#, status: 400)
        ])
        let error = try #require(
            await #expect(throws: OAuth2Error.self) { try await fixture.authenticator().accessToken() }
        )
        #expect(error.serverCode == "bad?code??")
        #expect(error.message.contains("two??lines long"))
        #expect(error.message.count < 400)
        #expect(error.description.allSatisfy { !$0.isNewline })
    }

    @Test("The error of a rejected request shows neither token nor body")
    func refusedCall() async throws {
        let fixture = OAuth2Fixture(
            steps: [.tokens(secret), .tokens(secret + "2")],
            answers: [.refusal, .json(#"{"leak":"\#(secret)"}"#, status: 401)]
        )
        let client = fixture.client(fixture.authenticator())
        let error = try #require(
            await #expect(throws: ServerError.self) { try await client.makeRequest(URLRequest(url: OAuth2Fixture.api)) }
        )
        #expect("\(error)".contains("freshTokenRejected"))
        for shown in ["\(error)", String(reflecting: error), error.localizedDescription] {
            #expect(!shown.contains(secret))
        }
    }

    /// Returns all texts that a value shows.
    private func texts(of value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return [String(describing: value), String(reflecting: value), dumped, reflection(of: value, depth: 8)]
            + [(value as? any Error)?.localizedDescription].compactMap(\.self)
    }

    private func reflection(of value: Any, depth: Int) -> String {
        guard depth > 0 else { return "" }
        return Mirror(reflecting: value).children
            .map { "\($0.label ?? "-"): \($0.value)\n" + reflection(of: $0.value, depth: depth - 1) }
            .joined()
    }
}
