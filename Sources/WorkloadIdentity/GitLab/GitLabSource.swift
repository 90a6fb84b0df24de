public import OAuth2

/// A token source for an ID token of a GitLab CI/CD job
/// ([GitLab](https://docs.gitlab.com/ci/secrets/id_token_authentication/)).
///
/// ```swift
/// let source = GitLabSource(
///     audience: "https://as.example",
///     variable: "AS_TOKEN"
/// )
/// ```
///
/// The job gets the token in a variable when it starts, and no other one later. With a server that
/// accepts each token once, exchange it once and cache the result.
public struct GitLabSource: TokenSource {
    private let source: EnvironmentTokenSource

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - audience: The `aud` in the job's `id_tokens`.
    ///   - variable: The name of the token in the job's `id_tokens`. The default is
    ///     `GITLAB_OIDC_TOKEN`.
    ///   - environment: The variables and clocks.
    public init(
        audience: String,
        variable: String = "GITLAB_OIDC_TOKEN",
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) {
        let advice = "add “id_tokens: { \(variable): { aud: \(audience) } }” to the job in .gitlab-ci.yml"
        source = EnvironmentTokenSource(
            variable,
            form: .jwt,
            audience: audience,
            missing: advice,
            audienceAdvice: advice,
            expiryAdvice: "the job can't get another one; exchange it earlier, or set a longer “timeout” for the job",
            environment
        )
    }

    /// Always `false`.
    public var canReplaceTokens: Bool { false }

    /// Reads the token, as ``EnvironmentTokenSource`` does.
    public func token(for requirements: TokenRequirements) throws -> AccessToken {
        try source.token(for: requirements)
    }
}
