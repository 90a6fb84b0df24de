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
            ("a part", String(decoding: secret.utf8.prefix(12), as: UTF8.self)),
            ("base64 of base64 of base64", base64(base64(base64(secret)))), ("reversed", String(secret.reversed())),
            ("hexadecimal", secret.utf8.map { String(format: "%02x", $0) }.joined()),
        ]
    }

    /// Returns the name of an encoding of the secret that occurs in a text, at least by half.
    private static func leaks(_ secret: String, _ shown: String) -> String? {
        encodings(of: secret).first { encoding in
            let ascii = encoding.text.unicodeScalars.map { $0.isASCII ? String($0) : "?" }.joined()
            return [encoding.text, ascii].contains { shown.contains($0.prefix($0.count / 2)) }
        }?.name
    }

    /// Returns all texts that a value shows.
    private static func texts(of value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        let labels = (value as? any ObservedEvent).map { Array($0.labels.values) + $0.details.values } ?? []
        let error = value as? any Error
        return [String(describing: value), String(reflecting: value), dumped, error?.localizedDescription ?? ""]
            + [(error as? any LoggableError)?.logText ?? ""] + labels
    }

    @Test("Shows a secret that a token endpoint repeats in no encoding", .shows("S9"), arguments: 0..<25)
    func tokenEndpoint(_ index: Int) async throws {
        let echo = Self.encodings(of: Self.secret)[index]
        var members: JSONObject = [
            "error": .string("code \(echo.text)"), "error_description": .string("sent: \(echo.text)"),
            "error_uri": .string("https://as.example/e?sent=\(Self.percent(echo.text))"),
        ]
        members[echo.text] = true
        let body = members.serialized()
        let malformed = #"{"\#(Self.json(echo.text, escapesAll: true))":tru}"#
        let challenge = #"Bearer error="no", sent="\#(Self.percent(echo.text))", realm="api""#
        for (status, body) in [(400, body), (503, body), (200, body), (200, malformed)] {
            let (events, log) = (EventJournal(), Journal())
            let client = OAuth2Client(
                server: OAuth2Fixture.server,
                clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret(Self.secret)),
                client: NetworkClient(
                    transport: MockTransport(
                        steps: [.json(body, status: status, headers: ["WWW-Authenticate": challenge])],
                        handler: nil
                    ),
                    options: .init(observers: [events, RequestLogger { log.add($0) }])
                ),
                timing: .init(attempts: 1)
            )
            let authenticator = OAuth2Authenticator(
                client: client,
                grant: RefreshTokenGrant(refreshToken: Secret(Self.secret)),
                resources: .everyHTTPSOrigin
            )
            let error = try #require(await failure { try await authenticator.accessToken() })
            #expect(events.tokenEvents.contains { $0.name == "oauth2.token.refresh_failed" })
            #expect(log.entries.count >= 2)
            for shown in Self.texts(of: error) + events.all.flatMap(Self.texts) + log.entries {
                #expect(Self.leaks(Self.secret, shown) == nil, "\(echo.name): \(shown)")
            }
            #expect(error.serverCode == nil)
            // An operator who needs the server's words reads them on purpose.
            if body != malformed {
                let ascii = echo.text.unicodeScalars.map { $0.isASCII ? String($0) : "?" }.joined()
                #expect(error.serverText?.expose { $0.contains("error_description: sent: \(ascii)") } == true)
            }
        }
    }

    @Test("Logs and recordings of bodies have no description of an error", .shows("S9"), arguments: 0..<25)
    func bodies(_ index: Int) async throws {
        let echo = Self.encodings(of: Self.secret)[index]
        let body: JSONObject = [
            "error": "invalid_grant", "error_description": .string("sent: \(echo.text)"),
            "error_uri": .string("https://as.example/e?sent=\(Self.percent(echo.text))"),
        ]
        try await withTemporaryDirectory { directory in
            let log = Journal()
            let transport = MockTransport(steps: [.json(body.serialized(), status: 400)], handler: nil)
            let client = OAuth2Client(
                server: OAuth2Fixture.server,
                clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret(Self.secret)),
                client: NetworkClient(
                    transport: try ExchangeRecorder(transport, folder: directory),
                    options: .init(observers: [RequestLogger(level: .body, writesCurlCommands: true) { log.add($0) }])
                ),
                timing: .init(attempts: 1)
            )
            let error = await failure { try await client.tokens(refreshing: Secret(Self.secret)) }
            #expect(error?.serverCode == "invalid_grant")
            let files = try #require(FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil))
            let recordings = files.allObjects.compactMap { $0 as? URL }.filter { $0.pathExtension == "har" }
            #expect(recordings.count == 1)
            let written = log.entries + (try recordings.map { try String(contentsOf: $0, encoding: .utf8) })
            #expect(written.contains { $0.contains("invalid_grant") })
            for text in written { #expect(Self.leaks(Self.secret, text) == nil, "\(echo.name): \(text)") }
        }
    }

    @Test("Shows no word of a server, however short the secret is", .shows("S9"), arguments: ["x", "abc"])
    func shortSecret(_ secret: String) async throws {
        let fixture = OAuth2Fixture(steps: [
            .json(#"{"error":"un\#(secret)heard_of","error_description":"max \#(secret)"}"#, status: 400),
            .json(#"{"error":"invalid_grant","error_description":"max \#(secret)"}"#, status: 400),
        ])
        for (code, message) in [(nil, "rejected the request"), ("invalid_grant", "rejects the grant;")] {
            let authenticator = fixture.authenticator(grant: RefreshTokenGrant(refreshToken: Secret(secret)))
            let error = try #require(await #expect(throws: OAuth2Error.self) { try await authenticator.accessToken() })
            #expect(error.serverCode == code)
            #expect((error.cause as? OAuth2Error ?? error).message.hasPrefix("the token endpoint \(message)"))
            #expect(error.serverText?.expose { $0.hasSuffix("error_description: max \(secret)") } == true)
            #expect(!error.description.contains("max"))
        }
    }

    @Test("The server's text is one line of limited size", .shows("S9"))
    func size() async throws {
        let words = String(repeating: "long ", count: 10_000)
        let fixture = OAuth2Fixture(steps: [
            .json(#"{"error":"bad\ncode\u0000\u202E","error_description":"two\r\nlines \#(words)"}"#, status: 400)
        ])
        let error = try #require(await failure { try await fixture.authenticator().accessToken() })
        let text = try #require(error.serverText).expose { $0 }
        #expect(text.hasPrefix("error: bad?code??; error_description: two??lines long long"))
        #expect(text.utf8.count == 2_048)
        #expect(error.serverCode == nil)
        #expect(error.message == "the token endpoint rejected the request")
    }

    @Test("The names of members in a malformed response aren't shown", .shows("S9"), arguments: [200, 201])
    func memberNames(status: Int) async throws {
        let fixture = EndpointFixture(.json(#"{"\#(EndpointFixture.token)":tru}"#, status: status))
        let error = try #require(
            await #expect(throws: OAuth2Error(.protocolViolation, "")) {
                try await fixture.oauth.introspect(Secret(EndpointFixture.token))
            }
        )
        for shown in EndpointFixture.texts(of: error) { #expect(!shown.contains(EndpointFixture.token)) }
        #expect((error.cause as? TokenError)?.code == .malformedJSON)
        #expect(error.serverText?.expose { $0.contains(EndpointFixture.token) } == true)
    }

    @Test("The errors of every endpoint hide the request's secrets", .shows("S9"), arguments: EndpointCall.allCases)
    func everyEndpoint(_ call: EndpointCall) async throws {
        let pair = Self.base64("api:" + EndpointFixture.secret)
        let words = "\(Self.percent(EndpointFixture.token)) \(pair)"
        for status in call == .device ? [400, 200] : [400] {
            let answer = #"{"error":"invalid_request","error_description":"\#(words)"}"#
            let fixture = EndpointFixture(.json(answer, status: status))
            let error = try #require(
                await #expect(throws: OAuth2Error(.requestRejected, "")) { try await call(fixture) }
            )
            #expect(error.message.hasSuffix(" rejected the request"))
            #expect(error.serverText == Secret("error_description: \(words)"))
            for shown in EndpointFixture.texts(of: error) {
                #expect(!shown.contains(EndpointFixture.token))
                #expect(!shown.contains(pair))
            }
        }
    }

    @Test("A demand has the values of a challenge, but shows none of them", .shows("S9"))
    func challenges() throws {
        let token = "Tok3n-of-a-user"
        let field = #"""
            Bearer realm="a", error="insufficient_scope", scope="read \#(token)", acr_values="\#(token)", \#
            max_age="300", resource_metadata="https://api.example/\#(token)"
            """#
        let demand = ResourceDemand(try #require(AuthenticationChallenge.parse(field).first))
        #expect((demand.scope, demand.acrValues) == (["read", token], [token]))
        #expect("\(demand)" == "demand for scope, acr_values, max_age, resource_metadata")
        #expect("\(ResourceDemand())" == "demand for nothing")
        let event = OAuth2Event.demanded(.insufficientScope, demand)
        for shown in Self.texts(of: demand) + Self.texts(of: event) { #expect(!shown.contains(token)) }
    }
}
