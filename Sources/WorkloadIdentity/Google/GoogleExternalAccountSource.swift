import Foundation
import FoundationNetworking
public import Networking
public import OAuth2
import TokenGeneration

/// A token source for Google Cloud that exchanges another platform's token, as an
/// `external_account` file describes
/// ([Google](https://cloud.google.com/iam/docs/workload-identity-federation)).
///
/// ```swift
/// let source = CachedTokenSource(try GoogleExternalAccountSource())
/// ```
///
/// The source reads the platform's token from a file or an address, exchanges it at Google's
/// security token service, and then impersonates the service account if the file names one.
///
/// Such a file decides where a token of this machine is sent. Only Google's own hosts are accepted
/// for that. Subject tokens are requested only from the hosts that you name, and programs are never
/// started.
public struct GoogleExternalAccountSource: TokenSource {
    private let exchange: GrantTokenSource
    private let impersonation: GoogleImpersonation?
    private let environment: WorkloadEnvironment

    /// Creates a source from the file in `GOOGLE_APPLICATION_CREDENTIALS`.
    ///
    /// - Parameters:
    ///   - scopes: The requested scopes. The default, an empty list, requests `cloud-platform`.
    ///   - subjectHosts: The hosts from which subject tokens may be requested, for a file with
    ///     `credential_source.url`. The default accepts none.
    ///   - universe: The domain of Google's services. The default is `googleapis.com`.
    ///   - client: The client for requests to Google. Requests for subject tokens use the
    ///     environment's transport.
    ///   - environment: The variables and clocks, and the network for subject tokens.
    /// - Throws: ``WorkloadIdentityError`` with the code `notConfigured` if the variable or the
    ///   file is missing; `unreadableFile`, `insecureFile` or `tooLarge`; `invalidConfiguration` if
    ///   the file is malformed or of another kind; `insecureEndpoint` for a URL of another host.
    public init(
        scopes: [String] = [],
        subjectHosts: Set<String> = [],
        universe: String = "googleapis.com",
        client: NetworkClient = NetworkClient(),
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) throws(WorkloadIdentityError) {
        let advice = "set it to the path of an “external_account” file, without which Google Cloud isn't reachable here"
        let path = try environment.value(of: "GOOGLE_APPLICATION_CREDENTIALS", advice: advice)
        let content = try PlatformFile.read(path, missing: "GOOGLE_APPLICATION_CREDENTIALS names it")
        let file = try GoogleExternalAccountFile(content, subjectHosts: subjectHosts, universe: universe)
        let scopes = scopes.isEmpty ? [GoogleImpersonation.cloudPlatform] : scopes
        self.environment = environment
        impersonation = file.impersonationURL.map {
            GoogleImpersonation(
                url: $0,
                scopes: scopes,
                lifetime: file.lifetime,
                environment: environment,
                transport: client.transport
            )
        }
        let scope = impersonation == nil ? scopes.joined(separator: " ") : GoogleImpersonation.cloudPlatform
        let authentication: any ClientAuthentication =
            if let client = file.client {
                ClientSecretBasic.clientSecretBasic(clientID: client.id, secret: client.secret)
            } else {
                PublicClient.none(clientID: file.audience, sendsClientID: false)
            }
        exchange = GrantTokenSource(
            client: OAuth2Client(
                server: AuthorizationServer(issuer: "https://sts.\(universe)", tokenEndpoint: file.tokenURL),
                clientAuthentication: authentication,
                client: client,
                timing: OAuth2Timing(timeSource: environment.timeSource, random: environment.random)
            ),
            grant: TokenExchangeGrant(
                subject: GoogleSubjectSource(file: file, environment: environment),
                subjectTokenType: file.subjectType,
                identifier: file.audience,
                audiences: [file.audience],
                scope: scope,
                requestedTokenType: .accessToken
            ),
            store: InMemoryTokenStore(timeSource: environment.timeSource)
        )
    }

    /// Gets a token of the security token service, or of the service account, with its expiry.
    ///
    /// - Throws: `OAuth2Error` if the exchange fails, with the error of the subject token as its
    ///   cause; the errors of each request (``WorkloadEnvironment``) if the impersonation fails.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        guard let impersonation else { return try await exchanged(for: requirements) }
        return try await impersonation.token(for: requirements) { try await exchanged(for: $0) }
    }

    private func exchanged(for requirements: TokenRequirements) async throws -> AccessToken {
        let token = try await exchange.token(for: requirements)
        guard let expiry = token.expiry, expiry > environment.timeSource.now() else {
            throw WorkloadIdentityError(
                request: .invalidResponse,
                "Google's security token service issued a token without a lifetime; try again later"
            )
        }
        return token
    }
}
