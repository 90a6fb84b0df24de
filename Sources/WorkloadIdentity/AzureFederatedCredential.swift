import Foundation
import Networking
public import OAuth2

/// A federated credential of Microsoft Entra ID, which accepts a token of another platform instead
/// of a client secret
/// ([Microsoft](https://learn.microsoft.com/entra/workload-id/workload-identity-federation)).
///
/// ```swift
/// let entra = try AzureFederatedCredential()
/// let authenticator = OAuth2Authenticator(
///     client: OAuth2Client(
///         server: entra.server,
///         clientAuthentication: entra.clientAuthentication
///     ),
///     grant: ClientCredentialsGrant(
///         scope: "https://vault.azure.net/.default"
///     ),
///     resources: [vault]
/// )
/// ```
///
/// `AZURE_CLIENT_ID`, `AZURE_TENANT_ID`, `AZURE_AUTHORITY_HOST` and `AZURE_FEDERATED_TOKEN_FILE`
/// are the variables that the webhook of Azure Workload Identity sets in a pod. The file is read
/// for each request.
public struct AzureFederatedCredential: Sendable {
    private static let advice = """
        label the pod “azure.workload.identity/use: "true"” and its service account \
        “azure.workload.identity/client-id”, or set the variable
        """

    /// The tenant's authorization server.
    public let server: AuthorizationServer
    /// The authentication of the application or user-assigned identity.
    public let clientAuthentication: StandardClientAuthentication

    /// Creates a credential from the environment variables.
    ///
    /// - Parameters:
    ///   - assertion: The source of the platform's tokens, such as a ``GitHubActionsSource`` with
    ///     the audience of the federated credential. The default, `nil`, reads the file in
    ///     `AZURE_FEDERATED_TOKEN_FILE`.
    ///   - audience: The audience that the file's token must have. The default is that of the
    ///     public cloud.
    ///   - environment: The variables and clocks. Without `AZURE_AUTHORITY_HOST`, the server is
    ///     that of the public cloud.
    /// - Throws: ``WorkloadIdentityError`` with the code `notConfigured` if a variable is missing
    ///   or invalid, or `insecureEndpoint` if the authority host isn't an https URL.
    public init(
        assertion: (any TokenSource)? = nil,
        audience: String = "api://AzureADTokenExchange",
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) throws(WorkloadIdentityError) {
        let clientID = try environment.value(of: "AZURE_CLIENT_ID", advice: Self.advice)
        let tenant = try environment.value(of: "AZURE_TENANT_ID", advice: Self.advice)
        // Letters, digits, “-” and “.”.
        let isName = tenant.utf8.allSatisfy { PercentEncoding.isUnreserved($0) && !"_~".utf8.contains($0) }
        guard isName, tenant.first != "." else {
            throw WorkloadIdentityError(.notConfigured, "AZURE_TENANT_ID isn't a tenant's ID or domain; set it")
        }
        let authority = try Self.authority(environment)
        guard let endpoint = URL(string: "\(authority)/\(tenant)/oauth2/v2.0/token") else {
            throw Self.insecureAuthority
        }
        server = AuthorizationServer(issuer: "\(authority)/\(tenant)/v2.0", tokenEndpoint: endpoint)
        let file = { () throws(WorkloadIdentityError) in
            FileTokenSource(
                path: try environment.value(of: "AZURE_FEDERATED_TOKEN_FILE", advice: Self.advice),
                form: .jwt,
                audience: audience,
                missing: "AZURE_FEDERATED_TOKEN_FILE names it; \(Self.advice)",
                audienceAdvice: "check the projected volume that AZURE_FEDERATED_TOKEN_FILE leads to",
                environment
            )
        }
        let source: any TokenSource = if let assertion { assertion } else { try file() }
        clientAuthentication = .signedAssertion(clientID: clientID, assertion: source)
    }

    private static func authority(_ environment: WorkloadEnvironment) throws(WorkloadIdentityError) -> String {
        guard var text = environment.variable("AZURE_AUTHORITY_HOST"), !text.isEmpty else {
            return "https://login.microsoftonline.com"
        }
        guard let url = URL(string: text), HTTPOrigin(url)?.scheme == "https", url.user == nil, url.query == nil,
            url.fragment == nil, ["", "/"].contains(url.path)
        else { throw insecureAuthority }
        while text.last == "/" { text.removeLast() }
        return text
    }

    private static var insecureAuthority: WorkloadIdentityError {
        WorkloadIdentityError(
            .insecureEndpoint,
            """
            AZURE_AUTHORITY_HOST isn't an https URL without a path, so the token isn't sent; set it to a URL such as \
            https://login.microsoftonline.com/
            """
        )
    }
}
