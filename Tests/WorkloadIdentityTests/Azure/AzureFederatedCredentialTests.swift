import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration
import WorkloadIdentity

@Suite("AzureFederatedCredential", .limitedConcurrency)
struct AzureFederatedCredentialTests {
    private static let token = SampleToken(["aud": ["api://AzureADTokenExchange"]])

    private let time = ManualTime(advancesWhenSleeping: true)
    private let folder: TokenFolder

    init() throws { folder = try TokenFolder() }

    private var variables: [String: String] {
        [
            "AZURE_CLIENT_ID": "client", "AZURE_TENANT_ID": "8eaef023-2b34-4da1-9baa-8bc8c9d6a490",
            "AZURE_AUTHORITY_HOST": "https://login.example/", "AZURE_FEDERATED_TOKEN_FILE": folder.path,
        ]
    }

    private func environment(_ changes: [String: String?] = [:]) -> WorkloadEnvironment {
        let variables = changes.reduce(into: variables) { $0[$1.key] = $1.value }
        return WorkloadEnvironment(variable: { variables[$0] }, timeSource: time.timeSource)
    }

    private func source(_ entra: AzureFederatedCredential, _ transport: MockTransport) -> GrantTokenSource {
        GrantTokenSource(
            server: entra.server,
            clientAuthentication: entra.clientAuthentication,
            grant: ClientCredentialsGrant(scope: "https://vault.azure.net/.default"),
            store: InMemoryTokenStore(timeSource: time.timeSource),
            client: NetworkClient(transport: transport, options: .init(timeSource: time.timeSource)),
            timing: OAuth2Timing(timeSource: time.timeSource, random: { 0 })
        )
    }

    private func transport(_ steps: MockTransport.Step...) -> MockTransport {
        MockTransport(steps: steps, time: time.timeSource, handler: nil)
    }

    @Test("Sends the file's token to the tenant's token endpoint, and reads the file for each request")
    func request() async throws {
        let json = #"{"token_type":"Bearer","expires_in":3599,"ext_expires_in":3599,"access_token":"S3cr3t"}"#
        let transport = transport(.json(json), .json(json))
        let entra = try AzureFederatedCredential(environment: environment())
        var expected: [String] = []
        for number in ["1", "2"] {
            let content = SampleToken(["aud": "api://AzureADTokenExchange", "jti": .string(number)]).text
            try folder.write(content)
            expected.append(content)
            let token = try await source(entra, transport).token()
            #expect(text(token) == "S3cr3t")
            #expect(token.expiry == token.requested + .seconds(3_599))
        }
        let tenant = "8eaef023-2b34-4da1-9baa-8bc8c9d6a490"
        for (request, assertion) in zip(transport.requests, expected) {
            #expect(request.method == .post)
            #expect(request.url.absoluteString == "https://login.example/\(tenant)/oauth2/v2.0/token")
            let form = FormURLEncoded.decode(String(decoding: request.body, as: UTF8.self)) ?? []
            let fields = Dictionary(form.map { ($0.name, $0.value) }) { first, _ in first }
            #expect(
                fields == [
                    "grant_type": "client_credentials", "client_id": "client",
                    "scope": "https://vault.azure.net/.default", "client_assertion": assertion,
                    "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                ]
            )
            #expect(form.count == fields.count)
            #expect(request.headers["Authorization"] == nil)
        }
        #expect(transport.requests.count == 2)
    }

    @Test(
        "Uses the authority host of the environment, and the public cloud's without one",
        arguments: [
            ("https://login.microsoftonline.us/", "https://login.microsoftonline.us"),
            ("https://login.example:8443", "https://login.example:8443"),
            (nil, "https://login.microsoftonline.com"), ("", "https://login.microsoftonline.com"),
        ]
    )
    func authority(host: String?, expected: String) throws {
        let entra = try AzureFederatedCredential(
            environment: environment(["AZURE_AUTHORITY_HOST": host, "AZURE_TENANT_ID": "contoso.example"])
        )
        #expect(entra.server.tokenEndpoint.absoluteString == "\(expected)/contoso.example/oauth2/v2.0/token")
        #expect(entra.server.issuer == "\(expected)/contoso.example/v2.0")
        #expect(entra.clientAuthentication.clientID == "client")
    }

