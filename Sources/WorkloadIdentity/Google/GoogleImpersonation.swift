import Foundation
import FoundationNetworking
import Networking
import OAuth2
import TokenGeneration

/// The impersonation of a service account
/// ([Google](https://cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken)).
struct GoogleImpersonation: Sendable {
    static let cloudPlatform = "https://www.googleapis.com/auth/cloud-platform"

    let url: URL
    let scopes: [String]
    /// The lifetime of a token in seconds.
    let lifetime: Int
    /// The accounts between the caller and the account, by their resource names.
    var delegates: [String] = []
    let environment: WorkloadEnvironment
    /// The transport for requests to Google.
    let transport: any HTTPTransport

    /// Gets a token of the service account with another token, and once more with its replacement
    /// if Google rejects it.
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
