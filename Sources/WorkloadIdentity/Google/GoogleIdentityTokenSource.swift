import Networking
public import OAuth2

/// A token source for the identity tokens of a Google Cloud machine's service account
/// ([Google](https://cloud.google.com/compute/docs/instances/verifying-instance-identity)).
///
/// ```swift
/// let source = GoogleIdentityTokenSource(audience: "https://as.example")
/// ```
///
/// The token is a JWT of Google, valid for an hour, which other parties can verify. Use it as a
/// client assertion or as the subject of a token exchange. For a service that accepts it in
/// requests, such as Cloud Run, pass the type `accessToken` and wrap the source in a
/// `CachedTokenSource`.
public struct GoogleIdentityTokenSource: TokenSource {
    private let audience: String
    private let type: String
    private let environment: WorkloadEnvironment

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - audience: The audience to request: the server or service that gets the token.
    ///   - type: The type of the token. The default is an ID token. A token of the type
    ///     `accessToken` can be sent in requests; others are only for token requests.
    ///   - environment: The variables, clocks and network. `GCE_METADATA_HOST` replaces the
    ///     server's host.
    public init(
        audience: String,
        type: TokenType = .idToken,
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) {
        self.audience = audience
        self.type = type == .accessToken ? AccessToken.bearer : AccessToken.notApplicable
        self.environment = environment
    }

    /// Requests a token.
    ///
    /// - Throws: The errors of ``GoogleMetadataSource/token(for:)``, and ``WorkloadIdentityError``
    ///   with the code `wrongAudience`.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let (response, endpoint) = try await GoogleMetadataServer(environment: environment).response(
            for: "identity",
            [("audience", audience), ("format", "full"), ("licenses", "FALSE")],
            until: requirements.deadline
        )
        return try endpoint.jwt(in: response.body, type: type, audience: audience, for: requirements)
    }
}
