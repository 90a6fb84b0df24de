import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@testable import WorkloadIdentity

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
            client: OAuth2Client(
                server: entra.server,
                clientAuthentication: entra.clientAuthentication,
                client: NetworkClient(transport: transport, options: .init(timeSource: time.timeSource)),
                timing: OAuth2Timing(timeSource: time.timeSource, random: { 0 })
            ),
            grant: ClientCredentialsGrant(scope: "https://vault.azure.net/.default"),
            store: InMemoryTokenStore(timeSource: time.timeSource)
        )
    }

    @Test(
        "Sends the file's token to the tenant's token endpoint, and reads the file for each request",
        .shows("O36", "Microsoft Entra")
    )
    func request() async throws {
        let json = #"{"token_type":"Bearer","expires_in":3599,"ext_expires_in":3599,"access_token":"S3cr3t"}"#
        let transport = time.transport(.json(json), .json(json))
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
        .shows("Microsoft Entra"),
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
        .shows("W13"),
        arguments: [
            "http://login.example/", "http://127.0.0.1/", "login.example", "https://a@login.example/",
            "https://login.example/path", "https://login.example/?a", "https://login.example/#a", "https://",
        ]
    )
    func insecureAuthority(host: String) {
        expectError(.insecureEndpoint, naming: "AZURE_AUTHORITY_HOST") {
            try AzureFederatedCredential(environment: environment(["AZURE_AUTHORITY_HOST": host]))
        }
    }

    @Test(
        "Names a missing variable and the pod's label",
        arguments: ["AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE"]
    )
    func missing(variable: String) {
        for value in [nil, ""] as [String?] {
            expectError(.notConfigured, naming: variable, "azure.workload.identity/use") {
                try AzureFederatedCredential(environment: environment([variable: value]))
            }
        }
    }

    @Test("Refuses a tenant that would change the URL", arguments: ["a/b", "a?b", "..", "é", "a%2Fb"])
    func tenant(name: String) {
        expectError(.notConfigured) {
            try AzureFederatedCredential(environment: environment(["AZURE_TENANT_ID": name]))
        }
    }

    @Test("A token for another audience never leaves the machine")
    func otherAudience() async throws {
        try folder.write(SampleToken(["aud": "https://kubernetes.default.svc"]).text)
        let transport = time.transport()
        let source = source(try AzureFederatedCredential(environment: environment()), transport)
        let error = await #expect(throws: OAuth2Error.self) { try await source.token() }
        #expect(error?.code == .assertionFailed)
        #expect((error?.cause as? WorkloadIdentityError)?.code == .wrongAudience)
        #expect(transport.requests.isEmpty)
        let other = try AzureFederatedCredential(audience: "https://kubernetes.default.svc", environment: environment())
        let accepted = time.transport(.json(#"{"token_type":"Bearer","access_token":"a"}"#))
        #expect(text(try await self.source(other, accepted).token()) == "a")
    }

    @Test("Sends the token of another source, without the file's variable")
    func otherSource() async throws {
        try folder.write(Self.token.text)
        let entra = try AzureFederatedCredential(
            assertion: FileTokenSource(path: folder.path, environment: environment()),
            environment: environment(["AZURE_FEDERATED_TOKEN_FILE": nil])
        )
        let transport = time.transport(.json(#"{"token_type":"Bearer","access_token":"a"}"#))
        _ = try await source(entra, transport).token()
        let form = FormURLEncoded.decode(String(decoding: transport.requests[0].body, as: UTF8.self))
        #expect(form?.first { $0.name == "client_assertion" }?.value == Self.token.text)
    }

    @Test("Reports Entra's answer to a token that no federated credential matches")
    func rejected() async throws {
        try folder.write(Self.token.text)
        let transport = time.transport(
            .json(
                #"{"error":"invalid_client","error_description":"AADSTS700213: No match","error_codes":[700213]}"#,
                status: 401
            )
        )
        let source = source(try AzureFederatedCredential(environment: environment()), transport)
        let error = await #expect(throws: OAuth2Error.self) { try await source.token() }
        #expect(error?.code == .invalidClient)
        #expect(error?.serverText == Secret("error_description: AADSTS700213: No match"))
        #expect(error?.description.contains("AADSTS700213") == false)
        #expect(transport.requests.count == 1)
    }
}

@Suite("AzureManagedIdentitySource with Azure Arc", .limitedConcurrency)
struct AzureArcTests {
    private static let address = "http://localhost:40342/metadata/identity/oauth2/token"
    private static var issued: MockTransport.Step {
        .json(#"{"access_token":"S3cr3t-token","expires_on":"1000003600","token_type":"Bearer"}"#)
    }

    private let time = ManualTime(advancesWhenSleeping: true)
    private let folder: TokenFolder

    init() throws { folder = try TokenFolder() }

    private var keys: String { folder.url.path }

    private func source(
        _ transport: MockTransport,
        _ identity: AzureManagedIdentitySource.Identity = .systemAssigned
    ) -> AzureManagedIdentitySource {
        let variables = ["IDENTITY_ENDPOINT": Self.address, "IMDS_ENDPOINT": "http://localhost:40342"]
        return AzureManagedIdentitySource(
            resource: "https://vault.azure.net/.default",
            identity: identity,
            time.environment(transport, variables),
            arcKeys: keys
        )
    }

    private func challenge(_ path: String) -> MockTransport.Step {
        .status(401, headers: ["WWW-Authenticate": "Basic realm=\(path)"])
    }

    private func write(_ text: String, _ name: String = "a.key") throws -> String {
        let path = "\(keys)/\(name)"
        try Data(text.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o440], ofItemAtPath: path)
        return path
    }

    @Test("Sends the content of the key file that the agent names", .shows("O36", "Managed identities"))
    func key() async throws {
        let path = try write("S3cr3t-key\n")
        let transport = time.transport(.status(503), challenge(path), Self.issued)
        let token = try await source(transport).token()
        #expect(text(token) == "S3cr3t-token")
        #expect(token.expiry == time.now + .seconds(3_599))
        #expect(transport.requests.count == 3)
        for request in transport.requests {
            #expect(
                request.url.absoluteString
                    == Self.address + "?api-version=2019-11-01&resource=https%3A%2F%2Fvault.azure.net"
            )
            #expect(request.headers["Metadata"] == "true")
        }
        let sent = transport.requests.map { $0.headers["Authorization"] }
        #expect(sent == [nil, nil, "Basic S3cr3t-key"])
    }

    @Test("The keys are in the agent's folder")
    func standardFolder() { #expect(AzureArcKey.folder == "/var/opt/azcmagent/tokens") }

    @Test("Never sends a file outside the agent's folder, or one that isn't a key", .shows("W12"))
    func otherFiles() async throws {
        _ = try write("S3cr3t", "a.txt")
        _ = try write("S3cr3t", ".key")
        let headers: [HTTPHeaders] = [
            ["WWW-Authenticate": "Basic realm=/etc/shadow"], ["WWW-Authenticate": "Basic realm=/etc/a.key"],
            ["WWW-Authenticate": "Basic realm=\(keys)/../a.key"], ["WWW-Authenticate": "Basic realm=\(keys)/b/a.key"],
            ["WWW-Authenticate": "Basic realm=\(keys)/a.txt"], ["WWW-Authenticate": "Basic realm=\(keys)/.key"],
            ["WWW-Authenticate": "Basic realm=\(keys)x/a.key"], ["WWW-Authenticate": "Basic realm="],
            ["WWW-Authenticate": "Basic"], ["WWW-Authenticate": "Bearer realm=\(keys)/a.key"], [:],
        ]
        for header in headers {
            let transport = time.transport(.status(401, headers: header), Self.issued)
            let error = await failure(of: source(transport))
            #expect(error?.code == .invalidResponse)
            #expect(transport.requests.count == 1)
        }
        let unchallenged = time.transport(Self.issued)
        #expect(await failure(of: source(unchallenged))?.code == .invalidResponse)
    }

    @Test("Refuses a key that is missing, too large, writable by others or not a key", .shows("W12"))
    func badKeys() async throws {
        let missing = "\(keys)/missing.key"
        await expectFailure(of: source(time.transport(challenge(missing))), .notConfigured, naming: missing)
        let cases: [(String, WorkloadIdentityError.Code)] = [
            (String(repeating: "a", count: 4_097), .tooLarge), ("", .malformedToken), ("a\r\nb: c", .malformedToken),
        ]
        for (index, (content, code)) in cases.enumerated() {
            let transport = time.transport(challenge(try write(content, "\(index).key")), Self.issued)
            #expect(await failure(of: source(transport))?.code == code)
            #expect(transport.requests.count == 1)
        }
        let path = try write("S3cr3t", "writable.key")
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
        #expect(await failure(of: source(time.transport(challenge(path))))?.code == .insecureFile)
    }

    @Test("A key that the agent rejects isn't sent again, and a failure names the agent")
    func rejected() async throws {
        let path = try write("S3cr3t")
        let transport = time.transport(challenge(path), challenge(path), Self.issued)
        await expectFailure(of: source(transport), .platformRejected, status: 401, naming: "Azure Arc")
        #expect(transport.requests.count == 2)
    }

    @Test("A server with Azure Arc has no user-assigned identities")
    func userAssigned() async throws {
        let transport = time.transport()
        #expect(await failure(of: source(transport, .clientID("a")))?.code == .notConfigured)
        #expect(transport.requests.isEmpty)
    }
}
