import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration
@testable import WorkloadIdentity

@Suite("VaultLoginSource", .limitedConcurrency)
struct VaultLoginSourceTests {
    private let time = ManualTime(advancesWhenSleeping: true)
    private let folder: TokenFolder

    init() throws { folder = try TokenFolder() }

    private func source(
        _ transport: MockTransport,
        server: String = "https://vault.example:8200",
        role: String = "reports",
        mount: String = "jwt",
        namespace: String? = nil
    ) throws -> VaultLoginSource {
        let environment = WorkloadEnvironment(
            variable: { _ in nil },
            timeSource: time.timeSource,
            transport: transport,
            random: { 1 }
        )
        return try VaultLoginSource(
            server: URL(string: server)!,
            role: role,
            jwt: FileTokenSource(path: folder.path, audience: "https://as.example", environment: environment),
            mount: mount,
            namespace: namespace,
            environment: environment
        )
    }

    private func transport(_ steps: MockTransport.Step...) -> MockTransport {
        MockTransport(steps: steps, time: time.timeSource, handler: nil)
    }

    private static func issued(_ token: String = "hvs.S3cr3t", lease: Int = 3_600) -> MockTransport.Step {
        .json(
            """
            {"request_id":"1","auth":{"client_token":"\(token)","accessor":"a","policies":["default"],\
            "lease_duration":\(lease),"renewable":true,"token_type":"service"}}
            """
        )
    }

    private func sent(_ transport: MockTransport) throws -> [JSONObject] {
        try transport.requests.map { try JSONObject(parsing: $0.body) }
    }

    @Test(
        "Logs in with the role and the platform's token",
        arguments: [("jwt", nil), ("teams/gitlab", "finance/reports")] as [(String, String?)]
    )
    func login(mount: String, namespace: String?) async throws {
        try folder.write(SampleToken().text)
        let transport = transport(Self.issued())
        let token = try await source(transport, mount: mount, namespace: namespace).token()
        #expect(text(token) == "hvs.S3cr3t")
        #expect(token.type == "Bearer")
        #expect(token.expiry == time.now + .seconds(3_600))
        let request = try #require(transport.requests.first)
        #expect(request.method == .post)
        #expect(request.url.absoluteString == "https://vault.example:8200/v1/auth/\(mount)/login")
        #expect(request.headers["Content-Type"] == "application/json")
        #expect(request.headers["X-Vault-Request"] == "true")
        #expect(request.headers["X-Vault-Namespace"] == namespace)
        #expect(request.headers["X-Vault-Token"] == nil)
        #expect(try sent(transport) == [["role": "reports", "jwt": .string(SampleToken().text)]])
    }

    @Test("A lease of zero seconds doesn't end")
    func endless() async throws {
        try folder.write(SampleToken().text)
        #expect(try await source(transport(Self.issued(lease: 0))).token().expiry == nil)
        let long = try await source(transport(Self.issued(lease: .max))).token()
        #expect(long.expiry == time.now + .seconds(3_000_000_000))
    }

