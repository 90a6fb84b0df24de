import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

@testable import WorkloadIdentity

/// Checks the error with which a source of credentials fails, which never contains `S3cr3t`.
func expectFailure(
    of source: AWSCredentialSource,
    _ code: WorkloadIdentityError.Code,
    naming text: String = "",
    sourceLocation: SourceLocation = #_sourceLocation
) async {
    let error = await #expect(throws: WorkloadIdentityError.self, sourceLocation: sourceLocation) {
        _ = try await source.credentials()
    }
    guard let error else { return }
    let isExpected = error.code == code && (text.isEmpty || error.message.contains(text))
    #expect(isExpected, "\(error)", sourceLocation: sourceLocation)
    #expect(!error.description.contains("S3cr3t"), sourceLocation: sourceLocation)
}

extension ManualTime {
    /// Advances for the short delays of retries, but not for the timers that limit a request.
    var patientSource: TimeSource {
        TimeSource(now: { self.now }, date: { self.date }) { duration in
            guard duration >= .seconds(20) else { return try await self.sleep(for: duration) }
            try await Task.sleep(for: .seconds(600))
        }
    }

    func awsEnvironment(_ transport: MockTransport?, _ variables: [String: String?] = [:]) -> WorkloadEnvironment {
        WorkloadEnvironment(
            variable: { variables[$0] ?? nil },
            timeSource: patientSource,
            transport: transport,
            random: { 1 }
        )
    }
}

extension AWSCredentials {
    /// The parts, for comparisons.
    var parts: [String?] { [accessKeyID, secretAccessKey.expose { $0 }, sessionToken?.expose { $0 }] }
}

@Suite("AWSCredentialSource", .limitedConcurrency)
struct AWSCredentialSourceTests {
    private let time = ManualTime(advancesWhenSleeping: true)
    private let folder: TokenFolder

    init() throws { folder = try TokenFolder() }

    /// The answer of a metadata service, valid for an hour.
    private static func answer(
        _ changes: [String: String?] = [:],
        headers: HTTPHeaders = [:]
    ) -> MockTransport.Step {
        var members: [String: String] = [
            "AccessKeyId": "ASIA1", "SecretAccessKey": "S3cr3t/+", "Token": "S3cr3t==",
            "Expiration": "2001-09-09T02:46:40Z",
        ]
        for (name, value) in changes { members[name] = value }
        let text = members.map { "\"\($0.key)\":\"\($0.value)\"" }.joined(separator: ",")
        return .json("{\(text)}", headers: headers)
    }

    // MARK: The environment

