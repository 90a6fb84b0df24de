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
        let environment = time.environment(transport)
        return try VaultLoginSource(
            server: URL(string: server)!,
            role: role,
            jwt: FileTokenSource(path: folder.path, audience: "https://as.example", environment: environment),
            mount: mount,
            namespace: namespace,
            environment: environment
        )
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
        .shows("O39", "Vault, OpenBao"),
        arguments: [("jwt", nil), ("teams/gitlab", "finance/reports")] as [(String, String?)]
    )
    func login(mount: String, namespace: String?) async throws {
        try folder.write(SampleToken().text)
        let transport = time.transport(Self.issued())
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
        #expect(try await source(time.transport(Self.issued(lease: 0))).token().expiry == nil)
        let long = try await source(time.transport(Self.issued(lease: .max))).token()
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

    @Test("Tries another token of the platform once if Vault rejects the first one", .shows("Vault, OpenBao"))
    func replaced() async throws {
        let folder = folder
        try folder.write(SampleToken().text)
        let transport = time.transport(
            .handler { _ in
                try folder.write(SampleToken(["jti": "2"]).text)
                return HTTPTransportResponse(status: 400)
            },
            Self.issued()
        )
        #expect(text(try await source(transport).token()) == "hvs.S3cr3t")
        let unchanged = time.transport(.json(#"{"errors":["S3cr3t"]}"#, status: 400), Self.issued())
        await expectFailure(of: try source(unchanged), .platformRejected, status: 400, naming: "bound_audiences")
        #expect(unchanged.requests.count == 1)
    }

    @Test(
        "Repeats a login while the server lags, is sealed or overloaded",
        .shows("Vault, OpenBao"),
        arguments: [412, 429, 472, 473, 500, 503]
    )
    func retries(status: Int) async throws {
        try folder.write(SampleToken().text)
        let transport = time.transport(.status(status), Self.issued())
        #expect(text(try await source(transport).token()) == "hvs.S3cr3t")
        #expect(time.sleeps.contains(.seconds(1)))
        let outage = MockTransport(time: time.timeSource) { _ in HTTPTransportResponse(status: status) }
        await expectFailure(of: try source(outage), .platformUnavailable, isRetryable: true)
        #expect(outage.requests.count == 5)
    }

    @Test("Doesn't repeat a denied login, and follows no redirect", .shows("W17"), arguments: [307, 403, 404, 405])
    func rejected(status: Int) async throws {
        try folder.write(SampleToken().text)
        let location: HTTPHeaders = status == 307 ? ["Location": "https://other.example/v1/auth/jwt/login"] : [:]
        let transport = time.transport(.status(status, headers: location), Self.issued())
        await expectFailure(of: try source(transport), .platformRejected, status: status, isRetryable: false)
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
            await expectFailure(of: try source(time.transport(step)), code, step: .request)
        }
    }

    @Test("A platform's token for another audience is never sent")
    func otherAudience() async throws {
        try folder.write(SampleToken(["aud": "https://kubernetes.default.svc"]).text)
        let transport = time.transport(Self.issued())
        #expect(await failure(of: try source(transport))?.code == .wrongAudience)
        #expect(transport.requests.isEmpty)
    }

    @Test("Refuses a URL without TLS or with more than a host, and invalid names", .shows("W17"))
    func configuration() throws {
        for server in [
            "http://vault.example", "http://169.254.1.1", "https://a@vault.example", "https://vault.example/v1",
            "https://vault.example?a", "https://vault.example#a", "unix:///run/vault",
        ] {
            expectError(.insecureEndpoint) { try source(time.transport(), server: server) }
        }
        #expect(throws: Never.self) { try source(time.transport(), server: "http://127.0.0.1:8200/") }
        let code = { (make: () throws -> VaultLoginSource) in
            #expect(throws: WorkloadIdentityError.self) { _ = try make() }?.code
        }
        for name in ["", "a//b", "../sys", "a b", "a?b", "/a", "a\r\nb"] {
            #expect(code { try source(time.transport(), mount: name) } == .notConfigured)
            #expect(code { try source(time.transport(), namespace: name) } == .notConfigured)
        }
        #expect(code { try source(time.transport(), role: "") } == .notConfigured)
    }
}

@Suite("VaultLoginSource: renewal", .limitedConcurrency)
struct VaultRenewalTests {
    private let time = ManualTime(advancesWhenSleeping: true)
    private let folder: TokenFolder

    init() throws {
        folder = try TokenFolder()
        try folder.write(SampleToken().text)
    }

    private func source(_ transport: MockTransport, time: ManualTime? = nil) throws -> VaultLoginSource {
        let environment = WorkloadEnvironment(
            variable: { _ in nil },
            timeSource: (time ?? self.time).timeSource,
            transport: transport,
            random: { 1 }
        )
        return try VaultLoginSource(
            server: URL(string: "https://vault.example")!,
            role: "reports",
            jwt: FileTokenSource(path: folder.path, environment: environment),
            namespace: "finance",
            environment: environment
        )
    }

    private static func issued(
        _ token: String = "hvs.S3cr3t",
        lease: Int = 90,
        isRenewable: Bool = true,
        type: String = "service"
    ) -> MockTransport.Step {
        .json(
            """
            {"auth":{"client_token":"\(token)","lease_duration":\(lease),"renewable":\(isRenewable),\
            "token_type":"\(type)"}}
            """
        )
    }

    private func paths(_ transport: MockTransport) -> [String] { transport.requests.map { $0.url.path } }

    private static let login = "/v1/auth/jwt/login"
    private static let renewal = "/v1/auth/token/renew-self"

    @Test("Renews the lease with the client token, and without the platform's", .shows("Vault (lease)"))
    func request() async throws {
        let transport = time.transport(Self.issued(), Self.issued())
        let source = try source(transport)
        _ = try await source.token()
        time.advance(by: .seconds(60))
        let token = try await source.token()
        #expect(text(token) == "hvs.S3cr3t")
        #expect(token.type == "Bearer")
        #expect(token.expiry == time.now + .seconds(90))
        let request = try #require(transport.requests.last)
        #expect(request.method == .post)
        #expect(request.url.absoluteString == "https://vault.example\(Self.renewal)")
        #expect(request.headers["X-Vault-Token"] == "hvs.S3cr3t")
        #expect(request.headers["X-Vault-Request"] == "true")
        #expect(request.headers["X-Vault-Namespace"] == "finance")
        #expect(String(decoding: request.body, as: UTF8.self) == #"{"increment":"90s"}"#)
        #expect(transport.requests.count == 2)
    }

    @Test("A cache renews the lease in the background after two thirds of it", .shows("O39"))
    func cached() async throws {
        let time = ManualTime()
        defer { time.end() }
        let transport = MockTransport(Self.issued(), Self.issued(), Self.issued(), time: time.timeSource)
        let source = CachedTokenSource(
            try source(transport, time: time),
            timing: OAuth2Timing(timeSource: time.timeSource, random: { 0 })
        )
        _ = try await source.token()
        for number in 1...2 {
            time.advance(by: .seconds(59))
            _ = try await source.token()
            #expect(transport.requests.count == number)
            time.advance(by: .seconds(1))
            #expect(text(try await source.token()) == "hvs.S3cr3t")
            while transport.requests.count == number || time.sleeperCount > 0 { await Task.yield() }
        }
        #expect(paths(transport) == [Self.login, Self.renewal, Self.renewal])
    }

    @Test("Logs in again if Vault can't renew the lease", arguments: [(false, "service"), (true, "batch")])
    func notRenewable(isRenewable: Bool, type: String) async throws {
        let transport = time.transport(Self.issued("one", isRenewable: isRenewable, type: type), Self.issued("two"))
        let source = try source(transport)
        _ = try await source.token()
        #expect(text(try await source.token()) == "two")
        #expect(paths(transport) == [Self.login, Self.login])
    }

    @Test("Logs in again with the file's token if Vault rejects the renewal", arguments: [400, 403])
    func revoked(status: Int) async throws {
        let second = SampleToken(["jti": "2"]).text
        let transport = time.transport(Self.issued("one"), .status(status), Self.issued("two"), Self.issued("two"))
        let source = try source(transport)
        _ = try await source.token()
        try folder.write(second)
        #expect(text(try await source.token()) == "two")
        #expect(paths(transport) == [Self.login, Self.renewal, Self.login])
        #expect(try JSONObject(parsing: transport.requests[2].body)["jwt"]?.string == second)
        _ = try await source.token()
        #expect(transport.requests.last?.headers["X-Vault-Token"] == "two")
    }

    @Test("Logs in when the token reaches its maximum lifetime, or its lease has ended", .shows("Vault (lease)"))
    func lifetime() async throws {
        let transport = time.transport(
            Self.issued("one"),
            Self.issued("one", lease: 40),
            Self.issued("two"),
            Self.issued("3")
        )
        let source = try source(transport)
        _ = try await source.token()
        let last = try await source.token()
        #expect(last.expiry == time.now + .seconds(40))
        #expect(text(try await source.token()) == "two")
        time.advance(by: .seconds(90))
        #expect(text(try await source.token()) == "3")
        #expect(paths(transport) == [Self.login, Self.renewal, Self.login, Self.login])
    }

    @Test("Logs in to replace a rejected token")
    func rejectedToken() async throws {
        let transport = time.transport(Self.issued("one"), Self.issued("two"))
        let source = try source(transport)
        let first = try await source.token()
        #expect(text(try await source.token(for: .replacing(first))) == "two")
        #expect(paths(transport) == [Self.login, Self.login])
    }

    @Test("Repeats a renewal while the server fails, and doesn't log in instead", arguments: [412, 429, 503])
    func unavailable(status: Int) async throws {
        let transport = time.transport(Self.issued(), .status(status), Self.issued())
        let source = try source(transport)
        _ = try await source.token()
        _ = try await source.token()
        #expect(paths(transport) == [Self.login, Self.renewal, Self.renewal])
    }

    @Test("Refuses the renewal of another token, and one without a lease")
    func otherResponses() async throws {
        for step in [Self.issued("other"), Self.issued(lease: 0), .json("{}"), .text("<html>")] {
            let transport = time.transport(Self.issued(), step)
            let source = try source(transport)
            _ = try await source.token()
            let error = await failure(of: source)
            #expect(error?.code == .invalidResponse)
            #expect(error?.description.contains("S3cr3t") == false)
            #expect(transport.requests.count == 2)
        }
    }
}
