import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration
import WorkloadIdentity

@Suite("GoogleMetadataSource and GoogleIdentityTokenSource", .limitedConcurrency)
struct GoogleMetadataSourceTests {
    private static let path = "/computeMetadata/v1/instance/service-accounts/default/"
    private static let flavor: HTTPHeaders = ["Metadata-Flavor": "Google"]
    private static var issued: MockTransport.Step {
        .json(#"{"access_token":"S3cr3t-token","expires_in":3599,"token_type":"Bearer"}"#, headers: flavor)
    }

    private let time = ManualTime(advancesWhenSleeping: true)

    private func environment(_ transport: MockTransport, _ variables: [String: String] = [:]) -> WorkloadEnvironment {
        time.environment(transport, variables)
    }

    private func source(_ transport: MockTransport, _ variables: [String: String] = [:]) -> GoogleMetadataSource {
        GoogleMetadataSource(environment: environment(transport, variables))
    }

    private static func identity(_ token: SampleToken) -> MockTransport.Step { .text(token.text, headers: flavor) }

    @Test(
        "Requests an access token, with the scopes in the query",
        .shows("O37", "Google metadata"),
        arguments: [([], ""), (["https://a.example/b", "c"], "?scopes=https%3A%2F%2Fa.example%2Fb%2Cc")]
    )
    func accessToken(scopes: [String], query: String) async throws {
        let transport = time.transport(Self.issued)
        let token = try await GoogleMetadataSource(scopes: scopes, environment: environment(transport)).token()
        #expect(text(token) == "S3cr3t-token")
        #expect(token.type == "Bearer")
        #expect(token.expiry == time.now + .seconds(3_599))
        let request = try #require(transport.requests.first)
        #expect(request.method == .get)
        #expect(request.url.absoluteString == "http://metadata.google.internal\(Self.path)token\(query)")
        #expect(request.headers["Metadata-Flavor"] == "Google")
        #expect(request.headers["X-Forwarded-For"] == nil)
        #expect(request.headers["Authorization"] == nil)
        #expect(request.body.isEmpty)
    }

    @Test("Requests an identity token for the audience, and checks it", .shows("O37", "Google metadata"))
    func identityToken() async throws {
        let transport = time.transport(
            Self.identity(SampleToken()),
            Self.identity(SampleToken()),
            Self.identity(SampleToken(["aud": "https://other.example"])),
            Self.identity(SampleToken(["exp": 1])),
            .text("opaque", headers: Self.flavor)
        )
        let source = GoogleIdentityTokenSource(audience: "https://as.example", environment: environment(transport))
        let token = try await source.token()
        #expect(text(token) == SampleToken().text)
        #expect(token.type == "N_A")
        #expect(token.expiry == time.now + .seconds(600))
        let bearer = GoogleIdentityTokenSource(
            audience: "https://as.example",
            type: .accessToken,
            environment: environment(transport)
        )
        #expect(try await bearer.token().type == "Bearer")
        for code in [WorkloadIdentityError.Code.wrongAudience, .expiredToken, .malformedToken] {
            #expect(await failure(of: source)?.code == code)
        }
        for request in transport.requests {
            #expect(
                request.url.absoluteString
                    == "http://metadata.google.internal\(Self.path)identity?audience=https%3A%2F%2Fas.example"
                    + "&format=full&licenses=FALSE"
            )
            #expect(request.headers["Metadata-Flavor"] == "Google")
        }
    }

    @Test(
        "Uses the host of the environment",
        arguments: [
            (["GCE_METADATA_HOST": "127.0.0.1:8080"], "http://127.0.0.1:8080"),
            (["GCE_METADATA_HOST": "169.254.169.252:988", "GCE_METADATA_ROOT": "b"], "http://169.254.169.252:988"),
            (["GCE_METADATA_ROOT": "metadata.example"], "http://metadata.example"),
            (["GCE_METADATA_HOST": ""], "http://metadata.google.internal"),
        ]
    )
    func host(variables: [String: String], expected: String) async throws {
        let transport = time.transport(Self.issued)
        _ = try await source(transport, variables).token()
        #expect(transport.requests.map(\.url.absoluteString) == ["\(expected)\(Self.path)token"])
    }

