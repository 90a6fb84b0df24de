import Foundation
import FoundationNetworking
import Networking
public import OAuth2
import TokenGeneration

/// A token source for the ID token of a GitHub Actions job, or of a Forgejo Actions job
/// ([GitHub](https://docs.github.com/en/actions/reference/security/oidc)).
///
/// ```swift
/// let source = GitHubActionsSource(audience: "https://as.example")
/// ```
///
/// Each call requests a new token, which is valid for about five minutes. Wrap the source in a
/// `CachedTokenSource` only if the server accepts a token more than once.
///
/// The job needs `permissions: id-token: write`. Don't let child processes that don't need it
/// inherit `ACTIONS_ID_TOKEN_REQUEST_TOKEN`.
public struct GitHubActionsSource: TokenSource {
    private static let urlVariable = "ACTIONS_ID_TOKEN_REQUEST_URL"
    private static let tokenVariable = "ACTIONS_ID_TOKEN_REQUEST_TOKEN"
    private static let advice = """
        the job needs “permissions: id-token: write”, which pull requests from forks don't get
        """

    private let audience: String?
    private let environment: WorkloadEnvironment

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - audience: The audience to request. With `nil`, it's the URL of the repository's owner.
    ///   - environment: The variables, clocks and network.
    public init(audience: String?, environment: WorkloadEnvironment = WorkloadEnvironment()) {
        self.audience = audience
        self.environment = environment
    }

    /// Requests a token.
    ///
    /// - Throws: The errors of each request (``WorkloadEnvironment``); ``WorkloadIdentityError``
    ///   with the code `notConfigured`.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let address = try environment.value(of: Self.urlVariable, advice: Self.advice)
        let secret = Secret(try environment.value(of: Self.tokenVariable, advice: Self.advice))
        var request = URLRequest(url: try url(address))
        let field = secret.expose { "Bearer \($0)" }
        guard field.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw WorkloadIdentityError(.notConfigured, "\(Self.tokenVariable) isn't a token; \(Self.advice)")
        }
        request.setValue(field, forHTTPHeaderField: "Authorization")
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        let endpoint = PlatformEndpoint(name: "the endpoint in \(Self.urlVariable)", environment: environment)
        let response = try await endpoint.response(to: request, until: requirements.deadline, expecting: [200, 201])
        guard let value = (try? JSONObject(parsing: response.body))?["value"]?.string else {
            throw endpoint.invalid("didn't respond with JSON that has a “value”; check what answers at its address")
        }
        return try endpoint.jwt(in: value.utf8, audience: audience, for: requirements)
    }

    private func url(_ address: String) throws(WorkloadIdentityError) -> URL {
        guard let base = URL(string: address), HTTPOrigin(base)?.scheme == "https", base.user == nil,
            base.fragment == nil,
            let url = audience.map({ PlatformAddress.url(address, [("audience", $0)]) }) ?? base
        else {
            throw WorkloadIdentityError(
                .insecureEndpoint,
                "\(Self.urlVariable) isn't an https URL, so the job's credential isn't sent; check what sets it"
            )
        }
        return url
    }
}

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
