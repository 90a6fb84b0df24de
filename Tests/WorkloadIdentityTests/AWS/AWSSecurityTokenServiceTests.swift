import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@testable import WorkloadIdentity

/// Answers of the Security Token Service.
enum STSAnswer {
    static func role(
        _ accessKeyID: String = "ASIA1",
        action: String = "AssumeRole",
        expiration: String = "<Expiration>2001-09-09T02:46:40Z</Expiration>"
    ) -> MockTransport.Step {
        .text(
            """
            <?xml version="1.0"?>
            <\(action)Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
              <\(action)Result>
                <AssumedRoleUser><Arn>arn:aws:sts::1:assumed-role/r/s</Arn></AssumedRoleUser>
                <Credentials><AccessKeyId>\(accessKeyID)</AccessKeyId><SecretAccessKey>S3cr3t/+</SecretAccessKey>
                <SessionToken>S3cr3t&#61;&#x3D;</SessionToken>\(expiration)</Credentials>
              </\(action)Result>
              <ResponseMetadata><RequestId>1</RequestId></ResponseMetadata>
            </\(action)Response>
            """
        )
    }

    static func error(_ code: String, status: Int = 400) -> MockTransport.Step {
        .status(
            status,
            body: Data(
                """
                <ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>\
                <Code>\(code)</Code><Message>S3cr3t</Message></Error><RequestId>1</RequestId></ErrorResponse>
                """.utf8
            )
        )
    }
}

@Suite("AWS Security Token Service", .limitedConcurrency)
struct AWSSecurityTokenServiceTests {
    private static let role = "arn:aws:iam::123456789012:role/deploy"
    private static let action = "AssumeRoleWithWebIdentity"

    private let time = ManualTime(advancesWhenSleeping: true)
    private let folder: TokenFolder

    init() throws { folder = try TokenFolder() }

    private func environment(
        _ transport: MockTransport,
        _ variables: [String: String?] = [:]
    ) -> WorkloadEnvironment {
        var all: [String: String?] = [
            "AWS_REGION": "eu-central-1", "AWS_ROLE_ARN": Self.role, "AWS_WEB_IDENTITY_TOKEN_FILE": folder.path,
        ]
        all.merge(variables) { _, new in new }
        return time.awsEnvironment(transport, all)
    }

    private func form(_ request: MockTransport.RecordedRequest) -> String {
        String(decoding: request.body, as: UTF8.self)
    }

