import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

@testable import WorkloadIdentity

@Suite("AzureManagedIdentitySource", .limitedConcurrency)
struct AzureManagedIdentitySourceTests {
    private static let imds = "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01"
    private static let vault = "&resource=https%3A%2F%2Fvault.azure.net"
    private static let appService = [
        "IDENTITY_ENDPOINT": "http://127.0.0.1:41741/msi/token/", "IDENTITY_HEADER": "S3cr3t-header",
    ]

    private let time = ManualTime(advancesWhenSleeping: true)

    private func source(
        _ transport: MockTransport,
        _ identity: AzureManagedIdentitySource.Identity = .systemAssigned,
        resource: String = "https://vault.azure.net",
        variables: [String: String] = [:]
    ) -> AzureManagedIdentitySource {
        AzureManagedIdentitySource(
            resource: resource,
            identity: identity,
            environment: time.environment(transport, variables)
        )
    }

    private static func issued(expiresOn: String = "1000086400", headers: HTTPHeaders = [:]) -> MockTransport.Step {
        .json(
            """
            {"access_token":"S3cr3t-token","expires_on":"\(expiresOn)","expires_in":"86399","not_before":"999999700",\
            "resource":"https://vault.azure.net","token_type":"Bearer"}
            """,
            headers: headers
        )
    }

    @Test(
        "Requests a token of the instance metadata service",
        .shows("O36", "Managed identities"),
        arguments: [
            (AzureManagedIdentitySource.Identity.systemAssigned, ""), (.clientID("a b"), "&client_id=a%20b"),
            (.objectID("o"), "&object_id=o"), (.resourceID("/subscriptions/s"), "&msi_res_id=%2Fsubscriptions%2Fs"),
        ]
    )
    func metadata(identity: AzureManagedIdentitySource.Identity, query: String) async throws {
        let transport = time.transport(Self.issued(), Self.issued())
        for resource in ["https://vault.azure.net", "https://vault.azure.net/.default"] {
            let token = try await source(transport, identity, resource: resource).token()
            #expect(text(token) == "S3cr3t-token")
            #expect(token.type == "Bearer")
            #expect(token.expiry == time.now + .seconds(86_400))
        }
        #expect(transport.requests.count == 2)
        for request in transport.requests {
            #expect(request.method == .get)
            #expect(request.url.absoluteString == Self.imds + Self.vault + query)
            #expect(request.headers["Metadata"] == "true")
            #expect(request.headers["Authorization"] == nil)
            #expect(request.body.isEmpty)
        }
    }