    @Test("Takes credentials from variables", .shows("O63"))
    func environment() async throws {
        var variables: [String: String?] = ["AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "S3cr3t"]
        let permanent = AWSCredentialSource.environment(time.awsEnvironment(nil, variables))
        #expect(try await permanent.credentials().parts == ["AKID", "S3cr3t", nil])
        #expect(try await permanent.credentials().expiry == nil)
        variables["AWS_SESSION_TOKEN"] = "token"
        variables["AWS_CREDENTIAL_EXPIRATION"] = "2001-09-09T01:56:40Z"
        let temporary = AWSCredentialSource.environment(time.awsEnvironment(nil, variables))
        #expect(try await temporary.credentials().parts == ["AKID", "S3cr3t", "token"])
        #expect(try await temporary.credentials().expiry == time.now + .seconds(600))
        variables["AWS_CREDENTIAL_EXPIRATION"] = "2001-09-09T01:46:40Z"
        await expectFailure(of: .environment(time.awsEnvironment(nil, variables)), .expiredToken, naming: "clock")
        variables["AWS_CREDENTIAL_EXPIRATION"] = "soon"
        await expectFailure(of: .environment(time.awsEnvironment(nil, variables)), .malformedToken)
        await expectFailure(
            of: .environment(time.awsEnvironment(nil, ["AWS_ACCESS_KEY_ID": "AKID"])),
            .notConfigured,
            naming: "AWS_SECRET_ACCESS_KEY"
        )
    }

    @Test(
        "Reads an expiry with any zone, as “aws configure export-credentials” writes it",
        arguments: [
            "2001-09-09T01:56:40+00:00", "2001-09-09T03:56:40.123456+02:00", "2001-09-08T20:26:40-05:30",
            "2001-09-09T01:56:40.5Z",
        ]
    )
    func zones(expiration: String) async throws {
        let variables = ["AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "S3cr3t"]
        var environment = time.awsEnvironment(
            nil,
            variables.merging(["AWS_CREDENTIAL_EXPIRATION": expiration]) { $1 }
        )
        #expect(try await AWSCredentialSource.environment(environment).credentials().expiry == time.now + .seconds(600))
        for zone in ["", "+0000", "+24:00", "+00:60", "+1:000", "00:00", "++1:00", "+00:00Z", "Z+00:00"] {
            let text = "2001-09-09T01:56:40" + zone
            environment = time.awsEnvironment(nil, variables.merging(["AWS_CREDENTIAL_EXPIRATION": text]) { $1 })
            await expectFailure(of: .environment(environment), .malformedToken, naming: "RFC 3339")
        }
    }

    @Test("Reads permanent credentials again from time to time, and keeps them if they are the same")
    func permanent() async throws {
        let time = ManualTime()
        defer { time.end() }
        let variables = ["AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "s"]
        let source = AWSCredentialSource.environment(
            WorkloadEnvironment(variable: { variables[$0] }, timeSource: time.timeSource)
        )
        for _ in 1...5 {
            #expect(try await source.credentials().accessKeyID == "AKID")
            time.advance(by: .seconds(3_600))
        }
    }

    // MARK: Containers

    private func container(
        _ variables: [String: String?],
        _ steps: MockTransport.Step...
    ) -> (
        AWSCredentialSource, MockTransport
    ) {
        let transport = MockTransport(steps: steps, time: time.timeSource, handler: nil)
        return (.container(environment: time.awsEnvironment(transport, variables)), transport)
    }

    @Test("Gets a container's credentials from ECS, EKS and other local endpoints", .shows("AWS (containers)"))
    func containers() async throws {
        try folder.write("file-token\n")
        let cases: [([String: String?], url: String, field: String?)] = [
            (["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/x?a=b"], "http://169.254.170.2/v2/x?a=b", nil),
            (
                [
                    "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.170.23/v1/credentials",
                    "AWS_CONTAINER_AUTHORIZATION_TOKEN": "no", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": folder.path,
                ], "http://169.254.170.23/v1/credentials", "file-token"
            ),
            (
                [
                    "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://localhost:8080/c",
                    "AWS_CONTAINER_AUTHORIZATION_TOKEN": "Basic x",
                ], "http://localhost:8080/c", "Basic x"
            ),
            (["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://[fd00:ec2::23]/c"], "http://[fd00:ec2::23]/c", nil),
            (["AWS_CONTAINER_CREDENTIALS_FULL_URI": "https://c.example/"], "https://c.example/", nil),
        ]
        for (variables, url, field) in cases {
            let (source, transport) = container(variables, Self.answer())
            let credentials = try await source.credentials()
            #expect(credentials.parts == ["ASIA1", "S3cr3t/+", "S3cr3t=="])
            #expect(credentials.expiry == time.now + .seconds(3_600))
            #expect(transport.requests.map(\.url.absoluteString) == [url])
            #expect(transport.requests[0].headers["Authorization"] == field)
        }
    }

    @Test(
        "Sends nothing to other addresses without https, or with an invalid token",
        .shows("W32"),
        arguments: [
            ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.169.254/"],
            ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://10.0.0.1/"],
            ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.170.2.example/"],
            ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.170.2@other.example/"],
            ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://user@169.254.170.2/"],
            ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "file:///etc/passwd"],
            ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "@other.example/"],
            ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": ".other.example/"],
        ]
    )
    func addresses(variables: [String: String]) async {
        let (source, transport) = container(variables, Self.answer())
        await expectFailure(of: source, .insecureEndpoint, naming: "nothing is sent")
        let (other, _) = container(
            [
                "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/c",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN": "S3cr3t\r\nX: y",
            ],
            Self.answer()
        )
        await expectFailure(of: other, .malformedToken)
        #expect(transport.requests.isEmpty)
    }

    @Test("Refuses answers without a valid expiry or with other content, and sends nothing twice", .shows("W33"))
    func answers() async {
        let date = "2001-09-09T01:46:40Z"
        let cases: [(MockTransport.Step, WorkloadIdentityError.Code)] = [
            (Self.answer(["Expiration": nil]), .invalidResponse),
            (Self.answer(["Expiration": "never"]), .invalidResponse),
            (Self.answer(["Expiration": date]), .expiredToken),
            (
                Self.answer(["Expiration": "2001-09-09T02:46:40Z"], headers: ["Date": "Sun, 09 Sep 2001 02:46:41 GMT"]),
                .expiredToken
            ),
            (Self.answer(["Token": nil]), .invalidResponse), (Self.answer(["AccessKeyId": ""]), .invalidResponse),
            (Self.answer(["SecretAccessKey": "S3cr3t S3cr3t"]), .invalidResponse),
            (Self.answer(["Code": "AssumeRoleUnauthorizedAccess"]), .platformRejected),
            (.json(#"{"AccessKeyId":1,"SecretAccessKey":[],"Token":{},"Expiration":true}"#), .invalidResponse),
            (.text("<html>S3cr3t</html>"), .invalidResponse), (.status(403), .platformRejected),
            (.status(302, headers: ["Location": "https://other.example/"]), .platformRejected),
            (.json(#"{"AccessKeyId":"\#(String(repeating: "x", count: 200_000))"}"#), .tooLarge),
        ]
        for (step, code) in cases {
            let (source, transport) = container(["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/c"], step, Self.answer())
            await expectFailure(of: source, code)
            #expect(transport.requests.count == 1)
        }
    }

    // MARK: Machines

    @Test("Gets a machine's credentials with a session of version 2", .shows("AWS (instance metadata)"))
    func instance() async throws {
        let transport = time.transport(.text("session=="), .text("role_1@x\nother"), Self.answer(["Code": "Success"]))
        let source = AWSCredentialSource.instance(environment: time.awsEnvironment(transport))
        #expect(try await source.credentials().parts == ["ASIA1", "S3cr3t/+", "S3cr3t=="])
        let base = "http://169.254.169.254/latest"
        #expect(
            transport.requests.map { "\($0.method) \($0.url.absoluteString)" } == [
                "PUT \(base)/api/token", "GET \(base)/meta-data/iam/security-credentials/",
                "GET \(base)/meta-data/iam/security-credentials/role_1@x",
            ]
        )
        #expect(transport.requests[0].headers["X-aws-ec2-metadata-token-ttl-seconds"] == "21600")
        #expect(transport.requests.dropFirst().allSatisfy { $0.headers["X-aws-ec2-metadata-token"] == "session==" })
    }

    @Test("Never continues without a session, and names what to change", .shows("W34"))
    func noSession() async {
        let cases: [([MockTransport.Step], WorkloadIdentityError.Code, String)] = [
            ([.status(403)], .platformRejected, "hop limit"), ([.status(404)], .notConfigured, "instance profile"),
            ([.text("")], .invalidResponse, "token"), ([.text("a\r\nb: c")], .invalidResponse, "token"),
            ([.text("session"), .status(404)], .notConfigured, "instance profile"),
            ([.text("session"), .text("../../x")], .invalidResponse, "role"),
            ([.text("session"), .text("")], .invalidResponse, "role"),
            ([.text("session"), .text("..")], .invalidResponse, "role"),
        ]
        for (steps, code, text) in cases {
            let transport = MockTransport(steps: steps, time: time.timeSource, handler: nil)
            await expectFailure(of: .instance(environment: time.awsEnvironment(transport)), code, naming: text)
            #expect(transport.requests.count == steps.count)
        }
    }

    @Test("The metadata service's address can change within the machine and its link")
    func instanceAddress() async {
        let name = "AWS_EC2_METADATA_SERVICE_ENDPOINT"
        let cases: [([String: String], String?)] = [
            (["\(name)_MODE": "IPv6"], "http://[fd00:ec2::254]/latest/api/token"),
            ([name: "http://127.0.0.1:1338/"], "http://127.0.0.1:1338/latest/api/token"),
            ([name: "http://imds.example/"], nil), ([name: "http://169.254.169.254/?x"], nil),
        ]
        for (variables, url) in cases {
            let transport = time.transport(.status(403))
            let source = AWSCredentialSource.instance(environment: time.awsEnvironment(transport, variables))
            await expectFailure(of: source, url == nil ? .insecureEndpoint : .platformRejected)
            #expect(transport.requests.map(\.url.absoluteString) == (url.map { [$0] } ?? []))
        }
        let disabled = time.awsEnvironment(nil, ["AWS_EC2_METADATA_DISABLED": "TRUE"])
        await expectFailure(of: .instance(environment: disabled), .notConfigured, naming: "AWS_EC2_METADATA_DISABLED")
    }

    // MARK: Profiles

    private func profiles(
        _ credentials: String = "",
        config: String = "",
        _ variables: [String: String?] = [:],
        _ transport: MockTransport? = nil
    ) throws -> WorkloadEnvironment {
        let paths = ["credentials", "config"].map { folder.url.appending(path: $0).path }
        for (path, text) in zip(paths, [credentials, config]) {
            try Data(text.utf8).write(to: URL(filePath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        }
        var all: [String: String?] = ["AWS_SHARED_CREDENTIALS_FILE": paths[0], "AWS_CONFIG_FILE": paths[1]]
        all.merge(variables) { _, new in new }
        return time.awsEnvironment(transport, all)
    }

    @Test("Reads a profile's keys from both files, the file with credentials first", .shows("AWS (profiles)"))
    func profile() async throws {
        let environment = try profiles(
            """
            # comment
            [default]
            aws_access_key_id = AKID1
            aws_secret_access_key=a=b+/ # comment
            [ dev ]
            AWS_ACCESS_KEY_ID = AKID2
            aws_session_token = token
            s3 =
              aws_access_key_id = nested
            [broken
            aws_access_key_id = AKID3
            """,
            config: """
                [profile dev]\r
                aws_access_key_id = other\r
                aws_secret_access_key = secret\r
                [profile "with name"]
                aws_access_key_id = AKID4
                aws_secret_access_key = x
                [dev]
                aws_secret_access_key = wrong
                [sso-session dev]
                aws_secret_access_key = wrong
                """,
            ["AWS_PROFILE": "dev"]
        )
        let parts = { (name: String?) in
            try await AWSCredentialSource.profile(name, environment: environment).credentials().parts
        }
        #expect(try await parts("default") == ["AKID1", "a=b+/", nil])
        #expect(try await parts(nil) == ["AKID2", "secret", "token"])
        #expect(AWSCredentialSource.profile(environment: environment).name == "the profile “dev”")
        await expectFailure(of: .profile("none", environment: environment), .notConfigured, naming: "“none”")
    }

    @Test("Reads names with spaces, indented settings, and “profile default” before “default”, as the AWS CLI")
    func syntax() async throws {
        let environment = try profiles(
            """
              [my profile]
              ; comment
              aws_access_key_id = AKID1
                continued = value
              aws_secret_access_key = s#1;2
              aws_session_token = t\t; comment
            """,
            config: """
                [profile default] # comment
                aws_access_key_id = AKID2
                s3 =
                    aws_access_key_id = nested
                aws_secret_access_key = explicit
                [default]
                aws_access_key_id = implicit
                [profile 'my other']
                aws_access_key_id = AKID3
                aws_secret_access_key = s3
                [profiles]
                [profile]
                """
        )
        let parts = { (name: String) in
            try await AWSCredentialSource.profile(name, environment: environment).credentials().parts
        }
        #expect(try await parts("my profile") == ["AKID1", "s#1;2", "t"])
        #expect(try await parts("default") == ["AKID2", "explicit", nil])
        #expect(try await parts("my other") == ["AKID3", "s3", nil])
        for name in ["s", ""] {
            await expectFailure(of: .profile(name, environment: environment), .notConfigured, naming: "no profile")
        }
        let reversed = try profiles(config: "[default]\nregion=x\n[profile default]\nlogin_session = arn")
        await expectFailure(of: .profile(environment: reversed), .invalidConfiguration, naming: "login_session")
        #expect(AWSCredentialSource.default(environment: reversed).name == "the profile “default”")
    }

    @Test("Finds the files in the home folder, and refuses those that others can change", .shows("W35"))
    func files() async throws {
        let home = folder.url.appending(path: ".aws")
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
        let path = home.appending(path: "credentials").path
        let text = Data("[default]\naws_access_key_id=A\naws_secret_access_key=S3cr3t".utf8)
        try text.write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let source = AWSCredentialSource.profile(environment: time.awsEnvironment(nil, ["HOME": folder.url.path]))
        #expect(try await source.credentials().parts == ["A", "S3cr3t", nil])
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
        let environment = time.awsEnvironment(nil, ["HOME": folder.url.path])
        await expectFailure(of: .profile(environment: environment), .insecureFile, naming: "chmod")
        #expect(AWSCredentialSource.default(environment: environment).name == "the profile “default”")
        let large = String(repeating: "# comment\n", count: 200_000)
        await expectFailure(of: .profile(environment: try profiles(large)), .tooLarge)
    }

    @Test(
        "Refuses a profile that is incomplete or requires what isn't supported",
        arguments: [
            ("aws_access_key_id = A", "aws_secret_access_key"), ("credential_process = S3cr3t", "credential_process"),
            ("sso_session = x", "sso_session"), ("role_arn = arn:aws:iam::1:role/r", "source_profile"),
            ("role_arn = arn:aws:iam::1:role/r\nsource_profile = a\ncredential_source = Environment", "source_profile"),
            ("role_arn = arn:aws:iam::1:role/r\ncredential_source = S3cr3t", "credential_source"),
            ("role_arn = arn:aws:iam::1:role/r\nsource_profile = default", "aws_access_key_id"),
            ("role_arn = arn:aws:iam::1:role/r\nsource_profile = other", "loop"),
            ("role_arn = arn:aws:iam::1:role/r\nsource_profile = a\nmfa_serial = x", "mfa_serial"),
            ("role_arn = arn:aws:iam::1:role/r\nsource_profile = a\nduration_seconds = 1", "duration_seconds"),
        ]
    )
    func unsupported(lines: String, name: String) async throws {
        let other = "[other]\nrole_arn = arn:aws:iam::1:role/o\nsource_profile = default\n"
        let environment = try profiles("\(other)[default]\n\(lines)", ["AWS_REGION": "eu-central-1"])
        await expectFailure(of: .profile(environment: environment), .invalidConfiguration, naming: name)
    }

    @Test("Assumes the roles of a profile one after the other, in its region")
    func chain() async throws {
        let transport = time.transport(STSAnswer.role("ONE"), STSAnswer.role("TWO"))
        let environment = try profiles(
            "[base]\naws_access_key_id = AKID\naws_secret_access_key = s",
            config: """
                [profile middle]
                role_arn = arn:aws:iam::1:role/middle
                source_profile = base
                [profile dev]
                role_arn = arn:aws:iam::1:role/dev
                source_profile = middle
                role_session_name = session
                external_id = external
                duration_seconds = 900
                region = eu-central-1
                """,
            ["AWS_REGION": "us-east-1"],
            transport
        )
        let credentials = try await AWSCredentialSource.profile("dev", environment: environment).credentials()
        #expect(credentials.parts == ["TWO", "S3cr3t/+", "S3cr3t=="])
        let signers = transport.requests.map {
            $0.headers["Authorization"]?.split(separator: "=")[1].prefix { $0 != "/" }
        }
        #expect(signers == ["AKID", "ONE"])
        let form = String(decoding: transport.requests[1].body, as: UTF8.self)
        #expect(
            form == """
                Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fdev&RoleSessionName=session\
                &DurationSeconds=900&ExternalId=external
                """
        )
    }

    @Test("Assumes the role of a profile for the token in a file, also one in the home folder")
    func webIdentityProfile() async throws {
        try folder.write("one")
        func source(_ path: String, _ transport: MockTransport) throws -> AWSCredentialSource {
            let environment = try profiles(
                "[default]\nrole_arn = arn:aws:iam::1:role/r\nweb_identity_token_file = \(path)",
                ["AWS_REGION": "eu-central-1", "HOME": folder.url.path],
                transport
            )
            return .profile(environment: environment)
        }
        for path in [folder.path, "~/token"] {
            let transport = time.transport(STSAnswer.role("WEB", action: "AssumeRoleWithWebIdentity"))
            #expect(try await source(path, transport).credentials().accessKeyID == "WEB")
            let request = try #require(transport.requests.first)
            #expect(request.headers["Authorization"] == nil)
            #expect(String(decoding: request.body, as: UTF8.self).hasSuffix("&WebIdentityToken=one"))
        }
        let unused = time.transport()
        let absent = try source("~/absent", unused)
        await expectFailure(of: absent, .notConfigured, naming: "“web_identity_token_file” of the profile “default”")
        #expect(unused.requests.isEmpty)
    }

    // MARK: The choice

    @Test("Chooses one source by variables and files, and sends no request", .shows("O63", "W18"))
    func choice() async throws {
        let keys = "[default]\naws_access_key_id = A\naws_secret_access_key = s"
        let container = ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/c"]
        let imds = ["AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1/"]
        let cases: [(String, [String: String], String)] = [
            (keys, ["AWS_ACCESS_KEY_ID": "A", "AWS_WEB_IDENTITY_TOKEN_FILE": "/t"], "the environment"),
            (keys, ["AWS_SECRET_ACCESS_KEY": "s"], "the environment"),
            (keys, ["AWS_WEB_IDENTITY_TOKEN_FILE": "/t", "AWS_PROFILE": "x"], "the role for a web identity"),
            (keys, ["AWS_PROFILE": "x"], "the profile “x”"), (keys, container, "the profile “default”"),
            ("", container.merging(imds) { $1 }, "the container"),
            ("[default]\nregion = x", imds, "the instance metadata service"), ("", [:], "nothing"),
            ("", imds.merging(["AWS_EC2_METADATA_DISABLED": "true"]) { $1 }, "nothing"),
        ]
        for (file, variables, name) in cases {
            let environment = try profiles(file, variables, time.transport())
            #expect(AWSCredentialSource.default(environment: environment).name == name)
        }
        // Not the keys of the profile.
        let incomplete = try profiles(keys, ["AWS_ACCESS_KEY_ID": "A"])
        await expectFailure(of: .default(environment: incomplete), .notConfigured, naming: "AWS_SECRET_ACCESS_KEY")
        await expectFailure(of: .default(environment: try profiles()), .notConfigured, naming: "AWS_PROFILE")
    }
}
