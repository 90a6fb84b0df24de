import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@testable import WorkloadIdentity

@Suite("GoogleServiceAccountSource", .computing)
struct GoogleServiceAccountSourceTests {
    private static let email = "reports@p.iam.gserviceaccount.com"

    private let time = ManualTime(advancesWhenSleeping: true)
    private let folder: TokenFolder
    private let key: SigningKey

    init() throws {
        folder = try TokenFolder()
        key = try SigningKey.generate(.rs256)
    }

    private var environment: WorkloadEnvironment {
        WorkloadEnvironment(
            variable: { [path = folder.path] in ["GOOGLE_APPLICATION_CREDENTIALS": path][$0] },
            timeSource: time.timeSource,
            transport: MockTransport(steps: [], time: time.timeSource, handler: nil)
        )
    }

    private func write(_ changes: [String: JSONValue?] = [:], key: SigningKey? = nil) throws {
        var file: JSONObject = [
            "type": "service_account", "client_email": .string(Self.email), "private_key_id": "1",
            "private_key": .string(try (key ?? self.key).pem()), "token_uri": "https://evil.example/token",
        ]
        for (name, value) in changes { file[name] = value }
        try folder.write(String(decoding: file.serializedData(), as: UTF8.self))
    }

    @Test(
        "Signs a token for scopes or an audience, for an hour, without a request",
        .shows("O37", "Google service accounts")
    )
    func signed() async throws {
        try write()
        let cases: [(GoogleServiceAccountSource, String, JSONValue)] = [
            (
                try GoogleServiceAccountSource(environment: environment), "scope",
                "https://www.googleapis.com/auth/cloud-platform"
            ),
            (try GoogleServiceAccountSource(scopes: ["a", "b"], environment: environment), "scope", "a b"),
            (
                try GoogleServiceAccountSource(audience: "https://a.googleapis.com/", environment: environment), "aud",
                "https://a.googleapis.com/"
            ),
        ]
        for (source, name, value) in cases {
            let token = try await source.token()
            #expect(token.type == "Bearer")
            #expect(token.expiry == time.now + .seconds(3_600))
            let parsed = try UnverifiedToken(text(token))
            #expect(parsed.unverifiedHeader == ["alg": "RS256", "kid": "1", "typ": "JWT"])
            #expect(
                parsed.unverifiedClaims == [
                    "iss": .string(Self.email), "sub": .string(Self.email), name: value, "iat": 1_000_000_000,
                    "exp": 1_000_003_600,
                ]
            )
            let verifier = JWSVerifier(key: key.verificationKey)
            #expect(throws: Never.self) { try verifier.verify(compact: text(token)) }
        }
    }

    @Test("A replaced file takes effect with the next token")
    func replaced() async throws {
        try write()
        let source = try GoogleServiceAccountSource(environment: environment)
        _ = try await source.token()
        try write(["private_key_id": "2"])
        #expect(try UnverifiedToken(text(try await source.token())).unverifiedHeader["kid"] == "2")
    }

    @Test("A rejected token isn't returned again within its second")
    func unwanted() async throws {
        try write()
        let source = try GoogleServiceAccountSource(environment: environment)
        let token = try await source.token()
        #expect(await failure(of: source, .replacing(token))?.code == .rejectedToken)
        time.advance(by: .seconds(1))
        #expect(text(try await source.token(for: .replacing(token))) != text(token))
    }

    @Test("Refuses other files and keys, without disclosing the key", .shows("Google service accounts"))
    func refusals() throws {
        let other = try SigningKey.generate(.es256).pem()
        let changes: [[String: JSONValue?]] = [
            ["type": "external_account"], ["type": "authorized_user"], ["type": nil], ["client_email": nil],
            ["client_email": ""], ["private_key_id": nil], ["private_key": nil], ["private_key": "S3cr3t"],
            ["private_key": .string(other)],
        ]
        for change in changes {
            try write(change)
            let error = #expect(throws: WorkloadIdentityError.self) {
                try GoogleServiceAccountSource(environment: environment)
            }
            #expect(error?.code == .invalidConfiguration)
            #expect(error?.message.contains("GOOGLE_APPLICATION_CREDENTIALS") == true)
            #expect(error?.description.contains("S3cr3t") == false)
            #expect(error?.description.contains("PRIVATE") == false)
        }
        expectError(.notConfigured) {
            try GoogleServiceAccountSource(environment: WorkloadEnvironment(variable: { _ in nil }))
        }
        try write()
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: folder.path)
        expectError(.insecureFile) { try GoogleServiceAccountSource(environment: environment) }
    }

    @Test("Descriptions don't disclose the key")
    func secrecy() throws {
        try write()
        let source = try GoogleServiceAccountSource(environment: environment)
        var dumped = ""
        dump(source, to: &dumped)
        #expect(!dumped.contains("PRIVATE KEY"))
        #expect(!String(reflecting: source).contains("PRIVATE KEY"))
    }
}