    @Test(
        "Refuses an authority host without TLS or with more than a host",
        arguments: [
            "http://login.example/", "http://127.0.0.1/", "login.example", "https://a@login.example/",
            "https://login.example/path", "https://login.example/?a", "https://login.example/#a", "https://",
        ]
    )
    func insecureAuthority(host: String) {
        let error = #expect(throws: WorkloadIdentityError.self) {
            try AzureFederatedCredential(environment: environment(["AZURE_AUTHORITY_HOST": host]))
        }
        #expect(error?.code == .insecureEndpoint)
        #expect(error?.message.contains("AZURE_AUTHORITY_HOST") == true)
    }

    @Test(
        "Names a missing variable and the pod's label",
        arguments: ["AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE"]
    )
    func missing(variable: String) {
        for value in [nil, ""] as [String?] {
            let error = #expect(throws: WorkloadIdentityError.self) {
                try AzureFederatedCredential(environment: environment([variable: value]))
            }
            #expect(error?.code == .notConfigured)
            #expect(error?.message.contains(variable) == true)
            #expect(error?.message.contains("azure.workload.identity/use") == true)
        }
    }

    @Test("Refuses a tenant that would change the URL", arguments: ["a/b", "a?b", "..", "é", "a%2Fb"])
    func tenant(name: String) {
        let error = #expect(throws: WorkloadIdentityError.self) {
            try AzureFederatedCredential(environment: environment(["AZURE_TENANT_ID": name]))
        }
        #expect(error?.code == .notConfigured)
    }

    @Test("A token for another audience never leaves the machine")
    func otherAudience() async throws {
        try folder.write(SampleToken(["aud": "https://kubernetes.default.svc"]).text)
        let transport = transport()
        let source = source(try AzureFederatedCredential(environment: environment()), transport)
        let error = await #expect(throws: OAuth2Error.self) { try await source.token() }
        #expect(error?.code == .assertionFailed)
        #expect((error?.cause as? WorkloadIdentityError)?.code == .wrongAudience)
        #expect(transport.requests.isEmpty)
        let other = try AzureFederatedCredential(audience: "https://kubernetes.default.svc", environment: environment())
        let accepted = self.transport(.json(#"{"token_type":"Bearer","access_token":"a"}"#))
        #expect(text(try await self.source(other, accepted).token()) == "a")
    }

    @Test("Sends the token of another source, without the file's variable")
    func otherSource() async throws {
        try folder.write(Self.token.text)
        let entra = try AzureFederatedCredential(
            assertion: FileTokenSource(path: folder.path, environment: environment()),
            environment: environment(["AZURE_FEDERATED_TOKEN_FILE": nil])
        )
        let transport = transport(.json(#"{"token_type":"Bearer","access_token":"a"}"#))
        _ = try await source(entra, transport).token()
        let form = FormURLEncoded.decode(String(decoding: transport.requests[0].body, as: UTF8.self))
        #expect(form?.first { $0.name == "client_assertion" }?.value == Self.token.text)
    }

    @Test("Reports Entra's answer to a token that no federated credential matches")
    func rejected() async throws {
        try folder.write(Self.token.text)
        let transport = transport(
            .json(
                #"{"error":"invalid_client","error_description":"AADSTS700213: No match","error_codes":[700213]}"#,
                status: 401
            )
        )
        let source = source(try AzureFederatedCredential(environment: environment()), transport)
        let error = await #expect(throws: OAuth2Error.self) { try await source.token() }
        #expect(error?.code == .invalidClient)
        #expect(error?.description.contains("AADSTS700213") == true)
        #expect(transport.requests.count == 1)
    }
}
