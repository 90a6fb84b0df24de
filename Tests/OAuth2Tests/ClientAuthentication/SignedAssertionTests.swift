import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing

@Suite("Signed assertions", .limitedConcurrency, .tags(.concurrency))
struct SignedAssertionTests {
    /// A source whose platform replaces the token now and then.
    private final class Platform: TokenSource {
        private let tokens: Mutex<[String]>
        private let reads = Mutex(0)

        init(_ tokens: String...) { self.tokens = Mutex(tokens) }

        var count: Int { reads.withLock { $0 } }

        func token(for requirements: TokenRequirements) async throws -> AccessToken {
            reads.withLock { $0 += 1 }
            // The next token takes the place of one that the caller can't use.
            let value = tokens.withLock { tokens -> String in
                if tokens.count > 1, requirements.isUnwanted(Secret(tokens[0])) { tokens.removeFirst() }
                return tokens[0]
            }
            if requirements.isUnwanted(Secret(value)) { throw Unchanged() }
            return AccessToken(value: Secret(value), type: "N_A", requested: .now)
        }
    }

    private struct Unchanged: Error, UnchangedTokenError {
        var isUnchangedToken: Bool { true }
    }

    private struct Outage: Error, RetryableError {
        var isRetryable: Bool { true }
    }

    private static var nonce: MockTransport.Step {
        .json(
            #"{"error":"use_dpop_nonce"}"#,
            status: 400,
            headers: ["DPoP-Nonce": "n1"]
        )
    }

    private func source(
        _ fixture: OAuth2Fixture,
        _ authentication: StandardClientAuthentication,
        dpop: DPoPKey? = nil
    ) -> GrantTokenSource {
        GrantTokenSource(
            client: OAuth2Client(
                server: OAuth2Fixture.server,
                clientAuthentication: authentication,
                dpop: dpop,
                client: NetworkClient(transport: fixture.endpoint, options: .init(timeSource: fixture.time.timeSource)),
                timing: OAuth2Timing(timeSource: fixture.time.timeSource, random: { 0 })
            ),
            grant: ClientCredentialsGrant(),
            store: InMemoryTokenStore(timeSource: fixture.time.timeSource)
        )
    }

    /// Returns an authentication that sends each assertion once.
    private func once(_ source: some TokenSource) -> StandardClientAuthentication {
        StandardClientAuthentication.signedAssertion(clientID: "reports", assertion: source, isReusable: false)
    }

    private func assertions(_ fixture: OAuth2Fixture) -> [String?] { fixture.forms.map { $0["client_assertion"] } }

    @Test(
        "Sends the source's assertion with its type, and the client's identifier unless it's omitted",
        .shows("O30", "RFC 7521 §4.2, RFC 7523 §2.2 (of others)", "draft-ietf-oauth-spiffe-client-auth")
    )
    func form() async throws {
        let prefix = "urn:ietf:params:oauth:client-assertion-type:"
        let types: [(StandardClientAuthentication.AssertionType, String)] = [
            (.jwtBearer, "jwt-bearer"), (.jwtSPIFFE, "jwt-spiffe"),
        ]
        for (type, name) in types {
            for sendsClientID in [true, false] {
                let authentication = StandardClientAuthentication.signedAssertion(
                    clientID: "spiffe://example.org/a",
                    assertion: Platform("a.b.c"),
                    type: type,
                    sendsClientID: sendsClientID
                )
                #expect(authentication.clientID == "spiffe://example.org/a")
                let fixture = OAuth2Fixture()
                _ = try await source(fixture, authentication).token()
                var expected = [
                    "grant_type": "client_credentials", "client_assertion_type": prefix + name,
                    "client_assertion": "a.b.c",
                ]
                expected["client_id"] = sendsClientID ? "spiffe://example.org/a" : nil
                #expect(fixture.forms == [expected])
                #expect(fixture.endpoint.requests[0].headers["Authorization"] == nil)
            }
        }
    }

    @Test("Asks the source once for each request")
    func reads() async throws {
        let platform = Platform("a")
        let authentication = StandardClientAuthentication.signedAssertion(clientID: "reports", assertion: platform)
        let fixture = OAuth2Fixture(steps: [.status(503), .tokens("t1")])
        let source = source(fixture, authentication)
        let first = try await source.token()
        #expect(platform.count == 2)
        _ = try await source.token(for: .replacing(first))
        #expect(platform.count == 3)
        #expect(assertions(fixture) == ["a", "a", "a"])
    }

