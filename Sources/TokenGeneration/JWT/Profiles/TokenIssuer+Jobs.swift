internal import Foundation

extension TokenIssuer {
    /// Returns GitHub Actions, whose tokens identify the workflow that runs ([OpenID Connect
    /// reference](https://docs.github.com/en/actions/reference/security/oidc)).
    ///
    /// ```swift
    /// .gitHubActions(requiring: [
    ///     "repository_id": "456789",
    ///     "environment": "production",
    /// ])
    /// ```
    ///
    /// Tokens are signed with RS256 and have `iss`, `sub`, `aud`, `exp`, `iat` and `jti`.
    ///
    /// Everyone on GitHub can get tokens for any audience. The requirements must therefore contain
    /// `repository`, `repository_id`, `repository_owner`, `repository_owner_id`, `enterprise`,
    /// `enterprise_id`, or a `sub` that starts with one of them. Otherwise, the policy rejects
    /// every token. `job_workflow_ref` isn't enough, because every repository can call a public
    /// workflow.
    ///
    /// - IDs are safer than names, because a deleted name can be registered again.
    /// - `sub` has several formats: with names, with names and IDs, or as the repository's
    ///   administrators customize it. The other claims are the same in all of them.
    /// - Without `environment` or `ref`, each branch of the repository counts. A `ref` also matches
    ///   the event `pull_request_target`; require an `event_name` or an environment with protection
    ///   rules.
    /// - The default audience, the URL of the repository's owner, is the same for all services.
    ///   Have the workflow request your own.
    ///
    /// - Parameters:
    ///   - claims: The claims that tokens must have, with their exact values.
    ///   - issuer: The issuer. The default is that of github.com. Enterprises can have their own:
    ///     `https://token.actions.githubusercontent.com/ENTERPRISE`,
    ///     `https://token.actions.SUBDOMAIN.ghe.com` or `https://HOSTNAME/_services/token`.
    /// - Returns: The issuer.
    public static func gitHubActions(
        requiring claims: [String: String],
        issuer: String = "https://token.actions.githubusercontent.com"
    ) -> TokenIssuer {
        let identities = [
            "repository", "repository_id", "repository_owner", "repository_owner_id", "enterprise", "enterprise_id",
        ]
        var profile = TokenIssuer.ofJobs(issuer, requiring: claims, identities: identities, subjects: ["repo"])
        if issuer.isExactly("https://token.actions.githubusercontent.com") {
            profile.keySetURL = URL(string: "https://token.actions.githubusercontent.com/.well-known/jwks")
        }
        return profile
    }

    /// Returns GitLab, whose ID tokens identify the CI/CD job that runs ([ID
    /// tokens](https://docs.gitlab.com/ci/secrets/id_token_authentication/)).
    ///
    /// ```swift
    /// .gitLab(requiring: ["project_id": "20", "ref_path": "refs/heads/main"])
    /// ```
    ///
    /// Tokens are signed with RS256 and have `iss`, `sub`, `aud`, `exp`, `iat` and `jti`.
    ///
    /// Everyone on the server can get tokens for any audience. The requirements must therefore
    /// contain `project_id`, `project_path`, `namespace_id`, `namespace_path`, or a `sub` that
    /// starts with one of them. Otherwise, the policy rejects every token.
    ///
    /// - IDs are safer than paths, because a deleted path can be registered again.
    /// - `ref` alone is ambiguous: a tag can have the name of a branch. Require `ref_path`, or
    ///   `ref_type` with it. Add `ref_protected` (`true`), because every developer can push to
    ///   other branches.
    ///
    /// - Parameters:
    ///   - claims: The claims that tokens must have, with their exact values.
    ///   - issuer: The URL of the server. The default is `https://gitlab.com`.
    /// - Returns: The issuer.
    public static func gitLab(
        requiring claims: [String: String],
        issuer: String = "https://gitlab.com"
    ) -> TokenIssuer {
        let identities = ["project_id", "project_path", "namespace_id", "namespace_path"]
        return ofJobs(issuer, requiring: claims, identities: identities)
    }

    private static func ofJobs(
        _ issuer: String,
        requiring claims: [String: String],
        identities: [String],
        subjects: [String] = []
    ) -> TokenIssuer {
        var policy = ValidationPolicy(issuer: .exactly(issuer), type: .absentOrJWT)
        policy.requiredClaims = ["iss", "sub", "aud", "exp", "iat", "jti"]
        let subject = claims["sub"] ?? ""
        let isLimited =
            identities.contains { claims[$0] != nil }
            || (identities + subjects).contains { subject.utf8.starts(with: "\($0):".utf8) }
        if !isLimited { policy.checks.append(.rejectingAll(without: identities)) }
        for (name, value) in claims.sorted(by: { $0.key < $1.key }) {
            if name == "sub" {
                policy.subject = .exactly(value)
            } else {
                policy.checks.append(.claim(name, is: value))
            }
        }
        var profile = TokenIssuer(policy, algorithms: [.rs256])
        profile.metadataIssuer = issuer
        return profile
    }
}

extension ClaimsCheck {
    /// Rejects every token, because the policy would accept the jobs of strangers.
    fileprivate static func rejectingAll(without names: [String]) -> ClaimsCheck {
        let names = names.map { "“\($0)”" }.joined(separator: ", ")
        return ClaimsCheck(throwing: "identity") { _ in
            throw TokenError(
                .claimMismatch,
                "the policy would accept jobs of everyone at this issuer; require a value for one of \(names)"
            )
        }
    }
}
