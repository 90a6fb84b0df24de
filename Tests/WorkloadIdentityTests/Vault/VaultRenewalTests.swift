import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration
import WorkloadIdentity

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

    private func transport(_ steps: MockTransport.Step...) -> MockTransport {
        MockTransport(steps: steps, time: time.timeSource, handler: nil)
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

    @Test("Renews the lease with the client token, and without the platform's")
    func request() async throws {
        let transport = transport(Self.issued(), Self.issued())
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

    @Test("A cache renews the lease in the background after two thirds of it")
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
        let transport = transport(Self.issued("one", isRenewable: isRenewable, type: type), Self.issued("two"))
        let source = try source(transport)
        _ = try await source.token()
        #expect(text(try await source.token()) == "two")
        #expect(paths(transport) == [Self.login, Self.login])
    }

    @Test("Logs in again with the file's token if Vault rejects the renewal", arguments: [400, 403])
    func revoked(status: Int) async throws {
        let second = SampleToken(["jti": "2"]).text
        let transport = transport(Self.issued("one"), .status(status), Self.issued("two"), Self.issued("two"))
        let source = try source(transport)
        _ = try await source.token()
        try folder.write(second)
        #expect(text(try await source.token()) == "two")
        #expect(paths(transport) == [Self.login, Self.renewal, Self.login])
        #expect(try JSONObject(parsing: transport.requests[2].body)["jwt"]?.string == second)
        _ = try await source.token()
        #expect(transport.requests.last?.headers["X-Vault-Token"] == "two")
    }

    @Test("Logs in when the token reaches its maximum lifetime, or its lease has ended")
    func lifetime() async throws {
        let transport = transport(
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
        let transport = transport(Self.issued("one"), Self.issued("two"))
        let source = try source(transport)
        let first = try await source.token()
        #expect(text(try await source.token(for: .replacing(first))) == "two")
        #expect(paths(transport) == [Self.login, Self.login])
    }

    @Test("Repeats a renewal while the server fails, and doesn't log in instead", arguments: [412, 429, 503])
    func unavailable(status: Int) async throws {
        let transport = transport(Self.issued(), .status(status), Self.issued())
        let source = try source(transport)
        _ = try await source.token()
        _ = try await source.token()
        #expect(paths(transport) == [Self.login, Self.renewal, Self.renewal])
    }

    @Test("Refuses the renewal of another token, and one without a lease")
    func otherResponses() async throws {
        for step in [Self.issued("other"), Self.issued(lease: 0), .json("{}"), .text("<html>")] {
            let transport = transport(Self.issued(), step)
            let source = try source(transport)
            _ = try await source.token()
            let error = await failure(of: source)
            #expect(error?.code == .invalidResponse)
            #expect(error?.description.contains("S3cr3t") == false)
            #expect(transport.requests.count == 2)
        }
    }
}
