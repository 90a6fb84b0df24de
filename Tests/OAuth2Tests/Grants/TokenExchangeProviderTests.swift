import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

@Suite("TokenExchangeProvider", .limitedConcurrency, .tags(.concurrency))
struct TokenExchangeProviderTests {
    private let time = ManualTime(advancesWhenSleeping: true)
    private let subject = SharedValue("subject")

    private func provider(_ transport: MockTransport) -> TokenExchangeProvider {
        TokenExchangeProvider(
            client: NetworkClient(transport: transport, options: .init(timeSource: time.timeSource)),
            timing: OAuth2Timing(timeSource: time.timeSource),
            subjectToken: { [subject] in Secret(subject.value) }
        )
    }

    private func token(
        _ provider: TokenExchangeProvider,
        scope: String = "read",
        rejected: String? = nil,
        at url: String = "https://as.example/sts/token?tenant=a"
    ) async throws -> String {
        var request = URLRequest(url: URL(string: url)!)
        request.setValue("attestation", forHTTPHeaderField: "X-Attestation")
        return try await provider.bearerToken(exchanging: request, scope: scope, rejected: rejected, until: nil)
    }

    private func transport(_ steps: MockTransport.Step...) -> MockTransport {
        MockTransport(steps: steps, time: time.timeSource, handler: nil)
    }