    @Test(
        "Requests a token of App Service with the app's header",
        .shows("Managed identities"),
        arguments: [
            (AzureManagedIdentitySource.Identity.systemAssigned, ""), (.clientID("c"), "&client_id=c"),
            (.objectID("o"), "&principal_id=o"), (.resourceID("/r"), "&mi_res_id=%2Fr"),
        ]
    )
    func appService(identity: AzureManagedIdentitySource.Identity, query: String) async throws {
        let transport = time.transport(Self.issued())
        _ = try await source(transport, identity, variables: Self.appService).token()
        let request = try #require(transport.requests.first)
        #expect(
            request.url.absoluteString
                == "http://127.0.0.1:41741/msi/token/?api-version=2019-08-01" + Self.vault + query
        )
        #expect(request.headers["X-IDENTITY-HEADER"] == "S3cr3t-header")
        #expect(request.headers["Metadata"] == nil)
    }

    @Test("The first matching variables select the endpoint, and nothing else is tried", .shows("W14"))
    func selection() async throws {
        let arc = ["IMDS_ENDPOINT": "http://localhost:40342"]
        let cases: [([String: String], String?)] = [
            ([:], "169.254.169.254"), (["IDENTITY_ENDPOINT": "", "MSI_ENDPOINT": ""], "169.254.169.254"),
            (Self.appService.merging(arc) { $1 }, "127.0.0.1"),
            (Self.appService.merging(["MSI_ENDPOINT": "http://localhost/"]) { $1 }, "127.0.0.1"),
            (Self.appService.merging(["IDENTITY_SERVER_THUMBPRINT": "a"]) { $1 }, nil),
            (["IDENTITY_ENDPOINT": "http://localhost/"], nil), (["MSI_ENDPOINT": "http://localhost/"], nil),
            (["MSI_ENDPOINT": "http://localhost/", "MSI_SECRET": "a"], nil),
            (["IDENTITY_ENDPOINT": "http://localhost/", "IDENTITY_HEADER": "a\r\nb"], nil),
        ]
        for (variables, host) in cases {
            let transport = time.transport(Self.issued())
            let source = source(transport, variables: variables)
            if let host {
                _ = try await source.token()
                #expect(transport.requests.map { $0.url.host } == [host])
            } else {
                let error = await failure(of: source)
                #expect(error?.code == .notConfigured)
                #expect(error?.step == .read)
                #expect(variables.keys.contains { error?.message.contains($0) == true })
                #expect(transport.requests.isEmpty)
            }
        }
    }

    @Test(
        "Sends the app's header only over TLS, or within the machine and its link",
        .shows("W13"),
        arguments: [
            ("https://identity.example/", true), ("http://localhost:1/", true), ("http://169.254.130.2:8081/t", true),
            ("http://10.0.0.1/", false), ("http://169.254.1/", false), ("http://169.254.1.1.example/", false),
            ("http://identity.example/", false), ("http://a@127.0.0.1/", false), ("ftp://127.0.0.1/", false),
            ("http://127.0.0.1/#a", false), ("token", false),
        ]
    )
    func addresses(address: String, isAllowed: Bool) async throws {
        let transport = time.transport(Self.issued())
        let variables = ["IDENTITY_ENDPOINT": address, "IDENTITY_HEADER": "S3cr3t"]
        let source = source(transport, variables: variables)
        if isAllowed {
            #expect(text(try await source.token()) == "S3cr3t-token")
        } else {
            await expectFailure(of: source, .insecureEndpoint, naming: "IDENTITY_ENDPOINT")
            #expect(transport.requests.isEmpty)
        }
    }

    @Test("Converts the expiry with the endpoint's date, and accepts numbers and texts")
    func expiry() async throws {
        let date = ["Date": HTTPDate.format(Date(timeIntervalSince1970: 1_000_010_000))] as HTTPHeaders
        let cases: [(MockTransport.Step, Duration?)] = [
            (Self.issued(), .seconds(86_400)), (Self.issued(headers: date), .seconds(76_400)),
            (.json(#"{"access_token":"a","expires_on":1000000060}"#), .seconds(60)),
            (.json(#"{"access_token":"a","expires_in":"60","token_type":"bearer"}"#), .seconds(60)),
            (.json(#"{"access_token":"a","expires_in":60}"#), .seconds(60)), (.json(#"{"access_token":"a"}"#), nil),
            (.json(#"{"access_token":"a","expires_in":1e300}"#), .seconds(3e9)),
        ]
        for (step, lifetime) in cases {
            let token = try await source(time.transport(step)).token()
            #expect(token.expiry == lifetime.map { time.now + $0 })
        }
    }

    @Test("A cache requests a token once, and again before its expiry")
    func cached() async throws {
        let time = ManualTime()
        defer { time.end() }
        let transport = MockTransport(
            .json(#"{"access_token":"a","expires_on":"1000003600"}"#),
            .json(#"{"access_token":"b","expires_on":"1000007200"}"#),
            time: time.timeSource
        )
        let source = CachedTokenSource(
            AzureManagedIdentitySource(
                resource: "r",
                environment: WorkloadEnvironment(
                    variable: { _ in nil },
                    timeSource: time.timeSource,
                    transport: transport
                )
            ),
            timing: OAuth2Timing(timeSource: time.timeSource, random: { 0 })
        )
        for _ in 1...3 { #expect(text(try await source.token()) == "a") }
        time.advance(by: .seconds(3_590))
        #expect(text(try await source.token()) == "b")
        #expect(transport.requests.count == 2)
    }

    @Test(
        "Repeats a request while the metadata service is updated, starts or is overloaded",
        .shows("Managed identities")
    )
    func retries() async throws {
        let transport = time.transport(
            .status(404),
            .status(410),
            .status(410),
            .status(429),
            .status(410),
            .status(500),
            Self.issued()
        )
        #expect(text(try await source(transport).token()) == "S3cr3t-token")
        let seconds: [Duration] = [
            .seconds(1), .seconds(10), .seconds(10), .seconds(2), .seconds(10), .seconds(4),
        ]
        #expect(time.sleeps == seconds)
    }

    @Test(
        "Gives up after the retries for the status, and says that the call is worth repeating",
        arguments: [(404, 4, 7), (408, 4, 7), (429, 4, 7), (500, 4, 7), (504, 4, 7), (410, 8, 70)]
    )
    func outage(status: Int, requests: Int, duration: Int) async throws {
        let start = time.now
        let transport = MockTransport(time: time.timeSource) { _ in HTTPTransportResponse(status: status) }
        await expectFailure(of: source(transport), .platformUnavailable, status: status, isRetryable: true)
        #expect(transport.requests.count == requests)
        #expect(time.now == start + .seconds(duration))
    }

    @Test("App Service's 404 and 410 are final", arguments: [404, 410])
    func finalForAppService(status: Int) async throws {
        let transport = time.transport(.status(status))
        #expect(await failure(of: source(transport, variables: Self.appService))?.code == .platformRejected)
        #expect(transport.requests.count == 1)
    }

    @Test("The caller's deadline ends the retries")
    func deadline() async throws {
        let start = time.now
        let transport = MockTransport(time: time.timeSource) { _ in HTTPTransportResponse(status: 410) }
        let error = await failure(of: source(transport), TokenRequirements(deadline: start + .seconds(30)))
        #expect(error?.code == .platformUnavailable)
        #expect(time.now <= start + .seconds(30))
        let slow = time.transport(.never)
        #expect(await failure(of: source(slow))?.code == .platformUnavailable)
        #expect(slow.requests.count == 1)
    }

    @Test("Doesn't repeat a request that the endpoint rejects, or that leads elsewhere", .shows("W14"))
    func rejected() async throws {
        let several = """
            {"error":"invalid_request","error_description":"Multiple user assigned identities exist, please specify \
            the clientId / resourceId of the identity in the token request"}
            """
        let missing = #"{"error":"invalid_request","error_description":"Identity not found"}"#
        let ofAppService = #"{"statusCode":400,"message":"No User Assigned or Delegated Managed Identity found for"}"#
        let cases: [(MockTransport.Step, WorkloadIdentityError.Code, String)] = [
            (.json(several, status: 400), .ambiguousIdentity, ".clientID("),
            (.json(missing, status: 400), .notConfigured, "identity assign"),
            (.json(ofAppService, status: 400), .notConfigured, "identity assign"),
            (.json(#"{"error":"invalid","error_description":"S3cr3t"}"#, status: 400), .platformRejected, "URI"),
            (.text("<html>", status: 400), .platformRejected, "400"), (.status(401), .platformRejected, "401"),
            (.status(403), .platformRejected, "403"),
            (.status(302, headers: ["Location": "https://elsewhere.example/"]), .platformRejected, "redirects"),
        ]
        for variables in [[:], Self.appService] {
            for (step, code, advice) in cases {
                let transport = time.transport(step, Self.issued())
                await expectFailure(
                    of: source(transport, variables: variables),
                    code,
                    step: .request,
                    isRetryable: false,
                    naming: advice
                )
                #expect(transport.requests.count == 1)
            }
        }
    }

    @Test("Refuses a response that isn't the endpoint's")
    func otherResponses() async throws {
        let cases: [(MockTransport.Step, WorkloadIdentityError.Code)] = [
            (.text("<html>Sign in</html>"), .invalidResponse), (.json("{}"), .invalidResponse),
            (.json(#"{"access_token":7}"#), .invalidResponse), (.json(#"{"access_token":""}"#), .malformedToken),
            (.json(#"{"access_token":"a\r\nb"}"#), .malformedToken), (.status(204), .invalidResponse),
            (.json(#"{"access_token":"a","token_type":"pop"}"#), .invalidResponse),
            (Self.issued(expiresOn: "14/09/2017 00:00:00"), .invalidResponse),
            (Self.issued(expiresOn: "nan"), .invalidResponse), (Self.issued(expiresOn: "1e999"), .invalidResponse),
            (Self.issued(expiresOn: "1000000000"), .expiredToken), (Self.issued(expiresOn: "-5"), .expiredToken),
            (.json(#"{"access_token":"\#(String(repeating: "a", count: 65_537))"}"#), .tooLarge),
            (.text(String(repeating: " ", count: (128 << 10) + 1)), .tooLarge),
        ]
        for (step, code) in cases {
            let transport = time.transport(step)
            await expectFailure(of: source(transport), code, step: .request)
            #expect(transport.requests.count == 1)
        }
    }

    @Test("A token that the caller rejects isn't returned again")
    func unwanted() async throws {
        let transport = time.transport(Self.issued(), Self.issued())
        let token = try await source(transport).token()
        let error = await failure(of: source(transport), .replacing(token))
        #expect(error?.code == .rejectedToken)
    }

    @Test("The default transport connects without a proxy")
    func direct() throws {
        let transport = try WorkloadEnvironment().platformTransport()
        let configuration = Mirror(reflecting: transport).descendant("configuration")
        #expect((configuration as? CurlTransport.Configuration)?.proxy == CurlTransport.ProxySelection.none)
    }
}
