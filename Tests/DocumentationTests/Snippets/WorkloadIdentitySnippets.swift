import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import WorkloadIdentity

/// The samples of the WorkloadIdentity catalog.
@Suite("Workload identity samples", .limitedConcurrency)
struct WorkloadIdentitySnippets {
    @Test("Describes the grants and authentications of platforms")
    func platforms() async throws {
        #expect(authenticationOfPod().clientID == "reports")
        #expect(authenticationOfWorkload().clientID == "spiffe://example.org/reports")
        #expect(sourceOfController(audience: "a").canReplaceTokens)
        #expect(exchangeOfJob().identifier.contains("github-actions"))
        #expect(grantOfJob().identifier.contains("deployment"))
        #expect(deploymentGrant().identifier.contains("deployment"))
        let server = AuthorizationServer(
            issuer: "https://as.example",
            tokenEndpoint: URL(string: "https://as.example/token")!
        )
        let client = clientOfPod(server: server, api: URL(string: "https://api.example")!)
        #expect(client.interceptors.count == 1)
        #expect(exchangeOfMachine().identifier.contains("reports"))
        #expect(sourceForCloudRun(service: "https://a.example").canReplaceTokens)
        #expect(clientInGoogleCloud(storage: URL(string: "https://storage.example")!).interceptors.count == 1)
        #expect(clientOfMachine(vault: URL(string: "https://vault.example")!).interceptors.count == 1)
    }

    @Test("Logs in to Vault only over TLS")
    func vault() throws {
        #expect(try clientOfVault(vault: URL(string: "https://vault.example")!).interceptors.count == 1)
        let error = #expect(throws: WorkloadIdentityError.self) {
            try clientOfVault(vault: URL(string: "http://vault.example")!)
        }
        #expect(error?.code == .insecureEndpoint)
    }

    @Test("Names the variables of clouds that aren't set")
    func clouds() {
        // A developer's machine may have them.
        if ProcessInfo.processInfo.environment["AZURE_CLIENT_ID"] == nil {
            #expect(throws: WorkloadIdentityError.self) {
                try clientOfFederatedPod(vault: URL(string: "https://vault.example")!)
            }
            #expect(throws: WorkloadIdentityError.self) { try entraOfJob() }
        }
        if ProcessInfo.processInfo.environment["GOOGLE_APPLICATION_CREDENTIALS"] == nil {
            #expect(throws: WorkloadIdentityError.self) {
                try clientOutsideGoogleCloud(storage: URL(string: "https://storage.example")!)
            }
            #expect(throws: WorkloadIdentityError.self) {
                try clientWithKey(storage: URL(string: "https://storage.example")!)
            }
        }
    }

    @Test("Tests a source with its own environment")
    func environment() async throws {
        let error = await #expect(throws: WorkloadIdentityError.self) {
            try await gitLabToken("", at: ManualTime())
        }
        #expect(error?.code == .notConfigured)
    }

    @Test("Authenticates with an assertion that another party signs")
    func foreignAssertion() async throws {
        try await withTemporaryFile("header.e30.c2lnbmF0dXJl") { path in
            let platformSource = FileTokenSource(path: path, type: .saml2)
            let authentication = SignedAssertionAuthentication(
                clientID: "reports",
                assertion: platformSource
            )
            var request = TokenRequest(
                server: AuthorizationServer(
                    issuer: "https://as.example",
                    tokenEndpoint: URL(string: "https://as.example/token")!
                ),
                form: []
            )
            try await authentication.authenticate(&request, at: Date())
            #expect(request.form.map(\.name) == ["client_id", "client_assertion_type", "client_assertion"])
        }
    }

    private func withTemporaryFile(_ text: String, _ body: (String) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "token-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        try await body(file.path)
    }
}

func clientOfPod(server: AuthorizationServer, api: URL) -> NetworkClient {
    let identity = KubernetesServiceAccountSource(
        audience: server.issuer,
        path: "/var/run/secrets/tokens/as"
    )
    let authenticator = OAuth2Authenticator(
        server: server,
        clientAuthentication: SignedAssertionAuthentication(
            clientID: "reports",
            assertion: identity
        ),
        grant: ClientCredentialsGrant(scope: "reports.read"),
        resources: [api]
    )
    return NetworkClient(interceptors: [authenticator])
}

func gitLabToken(_ token: String, at time: ManualTime) async throws -> AccessToken {
    let environment = WorkloadEnvironment(
        variable: { ["AS_TOKEN": token][$0] },
        timeSource: time.timeSource
    )
    let source = GitLabSource(
        audience: "https://as.example",
        variable: "AS_TOKEN",
        environment: environment
    )
    return try await source.token()
}

func sourceOfAccount(_ account: String) throws -> CachedTokenSource {
    CachedTokenSource(
        try GoogleImpersonationSource(
            serviceAccount: account,
            source: CachedTokenSource(GoogleMetadataSource()),
            lifetime: .seconds(600)
        )
    )
}

func tokensOfVendor(
    _ server: AuthorizationServer,
    subject: any TokenSource
) -> any TokenSource {
    var server = server
    server.requiresJSONTokenRequests = true
    let grant = TokenExchangeGrant(
        subject: subject,
        subjectTokenType: .jwt,
        identifier: "reports",
        additionalParameters: ["service_account_id": "sa_reports"]
    )
    return CachedTokenSource(
        GrantTokenSource(
            server: server,
            clientAuthentication: .none(
                clientID: "reports",
                sendsClientID: false
            ),
            grant: grant
        )
    )
}