    @Test("Doesn't repeat a rejected request because of the clock, which the assertion's issuer sets")
    func skew() async throws {
        let authentication = StandardClientAuthentication.signedAssertion(clientID: "reports", assertion: Platform("a"))
        #expect(!authentication.usesAssertion)
        let fixture = OAuth2Fixture(steps: [
            .json(
                #"{"error":"invalid_client"}"#,
                status: 401,
                headers: ["Date": "Sun, 09 Sep 2001 03:46:40 GMT"]
            )
        ])
        let error = await failure { try await source(fixture, authentication).token() }
        #expect((error?.code, error?.message.contains("sent before")) == (.invalidClient, false))
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test(
        "A nonce request repeats a reusable assertion, and a rejection then says so",
        .shows("RFC 7521 §4.2, RFC 7523 §2.2 (of others)")
    )
    func reusable() async throws {
        let authentication = StandardClientAuthentication.signedAssertion(clientID: "reports", assertion: Platform("a"))
        let accepted = OAuth2Fixture(steps: [Self.nonce, .boundToken("t1")])
        _ = try await source(accepted, authentication, dpop: .generated()).token()
        #expect(assertions(accepted) == ["a", "a"])

        let other = StandardClientAuthentication.signedAssertion(clientID: "reports", assertion: Platform("a"))
        let rejected = OAuth2Fixture(steps: [Self.nonce, .error("invalid_client", status: 401)])
        let error = await failure { try await source(rejected, other, dpop: .generated()).token() }
        #expect(error?.code == .invalidClient)
        #expect(error?.message.contains("the assertion was sent before") == true)
        #expect(error?.message.contains("isReusable: false") == true)
    }

    @Test(
        "Never sends a one-time assertion twice: a nonce request gets another one, or fails",
        .shows("O30", "W9", "RFC 7521 §4.2, RFC 7523 §2.2 (of others)")
    )
    func oneTime() async throws {
        let renewed = OAuth2Fixture(steps: [Self.nonce, .boundToken("t1")])
        _ = try await source(renewed, once(Platform("a", "b")), dpop: .generated()).token()
        #expect(assertions(renewed) == ["a", "b"])

        let fixture = OAuth2Fixture(steps: [Self.nonce])
        let error = await failure { try await source(fixture, once(Platform("a")), dpop: .generated()).token() }
        #expect((error?.code, error?.message.contains("already sent")) == (.assertionFailed, true))
        #expect((error?.cause as? OAuth2Error)?.serverCode == "use_dpop_nonce")
        #expect(assertions(fixture) == ["a"])
        // A source that ignores the requirements.
        let careless = ClosureTokenSource { _ in AccessToken(value: Secret("a"), type: "N_A", requested: .now) }
        let again = OAuth2Fixture(steps: [Self.nonce])
        let code = await failureCode { try await source(again, once(careless), dpop: .generated()).token() }
        #expect(code == .assertionFailed)
        #expect(assertions(again) == ["a"])
        // Later requests.
        let later = OAuth2Fixture()
        let lasting = source(later, once(Platform("a")))
        let token = try await lasting.token()
        let last = await failure { try await lasting.token(for: .replacing(token)) }
        #expect(last?.code == .assertionFailed && last?.cause == nil)
        #expect(assertions(later) == ["a"])
    }

    @Test("A temporary failure remains the error if there's no other one-time assertion for a retry")
    func temporary() async throws {
        let authentication = once(Platform("a"))
        let fixture = OAuth2Fixture(steps: [.status(503, headers: ["Retry-After": "1"])])
        let task = Task { try await source(fixture, authentication).token() }
        let result = await fixture.runOut(task, within: .seconds(1))
        let error = await failure { try result.get() }
        #expect(error?.code == .serverTransient)
        #expect(error?.retryAfter == .seconds(1))
        #expect(assertions(fixture) == ["a"])
    }

    @Test("An assertion of a request that was never sent can still be sent")
    func unsent() async throws {
        let authentication = once(Platform("a"))
        let fixture = OAuth2Fixture(steps: [.failure(NetworkError(.cannotConnect, "refused")), .tokens("t1")])
        #expect(try await source(fixture, authentication).token().value == Secret("t1"))
        #expect(assertions(fixture) == ["a", "a"])
    }

    @Test("The error of a source is the cause, and decides whether the request is worth repeating")
    func failingSource() async throws {
        let failures: [(any Error, Bool)] = [
            (Outage(), true), (POSIXError(.EIO), false), (OAuth2Error(.serverTransient, "busy"), true),
            (OAuth2Error(.reauthenticationRequired, "over"), false),
        ]
        for (cause, isRetryable) in failures {
            let fixture = OAuth2Fixture()
            let authentication = StandardClientAuthentication.signedAssertion(
                clientID: "reports",
                assertion: ClosureTokenSource { _ in throw cause }
            )
            let error = await failure { try await source(fixture, authentication).token() }
            #expect((error?.code, error?.isRetryable) == (.assertionFailed, isRetryable), "\(cause)")
            #expect(error?.cause != nil)
            #expect(fixture.endpoint.requests.isEmpty)
        }
    }

    @Test("Other endpoints don't get a one-time assertion twice either")
    func otherEndpoints() async throws {
        let fixture = EndpointFixture(
            .status(503),
            .json(#"{"active":true}"#),
            attempts: 2,
            clientAuthentication: once(Platform("a"))
        )
        #expect(await failureCode { try await fixture.oauth.introspect(Secret("t")) } == .serverTransient)
        #expect(fixture.transport.requests.count == 1)
    }
}