    @Test("A cache logs in again after a lease that it didn't renew in time, with the file's token at that time")
    func renewal() async throws {
        let time = ManualTime()
        defer { time.end() }
        let (first, second) = (SampleToken().text, SampleToken(["jti": "2"]).text)
        try folder.write(first)
        let transport = MockTransport(Self.issued("one", lease: 100), Self.issued("two"), time: time.timeSource)
        let environment = WorkloadEnvironment(timeSource: time.timeSource, transport: transport)
        let source = CachedTokenSource(
            try VaultLoginSource(
                server: URL(string: "https://vault.example")!,
                role: "r",
                jwt: FileTokenSource(path: folder.path, environment: environment),
                environment: environment
            ),
            timing: OAuth2Timing(timeSource: time.timeSource, random: { 0 })
        )
        for _ in 1...3 { #expect(text(try await source.token()) == "one") }
        try folder.write(second)
        time.advance(by: .seconds(95))
        #expect(text(try await source.token()) == "two")
        #expect(try sent(transport).map { $0["jwt"]?.string } == [first, second])
    }

    @Test("Tries another token of the platform once if Vault rejects the first one")
    func replaced() async throws {
        let folder = folder
        try folder.write(SampleToken().text)
        let transport = transport(
            .handler { _ in
                try folder.write(SampleToken(["jti": "2"]).text)
                return HTTPTransportResponse(status: 400)
            },
            Self.issued()
        )
        #expect(text(try await source(transport).token()) == "hvs.S3cr3t")
        let unchanged = self.transport(.json(#"{"errors":["S3cr3t"]}"#, status: 400), Self.issued())
        let error = await failure(of: try source(unchanged))
        #expect(error?.code == .platformRejected)
        #expect(error?.status == 400)
        #expect(error?.message.contains("bound_audiences") == true)
        #expect(error?.description.contains("S3cr3t") == false)
        #expect(unchanged.requests.count == 1)
    }

    @Test("Repeats a login while the server lags, is sealed or overloaded", arguments: [412, 429, 472, 473, 500, 503])
    func retries(status: Int) async throws {
        try folder.write(SampleToken().text)
        let transport = transport(.status(status), Self.issued())
        #expect(text(try await source(transport).token()) == "hvs.S3cr3t")
        #expect(time.sleeps.contains(.seconds(1)))
        let outage = MockTransport(time: time.timeSource) { _ in HTTPTransportResponse(status: status) }
        let error = await failure(of: try source(outage))
        #expect(error?.code == .platformUnavailable)
        #expect(error?.isRetryable == true)
        #expect(outage.requests.count == 5)
    }

    @Test("Doesn't repeat a denied login, and follows no redirect", arguments: [307, 403, 404, 405])
    func rejected(status: Int) async throws {
        try folder.write(SampleToken().text)
        let location: HTTPHeaders = status == 307 ? ["Location": "https://other.example/v1/auth/jwt/login"] : [:]
        let transport = transport(.status(status, headers: location), Self.issued())
        let error = await failure(of: try source(transport))
        #expect(error?.code == .platformRejected)
        #expect(error?.status == status)
        #expect(error?.isRetryable == false)
        #expect(transport.requests.count == 1)
    }

    @Test("Refuses a response that isn't a login's")
    func otherResponses() async throws {
        try folder.write(SampleToken().text)
        let cases: [(MockTransport.Step, WorkloadIdentityError.Code)] = [
            (.text("<html>"), .invalidResponse), (.json("{}"), .invalidResponse),
            (.json(#"{"auth":{"client_token":"a"}}"#), .invalidResponse), (Self.issued(lease: -1), .invalidResponse),
            (.json(#"{"auth":{"client_token":7,"lease_duration":1}}"#), .invalidResponse),
            (.status(204), .invalidResponse),
            (Self.issued(""), .malformedToken), (Self.issued(#"a\r\nb"#), .malformedToken),
        ]
        for (step, code) in cases {
            let error = await failure(of: try source(transport(step)))
            #expect(error?.code == code)
            #expect(error?.step == .request)
        }
    }

    @Test("A platform's token for another audience is never sent")
    func otherAudience() async throws {
        try folder.write(SampleToken(["aud": "https://kubernetes.default.svc"]).text)
        let transport = transport(Self.issued())
        #expect(await failure(of: try source(transport))?.code == .wrongAudience)
        #expect(transport.requests.isEmpty)
    }

    @Test("Refuses a URL without TLS or with more than a host, and invalid names")
    func configuration() throws {
        for server in [
            "http://vault.example", "http://169.254.1.1", "https://a@vault.example", "https://vault.example/v1",
            "https://vault.example?a", "https://vault.example#a", "unix:///run/vault",
        ] {
            let error = #expect(throws: WorkloadIdentityError.self) { try source(transport(), server: server) }
            #expect(error?.code == .insecureEndpoint)
        }
        #expect(throws: Never.self) { try source(transport(), server: "http://127.0.0.1:8200/") }
        let code = { (make: () throws -> VaultLoginSource) in
            #expect(throws: WorkloadIdentityError.self) { _ = try make() }?.code
        }
        for name in ["", "a//b", "../sys", "a b", "a?b", "/a", "a\r\nb"] {
            #expect(code { try source(transport(), mount: name) } == .notConfigured)
            #expect(code { try source(transport(), namespace: name) } == .notConfigured)
        }
        #expect(code { try source(transport(), role: "") } == .notConfigured)
    }
}