    @Test("Assumes a role for the platform's token, without a signature", .shows("O63", "AWS (web identity)"))
    func webIdentity() async throws {
        try folder.write("one")
        let transport = time.transport(STSAnswer.role(action: Self.action))
        let source = AWSCredentialSource.webIdentity(environment: environment(transport))
        let credentials = try await source.credentials()
        #expect(credentials.parts == ["ASIA1", "S3cr3t/+", "S3cr3t=="])
        #expect(credentials.expiry == time.now + .seconds(3_600))
        let request = try #require(transport.requests.first)
        #expect(request.url.absoluteString == "https://sts.eu-central-1.amazonaws.com/")
        #expect(request.method == .post)
        #expect(request.headers["Authorization"] == nil)
        #expect(
            form(request) == """
                Action=AssumeRoleWithWebIdentity&Version=2011-06-15\
                &RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fdeploy&RoleSessionName=session-1000000000\
                &WebIdentityToken=one
                """
        )
    }

    @Test("Takes the token of any source, and a new one after a rejection, once")
    func replaced() async throws {
        let tokens = SharedValue(["one", "two"])
        let source = ClosureTokenSource { [time] requirements in
            let token = tokens.value.first { !requirements.isUnwanted(Secret($0)) } ?? "two"
            return AccessToken(value: Secret(token), type: "N_A", requested: time.now)
        }
        let transport = time.transport(STSAnswer.error("ExpiredTokenException"), STSAnswer.role(action: Self.action))
        let credentials = AWSCredentialSource.webIdentity(
            token: source,
            role: Self.role,
            sessionName: "a@b",
            duration: .seconds(900),
            region: "cn-north-1",
            environment: environment(transport)
        )
        _ = try await credentials.credentials()
        #expect(transport.requests.map { form($0).split(separator: "=").last } == ["one", "two"])
        #expect(transport.requests[0].url.absoluteString == "https://sts.cn-north-1.amazonaws.com.cn/")
        #expect(form(transport.requests[0]).contains("RoleSessionName=a%40b&DurationSeconds=900&"))
        let unchanged = time.transport(STSAnswer.error("InvalidIdentityToken"), STSAnswer.role(action: Self.action))
        try folder.write("one")
        await expectFailure(of: .webIdentity(environment: environment(unchanged)), .expiredToken)
        #expect(unchanged.requests.count == 1)
    }

    @Test(
        "Reports refusals with advice, shows nothing that the server wrote, and sends nothing twice",
        arguments: [
            ("AccessDenied", 403, "trust policy"), ("IDPRejectedClaim", 403, "audience"),
            ("RegionDisabledException", 403, "region"), ("S3cr3t", 400, "status 400"),
            ("ValidationError", 400, "duration"),
        ]
    )
    func refused(code: String, status: Int, advice: String) async throws {
        try folder.write("one")
        let transport = time.transport(STSAnswer.error(code, status: status), STSAnswer.role(action: Self.action))
        await expectFailure(of: .webIdentity(environment: environment(transport)), .platformRejected, naming: advice)
        #expect(transport.requests.count == 1)
    }

    @Test("Repeats a request while STS or the identity provider is overloaded")
    func retries() async throws {
        try folder.write("one")
        let transport = time.transport(
            STSAnswer.error("IDPCommunicationError"),
            STSAnswer.error("Throttling"),
            .status(503),
            STSAnswer.role(action: Self.action)
        )
        _ = try await AWSCredentialSource.webIdentity(environment: environment(transport)).credentials()
        #expect(transport.requests.count == 4)
        let outage = MockTransport(time: time.timeSource) { _ in
            HTTPTransportResponse(
                status: 400,
                body: Data("<ErrorResponse><Error><Code>Throttling</Code></Error></ErrorResponse>".utf8)
            )
        }
        await expectFailure(
            of: .webIdentity(environment: environment(outage)),
            .platformUnavailable,
            naming: "Throttling"
        )
    }

    @Test("Refuses answers without an expiry, with another form or with an expired one", .shows("W33"))
    func answers() async throws {
        try folder.write("one")
        let cases: [(MockTransport.Step, WorkloadIdentityError.Code)] = [
            (STSAnswer.role(action: Self.action, expiration: ""), .invalidResponse),
            (STSAnswer.role(action: Self.action, expiration: "<Expiration>x</Expiration>"), .invalidResponse),
            (
                STSAnswer.role(action: Self.action, expiration: "<Expiration>2001-09-09T01:46:40Z</Expiration>"),
                .expiredToken
            ),
            (STSAnswer.role(action: "AssumeRole"), .invalidResponse), (.json("{}"), .invalidResponse),
            (.text("<a>"), .invalidResponse), (.text("<!DOCTYPE a><a/>"), .invalidResponse),
            (.status(307, headers: ["Location": "https://other.example/"]), .platformRejected),
            (.text("<a>" + String(repeating: "x", count: 200_000) + "</a>"), .tooLarge),
        ]
        for (step, code) in cases {
            let transport = time.transport(step, STSAnswer.role(action: Self.action))
            await expectFailure(of: .webIdentity(environment: environment(transport)), code)
            #expect(transport.requests.count == 1)
        }
    }

    @Test("Sends nothing without a valid role, session name, region and endpoint")
    func configuration() async throws {
        try folder.write("one")
        let cases: [([String: String?], WorkloadIdentityError.Code, String)] = [
            (["AWS_REGION": nil], .notConfigured, "AWS_REGION"),
            (["AWS_REGION": "a/b"], .invalidConfiguration, "region"),
            (["AWS_REGION": "a.example"], .invalidConfiguration, "region"),
            (["AWS_ROLE_ARN": "deploy"], .invalidConfiguration, "ARN"),
            (["AWS_ROLE_ARN": nil], .notConfigured, "AWS_ROLE_ARN"),
            (["AWS_ROLE_SESSION_NAME": "a b"], .invalidConfiguration, "session"),
            (["AWS_ENDPOINT_URL_STS": "http://sts.example/"], .insecureEndpoint, "AWS_ENDPOINT_URL_STS"),
            (["AWS_WEB_IDENTITY_TOKEN_FILE": "/none"], .notConfigured, "/none"),
        ]
        for (variables, code, text) in cases {
            let transport = time.transport(STSAnswer.role(action: Self.action))
            await expectFailure(of: .webIdentity(environment: environment(transport, variables)), code, naming: text)
            #expect(transport.requests.isEmpty)
        }
        let local = time.transport(STSAnswer.role(action: Self.action))
        let variables = ["AWS_ENDPOINT_URL": "http://127.0.0.1:4566"]
        _ = try await AWSCredentialSource.webIdentity(environment: environment(local, variables)).credentials()
        #expect(local.requests[0].url.absoluteString == "http://127.0.0.1:4566/")
    }

    @Test("Assumes a role with the credentials of another one", .shows("AWS (roles)"))
    func roles() async throws {
        let transport = time.transport(STSAnswer.role("ONE"), STSAnswer.role("TWO"))
        let environment = environment(transport)
        let base = AWSCredentialSource("test", environment: environment) { _ in AWSSignatureV4Tests.credentials }
        let first = AWSCredentialSource.role(Self.role, with: base, environment: environment)
        let second = AWSCredentialSource.role(Self.role, with: first, externalID: "x y", environment: environment)
        #expect(try await second.credentials().accessKeyID == "TWO")
        let fields = transport.requests.map { $0.headers["Authorization"] ?? "" }
        #expect(fields[0].contains("Credential=AKIDEXAMPLE/20010909/eu-central-1/sts/aws4_request,"))
        #expect(fields[1].contains("Credential=ONE/"))
        #expect(transport.requests.map { $0.headers["X-Amz-Security-Token"] } == [nil, "S3cr3t=="])
        #expect(form(transport.requests[1]).hasSuffix("&ExternalId=x+y"))
        let failing = AWSCredentialSource.role(
            Self.role,
            with: .environment(time.awsEnvironment(nil)),
            environment: environment
        )
        await expectFailure(of: failing, .notConfigured, naming: "AWS_ACCESS_KEY_ID")
    }

    @Test("Learns the difference of the clocks from STS")
    func skew() async throws {
        let rejected = HTTPTransportResponse(
            status: 403,
            headers: ["Date": "Sun, 09 Sep 2001 02:46:40 GMT"],
            body: Data("<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code></Error></ErrorResponse>".utf8)
        )
        let transport = time.transport(.response(rejected), STSAnswer.role())
        let environment = environment(transport)
        let base = AWSCredentialSource("test", environment: environment) { _ in AWSSignatureV4Tests.credentials }
        _ = try await AWSCredentialSource.role(Self.role, with: base, environment: environment).credentials()
        #expect(transport.requests.map { $0.headers["X-Amz-Date"] } == ["20010909T014640Z", "20010909T024640Z"])
    }

    // MARK: Tokens for others

    private func token(_ steps: MockTransport.Step...) -> (AWSWebIdentityTokenSource, MockTransport) {
        let transport = MockTransport(steps: steps, time: time.timeSource, handler: nil)
        let environment = environment(transport)
        let credentials = AWSCredentialSource("test", environment: environment) { _ in
            AWSSignatureV4Tests.credentials
        }
        let source = AWSWebIdentityTokenSource(
            audience: "https://as.example",
            credentials: credentials,
            environment: environment
        )
        return (source, transport)
    }

    private static func issued(_ token: String) -> MockTransport.Step {
        .text(
            """
            <GetWebIdentityTokenResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetWebIdentityTokenResult>\
            <WebIdentityToken>\(token)</WebIdentityToken><Expiration>2001-09-09T01:51:40Z</Expiration>\
            </GetWebIdentityTokenResult></GetWebIdentityTokenResponse>
            """
        )
    }

    @Test("Gets a token for another party from AWS", .shows("O64", "AWS (outbound)"))
    func outbound() async throws {
        let (source, transport) = token(Self.issued(SampleToken().text))
        let token = try await source.token()
        #expect(text(token) == SampleToken().text)
        #expect(token.type == "N_A")
        #expect(token.expiry == time.now + .seconds(600))
        #expect(
            form(transport.requests[0]) == """
                Action=GetWebIdentityToken&Version=2011-06-15&Audience.member.1=https%3A%2F%2Fas.example\
                &SigningAlgorithm=ES384&DurationSeconds=300
                """
        )
        #expect(transport.requests[0].headers["Authorization"]?.contains("/sts/aws4_request") == true)
    }

    @Test("Refuses tokens for another party, expired ones, and other answers")
    func outboundRefusals() async throws {
        await expectFailure(of: token(Self.issued(SampleToken(["aud": "other"]).text)).0, .wrongAudience)
        await expectFailure(of: token(Self.issued(SampleToken(["exp": 1]).text)).0, .expiredToken)
        await expectFailure(of: token(Self.issued("S3cr3t")).0, .malformedToken)
        await expectFailure(of: token(STSAnswer.role()).0, .invalidResponse)
        let (disabled, transport) = token(STSAnswer.error("OutboundWebIdentityFederationDisabled", status: 403))
        await expectFailure(of: disabled, .platformRejected, naming: "enable-outbound-web-identity-federation")
        #expect(transport.requests.count == 1)
    }

    @Test(
        "Reads the XML of AWS, and nothing else",
        arguments: [
            ("<a><b>1</b></a>", "1"), ("<?xml version='1.0'?>\n<x:a q=\">\"/>", nil),
            ("<a><b>x&amp;&#65;</b></a>\n", "x&A"),
            ("<a><b/></a>", ""), ("<a><b>1</b><b>2</b></a>", nil), ("<a><b>&x;</b></a>", nil),
            ("<a><b>&#xD800;</b></a>", nil), ("<a><b>1</c></a>", nil), ("<a><b>1</b>", nil), ("<a></a><b>1</b>", nil),
            ("<a><!-- x --><b>1</b></a>", nil), ("<a><b><![CDATA[1]]></b></a>", nil), ("</a>", nil), ("", nil),
            ("x", nil),
        ] as [(String, String?)]
    )
    func xml(text: String, value: String?) {
        #expect(AWSXML(Data(text.utf8))?["a/b"] == value)
    }
}
