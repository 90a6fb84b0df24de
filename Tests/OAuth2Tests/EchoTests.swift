import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing
import TokenGeneration

@testable import OAuth2

/// Servers that repeat the secrets in their requests, in different encodings.
@Suite("Echoed secrets", .limitedConcurrency)
struct EchoTests {
    /// A secret that every encoding changes.
    private static let secret = "pä ss/wörd+\"42%&\\<s3cret>~*"

    private static func percent(_ text: String, _ digits: String = "%02X", isForm: Bool = false) -> String {
        text.utf8.map { byte in
            let character = Character(Unicode.Scalar(byte))
            if character.isASCII, character.isLetter || character.isNumber || "-._".contains(character) {
                return String(character)
            }
            return isForm && byte == 0x20 ? "+" : "%" + String(format: digits, byte)
        }.joined()
    }

    private static func json(_ text: String, escapesAll: Bool) -> String {
        text.utf16.map { unit in
            if escapesAll || unit > 0x7E { return String(format: "\\u%04x", unit) }
            let character = String(Unicode.Scalar(UInt8(unit)))
            return ["\"", "\\", "/"].contains(character) ? "\\" + character : character
        }.joined()
    }

    private static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    private static func base64URL(_ text: String) -> String {
        base64(text).replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// The encodings of a secret, by name.
    private static func encodings(of secret: String) -> [(name: String, text: String)] {
        let basic = "reports:" + FormURLEncoded.encode(secret)
        return [
            ("raw", secret), ("percent", percent(secret)), ("percent, lower case", percent(secret, "%02x")),
            ("form", FormURLEncoded.encode(secret)), ("form, every byte", percent(secret, "%02X", isForm: true)),
            ("percent of percent", percent(percent(secret))), ("JSON", json(secret, escapesAll: false)),
            ("JSON, every character", json(secret, escapesAll: true)),
            ("percent of JSON", percent(json(secret, escapesAll: false))),
            ("JSON of JSON", json(json(secret, escapesAll: true), escapesAll: false)),
            ("base64", base64(secret)), ("base64url", base64URL(secret)),
            ("base64 of Basic", base64(basic)), ("base64url of Basic", base64URL(basic)),
            ("base64 of Basic without form", base64("reports:" + secret)),
            ("percent of base64 of Basic", percent(base64(basic))),
            ("JSON of base64", json(base64(secret), escapesAll: false)),
            ("base64 of base64", base64(base64(secret))),
            ("base64 of JSON", base64(#"{"client_secret":"\#(json(secret, escapesAll: false))"}"#)),
            ("HTML", secret.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&#34;")),
            ("one after the other", "xx" + base64(secret)),
        ]
    }

    /// Returns the name of an encoding of the secret that occurs in a text, at least by half.
    private static func leaks(_ secret: String, _ shown: String) -> String? {
        encodings(of: secret).first { encoding in
            let text = encoding.text
            // Errors show only ASCII. Half of a secret counts as a leak.
            let half = text.unicodeScalars.map { $0.isASCII ? String($0) : "?" }.joined()
            return shown.contains(half) || shown.contains(half.prefix(half.count / 2))
        }?.name
    }

    @Test("Error texts contain a secret in no encoding", .shows("S9"), arguments: 0..<21)
    func everyEncoding(_ index: Int) throws {
        let encoding = Self.encodings(of: Self.secret)[index]
        let secrets = SentSecrets([Self.secret, "another secret"])
        let shown = try #require(secrets.redacted("You sent \(encoding.text), which is wrong."), "\(encoding.name)")
        #expect(shown.hasPrefix("You sent "), "\(encoding.name): \(shown)")
        #expect(shown.hasSuffix(", which is wrong."), "\(encoding.name): \(shown)")
        #expect(shown.contains(SentSecrets.placeholder))
        #expect(Self.leaks(Self.secret, shown) == nil, "\(encoding.name): \(shown)")
        #expect(!secrets.isFree(encoding.text), "\(encoding.name)")
        #expect(secrets.areFree(["fine", encoding.text, "fine, too"]) == [true, false, true], "\(encoding.name)")
    }

    @Test("Redacts every secret that a token endpoint repeats", .shows("S9"), arguments: 0..<21)
    func tokenEndpoint(_ index: Int) async throws {
        let secret = Self.secret
        let echo = Self.encodings(of: secret)[index]
        let body: JSONObject = [
            "error": .string("code \(echo.text)"), "error_description": .string("sent: \(echo.text)"),
            "error_uri": .string("https://as.example/e?sent=\(Self.percent(echo.text))"),
        ]
        let challenge = #"Bearer error="no", sent="\#(Self.percent(echo.text))", realm="api""#
        for status in [400, 503, 200] {
            let transport = MockTransport(
                steps: [.json(body.serialized(), status: status, headers: ["WWW-Authenticate": challenge])],
                handler: nil
            )
            let client = OAuth2Client(
                server: OAuth2Fixture.server,
                clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret(secret)),
                client: NetworkClient(transport: transport),
                timing: .init(attempts: 1)
            )
            let error = try #require(await failure { try await client.tokens(refreshing: Secret("refresh-token-1")) })
            for shown in EndpointFixture.texts(of: error) + [error.serverURI?.absoluteString ?? ""] {
                #expect(Self.leaks(secret, shown) == nil, "\(echo.name): \(shown)")
            }
            #expect((error.serverURI, error.challenge?.parameters["sent"]) == (nil, nil))
        }
    }

    @Test("Redacts half of a secret")
    func truncatedSecret() throws {
        let secrets = SentSecrets(["0123456789abcdefghijklmnopqrstuvwxyz"])
        #expect(secrets.redacted("no: 0123456789abcdefghijklm…") == "no: <redacted>…")
        #expect(secrets.redacted("no: 0123") == "no: 0123")
    }

    @Test("Drops descriptions with a secret that is too short to replace", .shows("S9"), arguments: ["x", "abc"])
    func shortSecret(_ secret: String) async throws {
        for (name, text) in Self.encodings(of: secret) {
            #expect(SentSecrets([secret]).redacted("- \(text) -") == nil, "\(name)")
        }
        #expect(SentSecrets([secret]).redacted("- - -") == "- - -")
        #expect(SentSecrets(["abcd"]).redacted("to abcd.") == "to <redacted>.")
        let fixture = OAuth2Fixture(steps: [
            .json(#"{"error":"un\#(secret)heard_of","error_description":"max \#(secret)"}"#, status: 400),
            .json(#"{"error":"invalid_grant","error_description":"max \#(secret)"}"#, status: 400),
        ])
        for code in ["<redacted>", "invalid_grant"] {
            let authenticator = fixture.authenticator(grant: RefreshTokenGrant(refreshToken: Secret(secret)))
            let error = try #require(await #expect(throws: OAuth2Error.self) { try await authenticator.accessToken() })
            #expect((error.serverDescription, error.serverCode) == (nil, code))
            #expect(!error.message.contains("max"))
        }
    }

    @Test("Limits the search for secrets, and doesn't show a text beyond the limit", .shows("S9"))
    func budget() {
        let secrets = SentSecrets(["a secret of some length", "another"])
        #expect(secrets.redacted(String(repeating: "word ", count: 2_000)) != nil)
        #expect(secrets.redacted(String(repeating: "%25", count: 300_000)) == nil)
        #expect(secrets.areFree(["fine", String(repeating: "QUJD", count: 100_000)]) == [false, false])
        #expect(SentSecrets([String(repeating: "s", count: SecretSearch.budget + 1)]).redacted("words") == nil)
    }

    @Test("Treats a custom authentication's header fields as secrets")
    func ownHeaders() async throws {
        var request = TokenRequest(server: OAuth2Fixture.server, form: [("scope", "read write"), ("pin", "4711")])
        request.headers["X-API-Key"] = "key-of-the-application"
        request.headers["Authorization"] = "Custom credential of two words"
        let shown = request.secrets.redacted("read write 4711 key-of-the-application credential of two words")
        #expect(shown == "read write <redacted> <redacted> <redacted>")
    }

    @Test("Redacts the names of members in a malformed response", arguments: [200, 201])
    func memberNames(status: Int) async throws {
        let fixture = EndpointFixture(.json(#"{"\#(EndpointFixture.token)":tru}"#, status: status))
        let error = try #require(
            await #expect(throws: OAuth2Error(.protocolViolation, "")) {
                try await fixture.oauth.introspect(Secret(EndpointFixture.token))
            }
        )
        for shown in EndpointFixture.texts(of: error) { #expect(!shown.contains(EndpointFixture.token)) }
        #expect(error.cause is TokenError)
    }

    @Test(
        "The errors of every endpoint hide what was sent",
        .shows("S9"),
        arguments: EndpointCall.allCases.filter { $0 != .userInfo }
    )
    func everyEndpoint(_ call: EndpointCall) async throws {
        let pair = Self.base64("api:" + EndpointFixture.secret)
        let words = "\(Self.percent(EndpointFixture.token)) \(pair)"
        for status in call == .device ? [400, 200] : [400] {
            let answer = #"{"error":"invalid_request","error_description":"\#(words)"}"#
            let fixture = EndpointFixture(.json(answer, status: status))
            let error = try #require(
                await #expect(throws: OAuth2Error(.requestRejected, "")) { try await call(fixture) }
            )
            #expect(error.message.contains("<redacted>"))
            for shown in EndpointFixture.texts(of: error) {
                #expect(!shown.contains(EndpointFixture.token))
                #expect(call == .register || !shown.contains(pair))
            }
        }
    }

    @Test("Hides the token and the proof in a challenge's values, names and scheme")
    func challenges() throws {
        let token = "Tok3n-of-a-user"
        let field = #"Bearer realm="a", tok3n-of-a-user="b", x="Tok3n%2Dof%2Da%2Duser", scope="read""#
        let challenge = try #require(AuthenticationChallenge.parse(field).first)
        #expect(challenge.without(SentSecrets([token]))?.parameters == ["realm": "a", "scope": "read"])
        #expect(AuthenticationChallenge(scheme: token).without(SentSecrets([token])) == nil)
        #expect(ResourceDemand(challenge, hiding: SentSecrets([token])).scope == ["read"])
    }
}