func exchangeOfJob() -> TokenExchangeGrant {
    TokenExchangeGrant(
        subject: GitHubActionsSource(audience: "https://as.example"),
        subjectTokenType: .jwt,
        identifier: "github-actions",
        audiences: ["reports"]
    )
}

func authenticationOfPod() -> SignedAssertionAuthentication {
    SignedAssertionAuthentication(
        clientID: "reports",
        assertion: KubernetesServiceAccountSource(
            audience: "https://as.example",
            path: "/var/run/secrets/tokens/as"
        )
    )
}

func sourceOfController(audience: String) -> KubernetesTokenRequestSource {
    KubernetesTokenRequestSource(
        audience: audience,
        serviceAccount: "reports"
    )
}

func grantOfJob() -> JWTBearerGrant {
    JWTBearerGrant(
        assertion: GitHubActionsSource(audience: "https://as.example"),
        identifier: "deployment",
        scope: "deploy"
    )
}

func deploymentGrant() -> JWTBearerGrant {
    JWTBearerGrant(
        assertion: GitLabSource(
            audience: "https://as.example",
            variable: "AS_TOKEN"
        ),
        identifier: "deployment",
        scope: "deploy"
    )
}

func authenticationOfWorkload() -> SignedAssertionAuthentication {
    SignedAssertionAuthentication(
        clientID: "spiffe://example.org/reports",
        assertion: SPIFFEFileSource(
            audience: "https://as.example",
            path: "/run/spiffe/jwt_svid.token"
        ),
        type: .jwtSPIFFE,
        sendsClientID: false
    )
}

func clientOfMachine(vault: URL) -> NetworkClient {
    let source = AzureManagedIdentitySource(
        resource: "https://vault.azure.net"
    )
    let authenticator = OAuth2Authenticator(
        source: source,
        resources: [vault]
    )
    return NetworkClient(interceptors: [authenticator])
}

func clientOfFederatedPod(vault: URL) throws -> NetworkClient {
    let entra = try AzureFederatedCredential()
    let authenticator = OAuth2Authenticator(
        server: entra.server,
        clientAuthentication: entra.clientAuthentication,
        grant: ClientCredentialsGrant(
            scope: "https://vault.azure.net/.default"
        ),
        resources: [vault]
    )
    return NetworkClient(interceptors: [authenticator])
}

func entraOfJob() throws -> AzureFederatedCredential {
    try AzureFederatedCredential(
        assertion: GitHubActionsSource(
            audience: "api://AzureADTokenExchange"
        )
    )
}

func clientInGoogleCloud(storage: URL) -> NetworkClient {
    let authenticator = OAuth2Authenticator(
        source: GoogleMetadataSource(),
        resources: [storage]
    )
    return NetworkClient(interceptors: [authenticator])
}

func exchangeOfMachine() -> TokenExchangeGrant {
    TokenExchangeGrant(
        subject: GoogleIdentityTokenSource(audience: "https://as.example"),
        subjectTokenType: .idToken,
        identifier: "reports"
    )
}

func sourceForCloudRun(service: String) -> CachedTokenSource {
    CachedTokenSource(
        GoogleIdentityTokenSource(audience: service, type: .accessToken)
    )
}

func clientOutsideGoogleCloud(storage: URL) throws -> NetworkClient {
    let authenticator = OAuth2Authenticator(
        source: try GoogleExternalAccountSource(),
        resources: [storage]
    )
    return NetworkClient(interceptors: [authenticator])
}

func clientOfVault(vault: URL) throws -> NetworkClient {
    let source = try VaultLoginSource(
        server: vault,
        role: "reports",
        jwt: KubernetesServiceAccountSource(
            audience: "https://vault.example",
            path: "/var/run/secrets/tokens/vault"
        )
    )
    let authenticator = OAuth2Authenticator(
        source: source,
        resources: [vault]
    )
    return NetworkClient(interceptors: [authenticator])
}

func clientWithKey(storage: URL) throws -> NetworkClient {
    let source = try GoogleServiceAccountSource(
        audience: "https://storage.googleapis.com/"
    )
    let authenticator = OAuth2Authenticator(
        source: source,
        resources: [storage]
    )
    return NetworkClient(interceptors: [authenticator])
}

func tokenOfAWS(_ webIdentityToken: @escaping @Sendable (String) async throws -> String) -> JWTBearerGrant {
    let source = ClosureTokenSource { _ in
        AccessToken(
            value: Secret(try await webIdentityToken("https://as.example")),
            type: "N_A",
            requested: .now
        )
    }
    let grant = JWTBearerGrant(assertion: source, identifier: "reports")
    return grant
}

func defaultSource(_ audience: String) -> DefaultTokenSource {
    let source = DefaultTokenSource([
        .gitHubActions(audience: audience),
        .kubernetes(audience: audience, path: "/var/run/secrets/tokens/as"),
        .google(audience: audience),
    ])
    print("token of", source.platform ?? "no platform")
    return source
}
