import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration
import WorkloadIdentity

@Suite("GoogleExternalAccountSource", .limitedConcurrency)
struct GoogleExternalAccountTests {
    private static let audience = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/v"
    private static let impersonation =
        "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/reports@p.iam.gserviceaccount.com"
        + ":generateAccessToken"
    /// Returns the answer of the token service, with more members.
    private static func exchanged(_ token: String, _ more: String) -> MockTransport.Step {
        let type = "urn:ietf:params:oauth:token-type:access_token"
        return .json(#"{"access_token":"\#(token)","issued_token_type":"\#(type)","token_type":"Bearer"\#(more)}"#)
    }

    private static var exchanged: MockTransport.Step {
        .json(
            """
            {"access_token":"federated","issued_token_type":"urn:ietf:params:oauth:token-type:access_token",\
            "token_type":"Bearer","expires_in":3599}
            """
        )
    }
    private static var impersonated: MockTransport.Step {
        .json(#"{"accessToken":"impersonated","expireTime":"2001-09-09T02:46:40.123456789Z"}"#)
    }

    private let time: ManualTime
    private let subject: TokenFolder
    private let folder: TokenFolder

    init() throws { try self.init(time: ManualTime(advancesWhenSleeping: true)) }

    /// Creates the fixture for a test with a cache, which sleeps until its timeout.
    private init(time: ManualTime) throws {
        self.time = time
        subject = try TokenFolder()
        folder = try TokenFolder()
    }

    private func configuration(_ changes: [String: JSONValue?] = [:]) -> JSONObject {
        var file: JSONObject = [
            "type": "external_account", "audience": .string(Self.audience),
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "universe_domain": "googleapis.com",
            "token_url": "https://sts.googleapis.com/v1/token",
            "credential_source": ["file": .string(subject.path)],
        ]
        for (name, value) in changes { file[name] = value }
        return file
    }

    private func source(
        _ google: MockTransport,
        _ changes: [String: JSONValue?] = [:],
        scopes: [String] = [],
        hosts: Set<String> = [],
        platform: MockTransport? = nil
    ) throws -> GoogleExternalAccountSource {
        try folder.write(String(decoding: configuration(changes).serializedData(), as: UTF8.self))
        return try GoogleExternalAccountSource(
            scopes: scopes,
            subjectHosts: hosts,
            client: NetworkClient(transport: google, options: .init(timeSource: time.timeSource)),
            environment: WorkloadEnvironment(
                variable: { [path = folder.path] in ["GOOGLE_APPLICATION_CREDENTIALS": path][$0] },
                timeSource: time.timeSource,
                transport: platform ?? time.transport(),
                random: { 1 }
            )
        )
    }

    private func form(_ request: MockTransport.RecordedRequest) -> [String: String] {
        let fields = FormURLEncoded.decode(String(decoding: request.body, as: UTF8.self)) ?? []
        return Dictionary(fields.map { ($0.name, $0.value) }) { first, _ in first }
    }

    @Test("Exchanges the token in a file at the security token service", .shows("Google workload identity federation"))
    func exchange() async throws {
        try subject.write(SampleToken().text)
        let transport = time.transport(Self.exchanged)
        let token = try await source(transport, scopes: ["a", "b"]).token()
        #expect(text(token) == "federated")
        #expect(token.type == "Bearer")
        #expect(token.expiry == token.requested + .seconds(3_599))
        let request = try #require(transport.requests.first)
        #expect(request.url.absoluteString == "https://sts.googleapis.com/v1/token")
        #expect(
            form(request) == [
                "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "audience": Self.audience,
                "scope": "a b", "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
                "subject_token": SampleToken().text, "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            ]
        )
        #expect(request.headers["Authorization"] == nil)
    }

    @Test(
        "Impersonates the service account with the exchanged token",
        .shows("O37", "Google workload identity federation")
    )
    func impersonate() async throws {
        try subject.write(SampleToken().text)
        let transport = time.transport(Self.exchanged, Self.impersonated)
        let source = try source(
            transport,
            [
                "service_account_impersonation_url": .string(Self.impersonation),
                "service_account_impersonation": ["token_lifetime_seconds": 1_800], "client_id": "c",
                "client_secret": "s",
            ],
            scopes: ["a", "b"]
        )
        let token = try await source.token()
        #expect(text(token) == "impersonated")
        #expect(token.type == "Bearer")
        // Counted from the response: 10 seconds went by in timeouts of the exchange.
        #expect(token.expiry == time.now + .seconds(3_600 - Int((time.date.timeIntervalSince1970 - 1e9).rounded())))
        #expect(form(transport.requests[0])["scope"] == "https://www.googleapis.com/auth/cloud-platform")
        #expect(transport.requests[0].headers["Authorization"] == "Basic Yzpz")
        let request = transport.requests[1]
        #expect(request.method == .post)
        #expect(request.url.absoluteString == Self.impersonation)
        #expect(request.headers["Authorization"] == "Bearer federated")
        #expect(request.headers["Content-Type"] == "application/json")
        #expect(try JSONObject(parsing: request.body) == ["scope": ["a", "b"], "lifetime": "1800s", "delegates": []])
    }

    @Test("Exchanges again once if the impersonation rejects the exchanged token")
    func endedEarly() async throws {
        try subject.write(SampleToken().text)
        let transport = time.transport(
            Self.exchanged,
            .status(401),
            Self.exchanged("second", #","expires_in":3599"#),
            Self.impersonated
        )
        let source = try source(transport, ["service_account_impersonation_url": .string(Self.impersonation)])
        #expect(text(try await source.token()) == "impersonated")
        #expect(transport.requests.last?.headers["Authorization"] == "Bearer second")
        #expect(transport.requests.count == 4)
    }

    @Test("A cache renews the token with the file's content at that time")
    func renewal() async throws {
        let chain = try Self(time: ManualTime())
        defer { chain.time.end() }
        try await chain.renew()
    }

    private func renew() async throws {
        let transport = time.transport(
            Self.exchanged("one", #","expires_in":100"#),
            Self.exchanged("two", #","expires_in":100"#)
        )
        let cached = CachedTokenSource(
            try source(transport),
            timing: OAuth2Timing(timeSource: time.timeSource, random: { 0 })
        )
        let (first, second) = (SampleToken().text, SampleToken(["jti": "2"]).text)
        try subject.write(first)
        for _ in 1...3 { #expect(text(try await cached.token()) == "one") }
        try subject.write(second)
        time.advance(by: .seconds(100))
        #expect(text(try await cached.token()) == "two")
        #expect(transport.requests.map { form($0)["subject_token"] } == [first, second])
    }

    @Test(
        "Reads a subject token in a JSON file, and requests one from a permitted host",
        .shows("Google workload identity federation")
    )
    func subjects() async throws {
        let format: JSONValue = ["type": "json", "subject_token_field_name": "id_token"]
        let json = #"{"id_token":"\#(SampleToken().text)","access_token":"S3cr3t"}"#
        try subject.write(json)
        let fromFile = time.transport(Self.exchanged)
        let file: JSONValue = ["file": .string(subject.path), "format": format]
        _ = try await source(fromFile, ["credential_source": file]).token()
        #expect(form(fromFile.requests[0])["subject_token"] == SampleToken().text)

        let url = "http://169.254.169.254/metadata/identity/oauth2/token?resource=r"
        let platform = time.transport(.status(503), .json(json))
        let fromURL = time.transport(Self.exchanged)
        let source = try source(
            fromURL,
            ["credential_source": ["url": .string(url), "headers": ["Metadata": "True"], "format": format]],
            hosts: ["169.254.169.254"],
            platform: platform
        )
        _ = try await source.token()
        #expect(form(fromURL.requests[0])["subject_token"] == SampleToken().text)
        #expect(platform.requests.count == 2)
        #expect(platform.requests.allSatisfy { $0.url.absoluteString == url && $0.headers["Metadata"] == "True" })
    }

    @Test("A subject that can't be read is never sent, and the error says why")
    func unusableSubjects() async throws {
        let cases: [(String, JSONValue?, WorkloadIdentityError.Code)] = [
            (SampleToken(["exp": 1]).text, nil, .expiredToken), ("opaque", nil, .malformedToken),
            ("{}", ["type": "json", "subject_token_field_name": "a"], .malformedToken),
        ]
        for (content, format, code) in cases {
            try subject.write(content)
            var credentialSource: JSONObject = ["file": .string(subject.path)]
            credentialSource["format"] = format
            let transport = time.transport()
            let source = try source(transport, ["credential_source": .object(credentialSource)])
            let error = await #expect(throws: OAuth2Error.self) { try await source.token() }
            #expect(error?.code == .grantFailed)
            #expect((error?.cause as? WorkloadIdentityError)?.code == code)
            #expect(transport.requests.isEmpty)
        }
    }

    @Test("Reports a denied impersonation, a refused exchange and a token without a lifetime")
    func rejected() async throws {
        try subject.write(SampleToken().text)
        let changes: [String: JSONValue?] = ["service_account_impersonation_url": .string(Self.impersonation)]
        let denied = time.transport(
            Self.exchanged,
            .json(#"{"error":{"code":403,"message":"S3cr3t","status":"PERMISSION_DENIED"}}"#, status: 403)
        )
        await expectFailure(
            of: try source(denied, changes),
            .platformRejected,
            naming: "roles/iam.workloadIdentityUser"
        )
        #expect(denied.requests.count == 2)
        let refused = time.transport(.json(#"{"error":"invalid_grant","error_description":"no"}"#, status: 400))
        let answer = await #expect(throws: OAuth2Error.self) { try await source(refused, changes).token() }
        #expect(answer?.serverCode == "invalid_grant")
        #expect(refused.requests.count == 1)
        for lifetime in ["", #","expires_in":0"#] {
            let endless = time.transport(Self.exchanged("a", lifetime))
            #expect(await failure(of: try source(endless))?.code == .invalidResponse)
        }
        for expiry in ["2001-09-09T01:00:00Z", "2001-09-09T02:00:00+01:00"] {
            let late = time.transport(Self.exchanged, .json(#"{"accessToken":"a","expireTime":"\#(expiry)"}"#))
            #expect(await failure(of: try source(late, changes))?.code == .expiredToken)
        }
        for expiry in ["tomorrow", "", "Z", ".Z", "..Z", "-Z", "2001-09-09T01:00:00.5", "2001-09-09T01:00:00+0100"] {
            let vague = time.transport(Self.exchanged, .json(#"{"accessToken":"a","expireTime":"\#(expiry)"}"#))
            #expect(await failure(of: try source(vague, changes))?.code == .invalidResponse, "\(expiry)")
        }
    }
}
