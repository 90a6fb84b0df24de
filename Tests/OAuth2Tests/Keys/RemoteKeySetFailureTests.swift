import Foundation
import MockNetworking
import Networking
import OAuth2
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

@Suite("RemoteKeySet: issuer failures", .limitedConcurrency, .tags(.concurrency))
struct RemoteKeySetFailureTests {
    private let key: IssuerKey

    init() throws {
        key = try IssuerKey(id: "1")
    }

    @Test(
        "Any response but a key set is a failure, from which the next one recovers, and a redirect isn't followed",
        .shows("B2", "B7", "RFC 8725bis §3.10 (URLs)"),
        arguments: [
            "<!doctype html><title>Sign in</title>", "", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[],"keys":[]}"#,
            #"{"keys":["#, "\u{FEFF}{\"keys\":[]}", #"{"keys":"none"}"#,
            #"{"keys":[\#(Array(repeating: "{}", count: 1_001).joined(separator: ","))]}"#, large,
        ].map { (.text($0), .protocolViolation, nil) }
            + [201, 202, 204, 206, 304, 401, 404].map { (.json(#"{"keys":[]}"#, status: $0), .protocolViolation, $0) }
            + [302, 307].map {
                (.status($0, headers: ["Location": "https://evil.example/jwks"]), .protocolViolation, $0)
            } + [
                (.status(503), .serverTransient, 503),
                (.failure(NetworkError(.connectionLost, "cut")), .serverUnreachable, nil),
            ] as [(MockTransport.Step, OAuth2Error.Code, Int?)]
    )
    func noKeySet(step: MockTransport.Step, code: OAuth2Error.Code, status: Int?) async throws {
        let issuer = PublishedKeys([key], steps: [step])
        let keys = issuer.keySet()
        let error = await failure { try await keys.keys() }
        #expect((error?.code, keys.status.failure?.code) == (code, code))
        #expect(status == nil || error?.status == status)
        #expect(status != 302 || error?.message.contains("redirects aren't followed") == true)
        #expect(keys.status.keys == nil)
        #expect(issuer.transport.requests.map(\.url) == [PublishedKeys.url])
        issuer.time.advance(by: .seconds(30))
        #expect(try await keys.keys().keys.count == 1)
        #expect(keys.status.failure == nil)
    }

    private static let large = #"{"keys":[],"padding":"\#(String(repeating: "x", count: 256 << 10))"}"#

    @Test("Accepts a larger key set if the caller raises the limit")
    func size() async throws {
        let issuer = PublishedKeys([])
        issuer.publish(text: Self.large)
        let error = await failure { try await issuer.keySet().keys() }
        #expect((error?.cause as? NetworkError)?.code == .bodyTooLarge)
        #expect(try await issuer.keySet { $0.maximumSize = 512 << 10 }.keys().keys.isEmpty)
    }

    @Test(
        "Fetches keys only over https, except from loopback addresses",
        .shows("B2", "FAPI 2.0 §5.4.2"),
        arguments: [
            ("http://id.example/jwks", false), ("ftp://id.example/jwks", false), ("file:///etc/jwks", false),
            ("http://127.0.0.1:8080/jwks", true), ("http://localhost/jwks", true), ("https://id.example/jwks", true),
        ]
    )
    func https(text: String, isAllowed: Bool) async throws {
        let url = try #require(URL(string: text))
        let transport = MockTransport(.json(IssuerKey.document([key])))
        let options = RemoteKeySet.Options(timeout: .seconds(300))
        let keys = RemoteKeySet(url: url, client: NetworkClient(transport: transport), options: options)
        if isAllowed {
            #expect(try await keys.keys().keys.count == 1)
        } else {
            await #expect(throws: OAuth2Error(.insecureTransport, "")) { try await keys.keys() }
        }
        #expect(transport.requests.count == (isAllowed ? 1 : 0))
    }

    @Test("A server that doesn't respond costs the timeout of a request")
    func silence() async throws {
        let issuer = PublishedKeys([], steps: [.never])
        let keys = issuer.keySet()
        let call = Task { try await keys.keys() }
        // The timeout of the refresh and the deadline of the request.
        try await issuer.time.waitForSleepers(count: 2)
        issuer.time.advance(by: .seconds(5))
        await #expect(throws: OAuth2Error(.serverUnreachable, "")) { try await call.value }
        issuer.time.advance(by: .seconds(1))
        _ = try await keys.keys()
        #expect(issuer.fetchCount == 2)
    }

    // MARK: With cached keys

    @Test(
        "The last valid keys stay in use while the server fails, up to the limit",
        .shows("B7", "J16", "RFC 7517 §5 (remote)")
    )
    func staleIfError() async throws {
        let issuer = PublishedKeys([key])
        let verifier = issuer.verifier { $0.staleIfError = .seconds(1200) }
        let token = try issuer.token(key)
        _ = try await verifier.verify(token)
        issuer.publish(text: "<html>")
        issuer.time.advance(by: .seconds(300))
        for _ in 1...10 { _ = try await verifier.verify(token) }
        #expect(verifier.keySet.status.isStale)
        #expect(verifier.keySet.status.failure?.code == .protocolViolation)
        #expect(issuer.fetchCount == 2)
        issuer.time.advance(by: .seconds(1199))
        _ = try await verifier.verify(token)
        issuer.time.advance(by: .seconds(1))
        await #expect(throws: OAuth2Error(.protocolViolation, "")) { try await verifier.verify(token) }
        issuer.publish([key])
        issuer.time.advance(by: .seconds(30))
        _ = try await verifier.verify(token)
        #expect(verifier.keySet.status.failure == nil)
    }

    @Test("Backs off from a failing server, with delays that grow to the cooldown")
    func backoff() async throws {
        let issuer = PublishedKeys([], steps: Array(repeating: .status(503), count: 100))
        let keys = issuer.keySet()
        var pauses: [Int] = []
        var last = 0
        for second in 0..<120 {
            let before = issuer.fetchCount
            await #expect(throws: OAuth2Error(.serverTransient, "")) { try await keys.keys() }
            if issuer.fetchCount > before {
                pauses.append(second - last)
                last = second
            }
            issuer.time.advance(by: .seconds(1))
        }
        #expect(pauses == [0, 1, 2, 4, 8, 16, 30, 30])
    }

    @Test("Honors a failing server's Retry-After")
    func retryAfter() async throws {
        let issuer = PublishedKeys([key], steps: [.status(503, headers: ["Retry-After": "120"])])
        let keys = issuer.keySet()
        let error = await #expect(throws: OAuth2Error.self) { try await keys.keys() }
        #expect(error?.retryAfter == .seconds(120))
        issuer.time.advance(by: .seconds(119))
        await #expect(throws: OAuth2Error(.serverTransient, "")) { try await keys.keys() }
        #expect(issuer.fetchCount == 1)
        issuer.time.advance(by: .seconds(1))
        #expect(try await keys.keys().keys.count == 1)
    }

    @Test("Fails for a token with an unknown key while the server fails", .shows("B7"))
    func unknownKeyInOutage() async throws {
        let new = try IssuerKey(id: "2")
        let issuer = PublishedKeys([key])
        let verifier = issuer.verifier()
        _ = try await verifier.verify(try issuer.token(key))
        issuer.publish(text: "")
        issuer.time.advance(by: .seconds(31))
        let token = try issuer.token(new)
        for _ in 1...5 {
            await #expect(throws: OAuth2Error(.protocolViolation, "")) { try await verifier.verify(token) }
        }
        #expect(issuer.fetchCount == 2)
        #expect(try await verifier.verify(try issuer.token(key)).registered.subject == "ada")
    }

    @Test("An invalid key doesn't affect the others", .shows("B8"))
    func badKey() async throws {
        let issuer = PublishedKeys([])
        let good = key.jwk.members.serialized()
        issuer.publish(text: #"{"keys":[7,{"kty":"EC","kid":"x"},{"kty":"XYZ","kid":"y"},\#(good)]}"#)
        let verifier = issuer.verifier()
        #expect(try await verifier.verify(try issuer.token(key)).registered.subject == "ada")
        #expect(verifier.keySet.status.keys?.rejections.count == 1)
    }

    @Test("Doesn't verify with a published symmetric key")
    func symmetricKey() async throws {
        let secret = Data(repeating: 7, count: 32)
        let issuer = PublishedKeys([])
        issuer.publish(
            text: #"{"keys":[{"kty":"oct","kid":"s","alg":"HS256","k":"\#(Base64URLText.encode(secret))"}]}"#
        )
        let service = try SigningKey(secret: secret, algorithm: .hs256).identified(by: "s")
        let token = try JWTGenerator(
            payload: ["iss": .string(PublishedKeys.issuer), "exp": 9_999_999_999],
            signingService: service
        ).token()
        await #expect(throws: TokenError(.unsupportedKey, "")) { try await issuer.verifier().verify(token) }
    }
}

/// Base64url encoding of test data with Foundation.
enum Base64URLText {
    static func encode(_ data: Data) -> String {
        data.base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }
}
