import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration
import WorkloadIdentity

@Suite("GoogleImpersonationSource", .limitedConcurrency)
struct GoogleImpersonationSourceTests {
    private static let account = "reports@finance.iam.gserviceaccount.com"
    private static var impersonated: MockTransport.Step {
        .json(#"{"accessToken":"impersonated","expireTime":"2001-09-09T02:46:40Z"}"#)
    }

    private let time = ManualTime(advancesWhenSleeping: true)

    private func transport(_ steps: MockTransport.Step...) -> MockTransport {
        MockTransport(steps: steps, time: time.timeSource, handler: nil)
    }

    private func source(
        _ google: MockTransport,
        platform: MockTransport,
        account: String = account,
        lifetime: Duration = .seconds(900),
        delegates: [String] = []
    ) throws -> GoogleImpersonationSource {
        let environment = WorkloadEnvironment(
            variable: { _ in nil },
            timeSource: time.timeSource,
            transport: platform,
            random: { 1 }
        )
        return try GoogleImpersonationSource(
            serviceAccount: account,
            source: GoogleMetadataSource(environment: environment),
            scopes: ["a", "b"],
            lifetime: lifetime,
            delegates: delegates,
            client: NetworkClient(transport: google, options: .init(timeSource: time.timeSource)),
            environment: environment
        )
    }

    private static func machine(_ token: String) -> MockTransport.Step {
        .json(
            #"{"access_token":"\#(token)","expires_in":300,"token_type":"Bearer"}"#,
            headers: ["Metadata-Flavor": "Google"]
        )
    }

    @Test("Impersonates the account with the machine's token")
    func request() async throws {
        let google = transport(Self.impersonated)
        let delegate = "hop@finance.iam.gserviceaccount.com"
        let source = try source(google, platform: transport(Self.machine("S3cr3t")), delegates: [delegate])
        let token = try await source.token()
        #expect(text(token) == "impersonated")
        #expect(token.type == "Bearer")
        #expect(token.expiry == time.now + .seconds(3_600))
        let request = try #require(google.requests.first)
        #expect(request.method == .post)
        #expect(
            request.url.absoluteString == "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/"
                + "\(Self.account):generateAccessToken"
        )
        #expect(request.headers["Authorization"] == "Bearer S3cr3t")
        #expect(
            try JSONObject(parsing: request.body) == [
                "scope": ["a", "b"], "lifetime": "900s",
                "delegates": [.string("projects/-/serviceAccounts/\(delegate)")],
            ]
        )
    }

    @Test("Gets another token of the machine once if Google rejects the first one")
    func replaced() async throws {
        let google = transport(.status(401), Self.impersonated)
        let platform = transport(Self.machine("one"), Self.machine("two"))
        #expect(text(try await source(google, platform: platform).token()) == "impersonated")
        #expect(google.requests.map { $0.headers["Authorization"] } == ["Bearer one", "Bearer two"])
        let always = transport(.status(401), .status(401))
        let error = await failure(of: try source(always, platform: transport(Self.machine("one"), Self.machine("two"))))
        #expect(error?.code == .platformRejected)
        #expect(always.requests.count == 2)
    }

    @Test("Names the missing role, and doesn't repeat a denied request")
    func denied() async throws {
        let google = transport(.json(#"{"error":{"status":"PERMISSION_DENIED","message":"S3cr3t"}}"#, status: 403))
        let error = await failure(of: try source(google, platform: transport(Self.machine("S3cr3t"))))
        #expect(error?.code == .platformRejected)
        #expect(error?.message.contains("roles/iam.serviceAccountTokenCreator") == true)
        #expect(error?.description.contains("S3cr3t") == false)
        #expect(google.requests.count == 1)
    }

    @Test("An identity token is never sent as an access token")
    func identityToken() async throws {
        let google = transport(Self.impersonated)
        let environment = WorkloadEnvironment(variable: { _ in SampleToken().text }, timeSource: time.timeSource)
        let source = try GoogleImpersonationSource(
            serviceAccount: Self.account,
            source: EnvironmentTokenSource("T", environment: environment),
            client: NetworkClient(transport: google),
            environment: environment
        )
        #expect(await failure(of: source)?.code == .notConfigured)
        #expect(google.requests.isEmpty)
    }

    @Test("Refuses other names than email addresses, and unusable lifetimes")
    func configuration() {
        for name in ["", "reports", "@a", "a@", "a@b@c", "a@b/../c", "a@b?c", "a@b:c", "ä@b"] {
            let error = #expect(throws: WorkloadIdentityError.self) {
                try source(transport(), platform: transport(), account: name)
            }
            #expect(error?.code == .notConfigured)
            #expect(throws: WorkloadIdentityError.self) {
                try source(transport(), platform: transport(), delegates: [name])
            }
        }
        for lifetime in [Duration.zero, .seconds(43_201)] {
            #expect(throws: WorkloadIdentityError.self) {
                try source(transport(), platform: transport(), lifetime: lifetime)
            }
        }
    }
}
