import Foundation
import FoundationNetworking
public import Networking
public import OAuth2
import TokenGeneration

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

/// The impersonation of a service account
/// ([Google](https://cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken)).
struct GoogleImpersonation: Sendable {
    static let cloudPlatform = "https://www.googleapis.com/auth/cloud-platform"

    let url: URL
    let scopes: [String]
    /// In seconds.
    let lifetime: Int
    /// The accounts between the caller and the account, by their resource names.
    var delegates: [String] = []
    let environment: WorkloadEnvironment
    let transport: any HTTPTransport

    /// Tries once more with the token's replacement if Google rejects it.
    func token(
        for requirements: TokenRequirements,
        with source: (TokenRequirements) async throws -> AccessToken
    ) async throws -> AccessToken {
        let first = try await source(TokenRequirements(deadline: requirements.deadline))
        do {
            return try await token(with: first, for: requirements)
        } catch let error as WorkloadIdentityError where error.code == .platformRejected && error.status == 401 {
            // The token may have ended early, such as with its subject.
            let other = try await source(.replacing(first, deadline: requirements.deadline))
            return try await token(with: other, for: requirements)
        }
    }

    private func token(with token: AccessToken, for requirements: TokenRequirements) async throws -> AccessToken {
        let body: JSONObject = [
            "scope": .array(scopes.map { .string($0) }), "lifetime": .string("\(lifetime)s"),
            "delegates": .array(delegates.map { .string($0) }),
        ]
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = body.serializedData()
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue(token.value.expose { "Bearer \($0)" }, forHTTPHeaderField: "Authorization")
        let endpoint = PlatformEndpoint(name: "Google's service account credentials API", environment: environment) {
            $0.errorCode == 403 ? Self.denied : nil
        }
        let requested = environment.timeSource.now()
        return try endpoint.accessToken(
            in: try await endpoint.response(to: request, until: requirements.deadline, on: transport),
            .init(token: "accessToken", expiry: "expireTime"),
            requested: requested,
            for: requirements
        )
    }

    private static var denied: WorkloadIdentityError {
        WorkloadIdentityError(
            request: .platformRejected,
            """
            Google doesn't permit the workload to impersonate the service account; grant it \
            roles/iam.workloadIdentityUser or roles/iam.serviceAccountTokenCreator on that account, and enable \
            iamcredentials.googleapis.com
            """,
            status: 403
        )
    }
}
