import Networking
public import OAuth2

/// A token source for the access tokens of a Google Cloud machine's service account
/// ([Google](https://cloud.google.com/compute/docs/access/authenticate-workloads)).
///
/// ```swift
/// let source = CachedTokenSource(GoogleMetadataSource())
/// ```
///
/// It works on Compute Engine, in Google Kubernetes Engine, Cloud Run and Cloud Functions. The
/// metadata server returns the same token until some minutes before its expiry.
public struct GoogleMetadataSource: TokenSource {
    private let scopes: [String]
    private let environment: WorkloadEnvironment

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - scopes: The requested scopes, such as `https://www.googleapis.com/auth/cloud-platform`.
    ///     By default, the token has those that the machine was created with.
    ///   - environment: The variables, clocks and network. `GCE_METADATA_HOST` replaces the
    ///     server's host.
    public init(scopes: [String] = [], environment: WorkloadEnvironment = WorkloadEnvironment()) {
        self.scopes = scopes
        self.environment = environment
    }

    /// Requests a token, which has the expiry that the server states.
    ///
    /// - Throws: The errors of each request (``WorkloadEnvironment``); ``WorkloadIdentityError``
    ///   with the code `notConfigured` if the machine has no service account.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let requested = environment.timeSource.now()
        let (response, endpoint) = try await GoogleMetadataServer(environment: environment).response(
            for: "token",
            scopes.isEmpty ? [] : [("scopes", scopes.joined(separator: ","))],
            until: requirements.deadline
        )
        return try endpoint.accessToken(in: response, requested: requested, for: requirements)
    }
}