@Suite("GoogleImpersonationSource", .limitedConcurrency)
struct GoogleImpersonationSourceTests {
    private static let account = "reports@finance.iam.gserviceaccount.com"
    private static var impersonated: MockTransport.Step {
        .json(#"{"accessToken":"impersonated","expireTime":"2001-09-09T02:46:40Z"}"#)
    }

    private let time = ManualTime(advancesWhenSleeping: true)

    private func source(
        _ google: MockTransport,
        platform: MockTransport,
        account: String = account,
        lifetime: Duration = .seconds(900),
        delegates: [String] = []
    ) throws -> GoogleImpersonationSource {
        let environment = time.environment(platform)
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

    @Test("Impersonates the account with the machine's token", .shows("O37", "Google impersonation"))
    func request() async throws {
        let google = time.transport(Self.impersonated)
        let delegate = "hop@finance.iam.gserviceaccount.com"
        let source = try source(google, platform: time.transport(Self.machine("S3cr3t")), delegates: [delegate])
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
        let google = time.transport(.status(401), Self.impersonated)
        let platform = time.transport(Self.machine("one"), Self.machine("two"))
        #expect(text(try await source(google, platform: platform).token()) == "impersonated")
        #expect(google.requests.map { $0.headers["Authorization"] } == ["Bearer one", "Bearer two"])
        let always = time.transport(.status(401), .status(401))
        let error = await failure(
            of: try source(always, platform: time.transport(Self.machine("one"), Self.machine("two")))
        )
        #expect(error?.code == .platformRejected)
        #expect(always.requests.count == 2)
    }

    @Test("Names the missing role, and doesn't repeat a denied request")
    func denied() async throws {
        let google = time.transport(.json(#"{"error":{"status":"PERMISSION_DENIED","message":"S3cr3t"}}"#, status: 403))
        await expectFailure(
            of: try source(google, platform: time.transport(Self.machine("S3cr3t"))),
            .platformRejected,
            naming: "roles/iam.serviceAccountTokenCreator"
        )
        #expect(google.requests.count == 1)
    }

    @Test("An identity token is never sent as an access token", .shows("W20"))
    func identityToken() async throws {
        let google = time.transport(Self.impersonated)
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
            expectError(.notConfigured) { try source(time.transport(), platform: time.transport(), account: name) }
            #expect(throws: WorkloadIdentityError.self) {
                try source(time.transport(), platform: time.transport(), delegates: [name])
            }
        }
        for lifetime in [Duration.zero, .seconds(43_201)] {
            #expect(throws: WorkloadIdentityError.self) {
                try source(time.transport(), platform: time.transport(), lifetime: lifetime)
            }
        }
    }
}

@Suite("GoogleExternalAccountFile", .computing)
struct GoogleExternalAccountFileTests {
    private static let valid: JSONObject = [
        "type": "external_account", "audience": "//iam.googleapis.com/projects/1",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "universe_domain": "googleapis.com",
        "token_url": "https://sts.googleapis.com/v1/token", "credential_source": ["file": "/run/token"],
    ]

    private func file(
        _ changes: [String: JSONValue?],
        hosts: Set<String> = [],
        universe: String = "googleapis.com"
    ) throws(WorkloadIdentityError) -> GoogleExternalAccountFile {
        var object = Self.valid
        for (name, value) in changes { object[name] = value }
        return try GoogleExternalAccountFile(Array(object.serializedData()), subjectHosts: hosts, universe: universe)
    }

    private func code(
        _ changes: [String: JSONValue?],
        hosts: Set<String> = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> WorkloadIdentityError.Code? {
        #expect(throws: WorkloadIdentityError.self, sourceLocation: sourceLocation) {
            try file(changes, hosts: hosts)
        }?.code
    }

    @Test(
        "Accepts only Google's hosts for the exchange",
        .shows("W16"),
        arguments: [
            ("https://sts.googleapis.com/v1/token", true),
            ("https://sts.europe-west1.rep.googleapis.com/v1/token", true),
            ("https://us-sts.googleapis.com/v1/token", true), ("https://sts.mtls.googleapis.com/v1/token", true),
            ("https://sts.googleapis.com:443/v1/token", true), ("http://sts.googleapis.com/v1/token", false),
            ("https://sts.googleapis.com:8443/v1/token", false), ("https://sts.googleapis.com.evil.example/", false),
            ("https://evilgoogleapis.com/", false), ("https://googleapis.com/", false),
            ("https://storage.googleapis.com/bucket", false), ("https://a.b.storage.googleapis.com/", false),
            ("https://sts.googleapis.com@evil.example/", false), ("https://a@sts.googleapis.com/", false),
            ("https://evil.example/?sts.googleapis.com", false), ("https://evil.example#.googleapis.com", false),
            ("https://169.254.169.254/", false), ("file:///etc/passwd", false), ("", false),
        ]
    )
    func tokenURL(address: String, isAllowed: Bool) throws {
        if isAllowed {
            #expect(try file(["token_url": .string(address)]).tokenURL.absoluteString == address)
        } else {
            let found = code(["token_url": .string(address)])
            #expect(found == (address.isEmpty ? .invalidConfiguration : .insecureEndpoint))
        }
    }

