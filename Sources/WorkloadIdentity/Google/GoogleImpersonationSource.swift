import Foundation
public import Networking
public import OAuth2

/// A token source for Google Cloud that impersonates a service account with the token of another
/// identity ([Google](https://cloud.google.com/iam/docs/service-account-impersonation)).
///
/// ```swift
/// let source = CachedTokenSource(
///     try GoogleImpersonationSource(
///         serviceAccount: "reports@finance.iam.gserviceaccount.com",
///         source: CachedTokenSource(GoogleMetadataSource())
///     )
/// )
/// ```
///
/// The other identity needs the role `roles/iam.serviceAccountTokenCreator` on the account. Each
/// call requests a token, so wrap the source in a `CachedTokenSource`.
public struct GoogleImpersonationSource: TokenSource {
    private let source: any TokenSource
    private let impersonation: GoogleImpersonation

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - serviceAccount: The email address of the service account.
    ///   - source: The source of the other identity's access tokens for Google, such as a
    ///     ``GoogleMetadataSource``.
    ///   - scopes: The requested scopes. The default, an empty list, requests `cloud-platform`.
    ///   - lifetime: The lifetime of a token in whole seconds, up to 12 hours. Google permits more
    ///     than an hour, the default, only if the organization does.
    ///   - delegates: The email addresses of the accounts of a chain, each of which may
    ///     impersonate the next one. The default is empty.
    ///   - universe: The domain of Google's services. The default is `googleapis.com`.
    ///   - client: The client for requests to Google.
    ///   - environment: The clocks.
    /// - Throws: ``WorkloadIdentityError`` with the code `notConfigured` if an email address or the
    ///   lifetime is invalid.
    public init(
        serviceAccount: String,
        source: any TokenSource,
        scopes: [String] = [],
        lifetime: Duration = .seconds(3_600),
        delegates: [String] = [],
        universe: String = "googleapis.com",
        client: NetworkClient = NetworkClient(),
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) throws(WorkloadIdentityError) {
        let name = { (email: String) in "projects/-/serviceAccounts/\(email)" }
        guard ([serviceAccount] + delegates).allSatisfy(Self.isEmail),
            let url = URL(string: "https://iamcredentials.\(universe)/v1/\(name(serviceAccount)):generateAccessToken")
        else {
            throw WorkloadIdentityError(
                .notConfigured,
                "a service account must be an email address; see “gcloud iam service-accounts list”"
            )
        }
        guard (1...43_200).contains(lifetime.components.seconds) else {
            throw WorkloadIdentityError(.notConfigured, "the lifetime must be from 1 second through 12 hours")
        }
        self.source = source
        impersonation = GoogleImpersonation(
            url: url,
            scopes: scopes.isEmpty ? [GoogleImpersonation.cloudPlatform] : scopes,
            lifetime: Int(lifetime.components.seconds),
            delegates: delegates.map(name),
            environment: environment,
            transport: client.transport
        )
    }

    /// Gets a token of the service account, with its expiry.
    ///
    /// If Google rejects the other identity's token, the source gets another one once.
    ///
    /// - Throws: The errors of the other source, and of each request (``WorkloadEnvironment``);
    ///   ``WorkloadIdentityError`` with the code `notConfigured` if the other source has no access
    ///   tokens.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        try await impersonation.token(for: requirements) { requirements in
            let token = try await source.token(for: requirements)
            guard token.type != AccessToken.notApplicable else {
                throw WorkloadIdentityError(
                    .notConfigured,
                    "an identity token can't impersonate a service account; use a source of access tokens for Google"
                )
            }
            return token
        }
    }

    private static func isEmail(_ text: String) -> Bool {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        let isName = text.utf8.allSatisfy { PercentEncoding.isUnreserved($0) && $0 != UInt8(ascii: "~") || $0 == 0x40 }
        return isName && parts.count == 2 && !parts[0].isEmpty && !parts[1].isEmpty
    }
}
