import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@testable import WorkloadIdentity

@Suite("GitHubActionsSource", .limitedConcurrency, .tags(.concurrency))
struct GitHubActionsSourceTests {
    private static let url = "https://run.actions.example/idtoken/1?api-version=2.0"
    private static let secret = "S3cr3t-request-token"

    private let time = ManualTime(advancesWhenSleeping: true)

    private func source(
        _ transport: MockTransport,
        audience: String? = "https://as.example",
        url: String? = url,
        token: String? = secret
    ) -> GitHubActionsSource {
        let variables = ["ACTIONS_ID_TOKEN_REQUEST_URL": url, "ACTIONS_ID_TOKEN_REQUEST_TOKEN": token]
        return GitHubActionsSource(audience: audience, environment: time.environment(transport, variables))
    }

    private static func issued(_ token: SampleToken = SampleToken()) -> MockTransport.Step {
        .json(#"{"count":1,"value":"\#(token.text)"}"#)
    }

    @Test(
        "Requests a new token for each call, with the audience in the query",
        .shows("O32", "GitHub Actions, Forgejo Actions"),
        arguments: [
            (url, "https://as.example", url + "&audience=https%3A%2F%2Fas.example"),
            (url, "a b&c=é", url + "&audience=a%20b%26c%3D%C3%A9"),
            ("https://forgejo.example/token", "a", "https://forgejo.example/token?audience=a"),
            ("https://forgejo.example/token?", "a", "https://forgejo.example/token?audience=a"),
            (url, nil, url),
        ]
    )
    func request(url: String, audience: String?, expected: String) async throws {
        let token = audience.map { SampleToken(["aud": .string($0)]) } ?? SampleToken()
        let transport = time.transport(Self.issued(token), Self.issued(token))
        let source = source(transport, audience: audience, url: url)
        let first = try await source.token()
        #expect(text(first) == token.text)
        #expect(first.type == "N_A")
        #expect(first.expiry == time.now + .seconds(600))
        _ = try await source.token()
        #expect(transport.requests.count == 2)
        for request in transport.requests {
            #expect(request.method == .get)
            #expect(request.url.absoluteString == expected)
            #expect(request.headers["Authorization"] == "Bearer \(Self.secret)")
            #expect(request.headers["Accept"] == "application/json")
            #expect(request.body.isEmpty)
            #expect(request.limits.maximumBodySize == 128 << 10)
        }
    }

    @Test("Missing variables name the workflow's permission")
    func missing() async throws {
        let transport = time.transport()
        for source in [
            source(transport, url: nil), source(transport, url: ""), source(transport, token: nil),
            source(transport, token: "a\r\nb"),
        ] {
            await expectFailure(
                of: source,
                .notConfigured,
                step: .read,
                naming: "ACTIONS_ID_TOKEN_REQUEST_",
                "permissions: id-token: write"
            )
        }
        #expect(transport.requests.isEmpty)
    }

    @Test(
        "Sends the job's credential only to an https URL",
        .shows("W6"),
        arguments: [
            "http://run.actions.example/?a=b", "ftp://run.actions.example/", "run.actions.example", "https://",
            "https://user@run.actions.example/", "https://run.actions.example/#a", "http://127.0.0.1/",
        ]
    )
    func insecure(url: String) async throws {
        let transport = time.transport()
        #expect(await failure(of: source(transport, url: url))?.code == .insecureEndpoint)
        #expect(transport.requests.isEmpty)
    }

    @Test(
        "Repeats a request to an endpoint that's overloaded, failing or out of reach, with growing delays",
        .shows("GitHub Actions, Forgejo Actions")
    )
    func retries() async throws {
        let transport = time.transport(
            .status(503),
            .failure(NetworkError(.connectionLost, "lost")),
            .status(429, headers: ["Retry-After": "7"]),
            .status(500),
            Self.issued()
        )
        #expect(text(try await source(transport).token()) == SampleToken().text)
        #expect(transport.requests.count == 5)
        #expect(time.sleeps == [.seconds(1), .seconds(2), .seconds(7), .seconds(8)])
    }

    @Test("Gives up after four retries, and says that the call is worth repeating", arguments: [429, 500, 503])
    func outage(status: Int) async throws {
        let transport = MockTransport(time: time.timeSource) { _ in HTTPTransportResponse(status: status) }
        await expectFailure(
            of: source(transport),
            .platformUnavailable,
            step: .request,
            status: status,
            isRetryable: true
        )
        #expect(transport.requests.count == 5)
    }

    @Test("A Retry-After beyond the time limit, a slow response and a lost network end within 30 seconds", .shows("W7"))
    func slow() async throws {
        let start = time.now
        let patient = time.transport(.status(429, headers: ["Retry-After": "600"]))
        #expect(await failure(of: source(patient))?.code == .platformUnavailable)
        #expect(time.now == start)
        let slow = time.transport(.never)
        await expectFailure(of: source(slow), .platformUnavailable, isRetryable: true)
        #expect(time.now == start + .seconds(30))
        #expect(slow.requests.count == 1)
        let late = time.transport(Self.issued().delayed(by: .seconds(20)))
        let impatient = TokenRequirements(deadline: time.now + .seconds(5))
        #expect(await failure(of: source(late), impatient)?.code == .platformUnavailable)
        #expect(time.now == start + .seconds(35))
    }

    @Test("Doesn't repeat a request that the endpoint rejects", arguments: [400, 401, 403, 404])
    func rejected(status: Int) async throws {
        let transport = time.transport(.json(#"{"message":"S3cr3t"}"#, status: status))
        await expectFailure(of: source(transport), .platformRejected, status: status, isRetryable: false)
        #expect(transport.requests.count == 1)
    }

    @Test(
        "Doesn't follow a redirect, which would disclose the job's credential",
        .shows("W6"),
        arguments: [301, 302, 303, 307, 308]
    )
    func redirect(status: Int) async throws {
        let transport = time.transport(
            .status(status, headers: ["Location": "https://elsewhere.example/"]),
            Self.issued()
        )
        await expectFailure(of: source(transport), .platformRejected, naming: "redirects")
        #expect(transport.requests.count == 1)
    }

    @Test("Refuses a response that isn't the endpoint's", .shows("W7"))
    func otherResponses() async throws {
        let cases: [(MockTransport.Step, WorkloadIdentityError.Code)] = [
            (.text("<html>Sign in</html>"), .invalidResponse), (.json("{}"), .invalidResponse),
            (.json(#"{"value":7}"#), .invalidResponse), (.json(#"{"value":"#), .invalidResponse),
            (.status(204), .invalidResponse), (.json(#"{"value":""}"#), .malformedToken),
            (.json(#"{"value":"opaque"}"#), .malformedToken),
            (.json(#"{"value":"\#(String(repeating: "a", count: 65_537))"}"#), .tooLarge),
            (.text(String(repeating: " ", count: (128 << 10) + 1)), .tooLarge),
            (Self.issued(SampleToken(["aud": "https://github.com/o"])), .wrongAudience),
            (Self.issued(SampleToken(["exp": 1])), .expiredToken),
            (.failure(NetworkError(.tls, "untrusted")), .insecureEndpoint),
            (.failure(NetworkError(.invalidResponse, "not HTTP")), .invalidResponse),
        ]
        for (step, code) in cases {
            let transport = time.transport(step)
            await expectFailure(of: source(transport), code, step: .request, isRetryable: false)
            #expect(transport.requests.count == 1)
        }
    }

    @Test("Cancellation ends a request")
    func cancellation() async throws {
        let transport = MockTransport(.never)
        let source = source(transport)
        let task = Task { try await source.token() }
        try await transport.waitForRequests(count: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