    @Test("Accepts only Google's API for the impersonation", .shows("W16"))
    func impersonationURL() throws {
        let path = "/v1/projects/-/serviceAccounts/a@b.iam.gserviceaccount.com:generateAccessToken"
        let cases: [(String, Bool)] = [
            ("https://iamcredentials.googleapis.com\(path)", true),
            ("https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a:signJwt", false),
            ("https://sts.googleapis.com\(path)", false), ("https://iamcredentials.evil.example\(path)", false),
            ("http://iamcredentials.googleapis.com\(path)", false),
        ]
        for (address, isAllowed) in cases {
            let changes: [String: JSONValue?] = ["service_account_impersonation_url": .string(address)]
            if isAllowed {
                #expect(try file(changes).impersonationURL?.absoluteString == address)
            } else {
                #expect(code(changes) == .insecureEndpoint)
            }
        }
        #expect(code(["service_account_impersonation_url": 7]) == .insecureEndpoint)
    }

    @Test("Another universe must be named by the program")
    func universe() throws {
        #expect(code(["universe_domain": "evil.example"]) == .insecureEndpoint)
        #expect(code(["universe_domain": 7]) == .insecureEndpoint)
        let changes: [String: JSONValue?] = [
            "universe_domain": "cloud.example", "token_url": "https://sts.cloud.example/v1/token",
        ]
        #expect(code(changes) == .insecureEndpoint)
        #expect(try file(changes, universe: "cloud.example").tokenURL.host == "sts.cloud.example")
    }

    @Test(
        "Requests subject tokens only from hosts that the program names, and only confined or encrypted",
        .shows("W16")
    )
    func subjectHosts() throws {
        let cases: [(String, Set<String>, Bool)] = [
            ("http://169.254.169.254/a", [], false), ("http://169.254.169.254/a", ["169.254.169.254"], true),
            ("https://ci.example/a", ["ci.example"], true), ("https://CI.example/a", ["ci.EXAMPLE"], true),
            ("https://ci.example/a", ["example"], false), ("https://a.ci.example/a", ["ci.example"], false),
            ("http://ci.example/a", ["ci.example"], false), ("https://a@ci.example/a", ["ci.example"], false),
            ("file:///etc/passwd", [""], false),
        ]
        for (address, hosts, isAllowed) in cases {
            let changes: [String: JSONValue?] = ["credential_source": ["url": .string(address)]]
            if isAllowed {
                #expect(throws: Never.self) { try file(changes, hosts: hosts) }
            } else {
                #expect(code(changes, hosts: hosts) == .insecureEndpoint)
            }
        }
    }

    @Test(
        "Never starts a program, and refuses other sources and kinds of file",
        .shows("W16", "Google workload identity federation")
    )
    func unsupported() throws {
        let sources: [JSONValue] = [
            ["executable": ["command": "/bin/sh -c id", "timeout_millis": 5_000]],
            ["file": "/run/token", "executable": ["command": "/bin/id"]],
            ["environment_id": "aws1", "url": "https://a/"],
            ["certificate": ["use_default_certificate_config": true]], [:], ["file": "/a", "url": "https://a/"], "a",
            ["file": "/a", "format": ["type": "xml"]], ["file": "/a", "format": ["type": "json"]],
            ["file": "/a", "format": "json"],
        ]
        for source in sources { #expect(code(["credential_source": source]) == .invalidConfiguration) }
        let changes: [[String: JSONValue?]] = [
            ["type": "service_account"], ["type": "authorized_user"], ["type": nil], ["audience": nil],
            ["audience": ""], ["token_url": nil], ["subject_token_type": nil],
            ["subject_token_type": "urn:ietf:params:aws:token-type:aws4_request"],
            ["workforce_pool_user_project": "p"], ["credential_source": nil], ["client_id": "a"],
            ["service_account_impersonation": ["token_lifetime_seconds": 599]],
            ["service_account_impersonation": ["token_lifetime_seconds": 43_201]],
        ]
        for change in changes { #expect(code(change) == .invalidConfiguration) }
        #expect(throws: WorkloadIdentityError(.invalidConfiguration, .read, "")) {
            try GoogleExternalAccountFile(Array("{".utf8), subjectHosts: [], universe: "googleapis.com")
        }
    }

    @Test("Refuses header fields that would change the request's host or framing")
    func fields() throws {
        let headers: [JSONValue] = [
            ["Host": "internal.example"], ["hOST": "a"], ["a b": "c"], ["a": "b\r\nc: d"], ["a": 7], "a", ["": "b"],
        ]
        for value in headers {
            let changes: [String: JSONValue?] = ["credential_source": ["url": "https://ci.example/", "headers": value]]
            #expect(code(changes, hosts: ["ci.example"]) == .invalidConfiguration)
        }
    }

    @Test("A missing variable or file names the setting")
    func missing() {
        for path in [nil, "", "/nonexistent/file.json"] as [String?] {
            expectError(.notConfigured, naming: "GOOGLE_APPLICATION_CREDENTIALS") {
                try GoogleExternalAccountSource(environment: WorkloadEnvironment(variable: { _ in path }))
            }
        }
    }
}