    @Test(
        "Refuses a host with more than a port",
        arguments: ["http://a", "a/b", "a@b", "a?b", "a#b", "é", "a b", "a:b:c"]
    )
    func badHost(host: String) async throws {
        let transport = time.transport(Self.issued)
        await expectFailure(
            of: source(transport, ["GCE_METADATA_HOST": host]),
            .insecureEndpoint,
            naming: "GCE_METADATA_HOST"
        )
        #expect(transport.requests.isEmpty)
    }

    @Test(
        "Refuses an answer without the server's header field, such as that of a portal",
        .shows("W15", "Google metadata")
    )
    func otherServers() async throws {
        let token = #"{"access_token":"S3cr3t","expires_in":3599}"#
        let steps: [MockTransport.Step] = [
            .json(token), .json(token, headers: ["Metadata-Flavor": "Amazon"]), .text("<html>S3cr3t</html>"),
            .status(404), .status(403), .text("<html>", status: 400),
        ]
        for step in steps {
            let transport = time.transport(step, Self.issued)
            await expectFailure(of: source(transport), .invalidResponse, naming: "Metadata-Flavor")
            #expect(transport.requests.count == 1)
        }
    }

    @Test("A machine without a service account is a configuration error, which isn't repeated")
    func noServiceAccount() async throws {
        let transport = time.transport(.status(404, headers: Self.flavor), Self.issued)
        await expectFailure(
            of: source(transport),
            .notConfigured,
            status: 404,
            isRetryable: false,
            naming: "set-service-account"
        )
        #expect(transport.requests.count == 1)
    }

    @Test(
        "Repeats a request to a server that starts or is overloaded, and not to one that rejects it",
        .shows("Google metadata")
    )
    func retries() async throws {
        let transport = time.transport(
            .failure(NetworkError(.cannotConnect, "starting")),
            .status(503),
            .status(429, headers: Self.flavor),
            Self.issued
        )
        #expect(text(try await source(transport).token()) == "S3cr3t-token")
        #expect(time.sleeps == [.seconds(1), .seconds(2), .seconds(4)])
        let outage = MockTransport(time: time.timeSource) { _ in HTTPTransportResponse(status: 500) }
        await expectFailure(of: source(outage), .platformUnavailable, isRetryable: true)
        #expect(outage.requests.count == 5)
        for step in [
            MockTransport.Step.status(403, headers: Self.flavor),
            .status(302, headers: ["Location": "https://elsewhere.example/"]),
        ] {
            let transport = time.transport(step, Self.issued)
            #expect(await failure(of: source(transport))?.code == .platformRejected)
            #expect(transport.requests.count == 1)
        }
    }

    @Test("Refuses a response that isn't a token, and a token that has ended")
    func malformed() async throws {
        let cases: [(String, WorkloadIdentityError.Code)] = [
            ("{", .invalidResponse), (#"{"access_token":7}"#, .invalidResponse),
            (#"{"access_token":"a","expires_in":"soon"}"#, .invalidResponse),
            (#"{"access_token":"a","expires_in":0}"#, .expiredToken),
        ]
        for (json, code) in cases {
            #expect(await failure(of: source(time.transport(.json(json, headers: Self.flavor))))?.code == code)
        }
    }

    @Test("A refresh ahead of the expiry that gets the same token waits before the next one")
    func refreshAhead() async throws {
        let time = ManualTime()
        defer { time.end() }
        let old = #"{"access_token":"old","expires_in":REST}"#
        let start = time.now
        let transport = MockTransport(time: time.timeSource) { _ in
            let rest = (start + .seconds(3_600) - time.now) / .seconds(1)
            let json =
                rest > 240
                ? old.replacingOccurrences(of: "REST", with: "\(Int(rest))")
                : #"{"access_token":"new","expires_in":3600}"#
            return HTTPTransportResponse(status: 200, headers: Self.flavor, body: Data(json.utf8))
        }
        let source = CachedTokenSource(
            GoogleMetadataSource(
                environment: WorkloadEnvironment(
                    variable: { _ in nil },
                    timeSource: time.timeSource,
                    transport: transport
                )
            ),
            timing: OAuth2Timing(timeSource: time.timeSource, random: { 1 })
        )
        #expect(text(try await source.token()) == "old")
        time.advance(by: .seconds(3_301))
        for _ in 1...20 { #expect(text(try await source.token()) == "old") }
        try await transport.waitForRequests(count: 2)
        for _ in 1...20 { #expect(text(try await source.token()) == "old") }
        #expect(transport.requests.count == 2)
        time.advance(by: .seconds(290))
        #expect(text(try await source.token()) == "new")
        #expect(transport.requests.count == 3)
    }
}
