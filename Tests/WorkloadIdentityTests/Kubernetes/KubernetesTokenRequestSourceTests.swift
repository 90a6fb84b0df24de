import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@testable import WorkloadIdentity

@Suite("KubernetesTokenRequestSource", .limitedConcurrency)
struct KubernetesTokenRequestSourceTests {
    private static let credential = SampleToken(["aud": ["https://kubernetes.default.svc"], "jti": "credential"]).text

    private let folder: TokenFolder
    private let time = ManualTime(advancesWhenSleeping: true)

    init() throws {
        folder = try TokenFolder()
        try folder.write(Self.credential)
        let namespace = folder.url.appending(path: "namespace")
        try Data("finance".utf8).write(to: namespace)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: namespace.path)
    }

    private func source(
        _ transport: MockTransport?,
        serviceAccount: String = "reports",
        lifetime: Duration = .seconds(600),
        host: String? = "10.0.0.1",
        port: String? = "443"
    ) -> KubernetesTokenRequestSource {
        let variables = ["KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port]
        return KubernetesTokenRequestSource(
            audience: "https://as.example",
            serviceAccount: serviceAccount,
            lifetime: lifetime,
            folder: folder.url.path,
            environment: time.environment(transport, variables)
        )
    }

    private static func issued(_ token: SampleToken = SampleToken(), status: Int = 201) -> MockTransport.Step {
        .json(
            #"{"kind":"TokenRequest","status":{"token":"\#(token.text)","expirationTimestamp":"2001-09-09T01:56:40Z"}}"#,
            status: status
        )
    }

    @Test(
        "Requests a token with the pod's credential",
        .shows("TokenRequest of Kubernetes"),
        arguments: [
            (host: "10.0.0.1", lifetime: 1, seconds: 600, authority: "10.0.0.1:443"),
            (host: "fd00::1", lifetime: 3_600, seconds: 3_600, authority: "[fd00::1]:443"),
        ]
    )
    func request(host: String, lifetime: Int, seconds: Int, authority: String) async throws {
        let transport = time.transport(Self.issued())
        let token = try await source(transport, lifetime: .seconds(lifetime), host: host).token()
        #expect(text(token) == SampleToken().text)
        #expect(token.type == "N_A")
        #expect(token.expiry == time.now + .seconds(600))
        let request = try #require(transport.requests.first)
        #expect(request.method == .post)
        #expect(
            request.url.absoluteString
                == "https://\(authority)/api/v1/namespaces/finance/serviceaccounts/reports/token"
        )
        #expect(request.headers["Authorization"] == "Bearer \(Self.credential)")
        #expect(request.headers["Content-Type"] == "application/json")
        let expected: JSONObject = [
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": [
                "audiences": ["https://as.example"], "expirationSeconds": .number(JSONNumber(seconds)),
            ],
        ]
        #expect(try JSONObject(parsing: request.body) == expected)
    }

    @Test("Repeats a request as the API server asks, and then gives up")
    func retries() async throws {
        let good = time.transport(.status(429, headers: ["Retry-After": "3"]), .status(503), Self.issued())
        #expect(text(try await source(good).token()) == SampleToken().text)
        #expect(time.sleeps == [.seconds(3), .seconds(2)])
        let bad = MockTransport(time: time.timeSource) { _ in HTTPTransportResponse(status: 500) }
        await expectFailure(of: source(bad), .platformUnavailable, isRetryable: true)
        #expect(bad.requests.count == 5)
    }

    @Test("Names the missing permission, and refuses other responses")
    func refusals() async throws {
        let cases: [(MockTransport.Step, WorkloadIdentityError.Code)] = [
            (.status(403), .platformRejected), (.status(401), .platformRejected), (.status(404), .platformRejected),
            (.status(307, headers: ["Location": "https://elsewhere.example/"]), .platformRejected),
            (.text("<html>"), .invalidResponse), (.json(#"{"status":{}}"#), .invalidResponse),
            (.json("{}", status: 202), .invalidResponse), (Self.issued(SampleToken(["aud": "a"])), .wrongAudience),
            (Self.issued(SampleToken(["exp": 1])), .expiredToken),
        ]
        for (step, code) in cases {
            let transport = time.transport(step)
            let error = await failure(of: source(transport))
            #expect(error?.code == code)
            #expect(error?.step == .request)
            #expect(transport.requests.count == 1)
            if error?.status == 403 { #expect(error?.message.contains("serviceaccounts/token") == true) }
        }
    }

    @Test("Sends the pod's credential nowhere outside a pod, or with names that lead elsewhere")
    func configuration() async throws {
        let transport = time.transport()
        let cases: [(KubernetesTokenRequestSource, WorkloadIdentityError.Code)] = [
            (source(transport, host: nil), .notConfigured), (source(transport, port: ""), .notConfigured),
            (source(transport, port: "443/a"), .insecureEndpoint), (source(transport, host: "a/b"), .insecureEndpoint),
            (source(transport, host: "u@evil.example"), .insecureEndpoint),
            (source(transport, serviceAccount: "../secrets/a"), .notConfigured),
            (source(transport, serviceAccount: "a?b"), .notConfigured),
            (source(transport, serviceAccount: ""), .notConfigured),
        ]
        for (source, code) in cases { #expect(await failure(of: source)?.code == code) }
        try FileManager.default.removeItem(atPath: folder.path)
        #expect(await failure(of: source(transport))?.message.contains("automountServiceAccountToken") == true)
        #expect(transport.requests.isEmpty)
    }

    @Test("Trusts only the cluster's certificates", .shows("TokenRequest of Kubernetes"))
    func trust() async throws {
        let root = try MockCertificateAuthority(name: "Cluster")
        var configuration = LoopbackServer.Configuration()
        configuration.tls = LoopbackServer.TLS(certificate: try root.issueServerCertificate(hosts: ["localhost"]))
        try await withLoopbackServer(configuration: configuration) { server in
            let path = "/api/v1/namespaces/finance/serviceaccounts/reports/token"
            server.on(.post, path, .json(#"{"status":{"token":"\#(SampleToken().text)"}}"#, status: 201))
            let source = source(nil, host: "localhost", port: "\(server.port)")
            #expect(await failure(of: source)?.code == .notConfigured)
            let file = folder.url.appending(path: "ca.crt")
            try Data(try MockCertificateAuthority(name: "Other").certificatePEM.utf8).write(to: file)
            #expect(await failure(of: source)?.code == .insecureEndpoint)
            try Data(root.certificatePEM.utf8).write(to: file)
            #expect(text(try await source.token()) == SampleToken().text)
        }
    }

    @Test("No source shows a token in its description")
    func secrecy() async throws {
        let variables = ["T": SampleToken().text]
        let environment = WorkloadEnvironment(variable: { variables[$0] }, timeSource: time.timeSource)
        let sources: [any TokenSource] = [
            FileTokenSource(path: folder.path, environment: environment),
            EnvironmentTokenSource("T", environment: environment),
            GitLabSource(audience: "https://as.example", variable: "T", environment: environment),
            source(time.transport(Self.issued())),
        ]
        for source in sources {
            let token = try await source.token()
            var dumped = ""
            dump(source, to: &dumped)
            dump(token, to: &dumped)
            #expect(!dumped.contains(text(token)))
        }
    }
}

@Suite("KubernetesServiceAccountSource", .limitedConcurrency)
struct KubernetesServiceAccountSourceTests {
    private let folder: TokenFolder
    private let environment = WorkloadEnvironment(timeSource: ManualTime(advancesWhenSleeping: true).timeSource)

    init() throws { folder = try TokenFolder() }

    private var source: KubernetesServiceAccountSource {
        KubernetesServiceAccountSource(audience: "https://as.example", path: folder.path, environment: environment)
    }

    @Test("Reads the projected token", .shows("O31"))
    func reads() async throws {
        try folder.write(SampleToken().text, mode: 0o640)
        #expect(text(try await source.token()) == SampleToken().text)
        #expect(source.canReplaceTokens)
    }

    @Test("Refuses the token for the API server, and names the pod's setting", .shows("W1", "Kubernetes (files)"))
    func tokenOfTheServer() async throws {
        try folder.write(SampleToken(["aud": ["https://kubernetes.default.svc.cluster.local"]]).text)
        await expectFailure(
            of: source,
            .wrongAudience,
            naming: "serviceAccountToken: { path: …, audience: https://as.example }"
        )
        try folder.write(SampleToken(["aud": nil]).text)
        #expect(await failure(of: source)?.code == .wrongAudience)
        try folder.write("opaque")
        #expect(await failure(of: source)?.code == .malformedToken)
    }

    @Test("A missing token names the pod's setting and the path")
    func missing() async throws {
        await expectFailure(of: source, .notConfigured, naming: "serviceAccountToken", folder.path)
    }
}