    @Test("Sends a form with four fields in order, strictly encoded", .shows("3.10", "RFC 8693 §2"))
    func wire() async throws {
        let transport = transport(.tokens("a1"))
        subject.replace(with: "a+b/c=d&e")
        #expect(try await token(provider(transport), scope: "one two+three") == "a1")
        let exchange = transport.requests[0]
        #expect(exchange.method == .post)
        #expect(exchange.url.absoluteString == "https://as.example/sts/token?tenant=a")
        #expect(exchange.headers["Content-Type"] == "application/x-www-form-urlencoded")
        #expect(exchange.headers["X-Attestation"] == "attestation")
        #expect(exchange.headers["Authorization"] == nil)
        #expect(
            String(decoding: exchange.body, as: UTF8.self).split(separator: "&") == [
                "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange", "scope=one+two%2Bthree",
                "subject_token=a%2Bb%2Fc%3Dd%26e",
                "subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token",
            ]
        )
    }

    @Test(
        "Throws an error without the secrets that were sent if the server rejects an exchange, and doesn't cache it",
        .shows("3.13"),
        arguments: [
            (.error("invalid_grant"), .reauthenticationRequired), (.error("invalid_scope"), .requestRejected),
            (.json(#"{"error":"a","error_description":"subject attestation"}"#, status: 400), .requestRejected),
            (.status(401), .invalidClient), (.status(404), .protocolViolation),
            (.status(302, headers: ["Location": "https://as.example/other"]), .protocolViolation),
        ] as [(MockTransport.Step, OAuth2Error.Code)]
    )
    func rejected(_ step: MockTransport.Step, _ code: OAuth2Error.Code) async throws {
        let transport = transport(step, .tokens("a1"))
        let provider = provider(transport)
        let error = try #require(await failure { try await token(provider) })
        #expect(error.code == code && !"\(error)".contains("attestation") && transport.requests.count == 1)
        #expect(try await token(provider) == "a1")
    }

    @Test(
        "Rejects a response without a usable bearer token",
        .shows("3.11"),
        arguments: [
            "", "[]", "<html>", #"{"token_type":"Bearer"}"#, #"{"access_token":"a"}"#,
            #"{"access_token":1,"token_type":"Bearer"}"#, #"{"access_token":"","token_type":"Bearer"}"#,
            #"{"access_token":"a\r\nX: y","token_type":"Bearer"}"#, #"{"access_token":"a","token_type":"DPoP"}"#,
            #"{"access_token":"a","token_type":"N_A"}"#, #"{"access_token":"a","token_type":"mac"}"#,
            #"{"access_token":"a","token_type":"pop"}"#,
        ]
    )
    func unusable(_ answer: String) async throws {
        let code = await failureCode { try await token(provider(MockTransport { _ in .json(answer) })) }
        #expect(code == .protocolViolation || code == .unsupportedTokenType)
    }

    @Test("Sends no subject token without https, and retries while the server is temporarily failing")
    func sending() async throws {
        let transport = transport(.status(503), .tokens("a1"))
        let code = await failureCode { try await token(provider(transport), at: "http://as.example/token") }
        #expect(code == .insecureTransport && transport.requests.isEmpty)
        #expect(try await token(provider(transport)) == "a1")
    }

    @Test("Caches a token for its endpoint, scope and subject until shortly before it expires", .shows("3.11"))
    func keeping() async throws {
        let provider = provider(
            transport(.tokens("a1", lifetime: 180), .tokens("a2"), .tokens("a3"), .tokens("a4"), .tokens("a5"))
        )
        for _ in 1...2 { #expect(try await token(provider) == "a1") }
        #expect(try await token(provider, scope: "write") == "a2")
        #expect(try await token(provider, at: "https://as.example/token") == "a3")
        subject.replace(with: "another subject")
        #expect(try await token(provider) == "a4")
        subject.replace(with: "subject")
        // 180 s, minus a tenth.
        time.advance(by: .seconds(161))
        #expect(try await token(provider) == "a1")
        time.advance(by: .seconds(1))
        #expect(try await token(provider) == "a5")
    }

    @Test("Concurrent callers share one exchange")
    func sharing() async throws {
        let gate = ResponseGate()
        let transport = MockTransport(time: time.timeSource) { _ in
            try await gate.wait()
            return .json(#"{"access_token":"a1","token_type":"Bearer"}"#)
        }
        let provider = provider(transport)
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 { group.addTask { try await token(provider) } }
            try await gate.waitForWaiters(count: 1)
            gate.open()
            for try await token in group { #expect(token == "a1") }
        }
        #expect(transport.requests.count == 1)
    }

    @Test("Exchanges again for a rejected token from the cache, but not for one that was just issued")
    func rejectedToken() async throws {
        let provider = provider(transport(.tokens("a1"), .tokens("a2")))
        #expect(try await token(provider) == "a1")
        #expect(try await token(provider, rejected: "a1") == "a1")
        #expect(try await token(provider) == "a1")
        #expect(try await token(provider, rejected: "a1") == "a2")
        #expect(try await token(provider, rejected: "a1") == "a2")
    }

    @Test("Exchanges tokens on real sockets with a server that verifies them")
    func realSockets() async throws {
        let authorization = try MockAuthorizationServer.start(clients: [.init(id: "app", secret: "s")])
        let user = CachedTokenSource(
            GrantTokenSource(
                client: OAuth2Client(
                    server: authorization.metadata,
                    clientAuthentication: .clientSecretBasic(clientID: "app", secret: Secret("s"))
                ),
                grant: ClientCredentialsGrant()
            )
        )
        let provider = TokenExchangeProvider { try await user.token().value }
        let client = NetworkClient(options: .init(authenticationProvider: provider))
        try await withLoopbackServer { api async throws in
            api.on(.get, "/things", authorization.protecting { _ in .text("ok") })
            func call() async throws -> Data {
                try await client.makeAuthorizedRequest(
                    exchangeRequest: URLRequest(url: authorization.metadata.tokenEndpoint),
                    scope: "things.read",
                    request: URLRequest(url: api.url(for: "/things"))
                )
            }
            for _ in 1...2 { #expect(try await call() == Data("ok".utf8)) }
            #expect(authorization.tokenRequestCount == 2)
            let kept = try #require(api.requests.last?.headers["Authorization"]?.dropFirst("Bearer ".count))
            authorization.revoke(String(kept))
            #expect(try await call() == Data("ok".utf8))
            #expect(authorization.tokenRequestCount == 3)
        }
        await authorization.stop()
    }
}
