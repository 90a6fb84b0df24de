import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Jobs of GitHub Actions and GitLab", .computing)
struct JobProfileTests {
    private static let audience = "https://deploy.example"
    private static let issuer = "https://token.actions.githubusercontent.com"

    /// The sample of https://docs.github.com/en/actions/concepts/security/openid-connect, with
    /// another audience.
    private static let workflow = IssuerFixture(
        claims: [
            "jti": "example-id", "sub": "repo:octo-org/octo-repo:environment:prod", "environment": "prod",
            "aud": .string(audience), "ref": "refs/heads/main", "sha": "example-sha",
            "repository": "octo-org/octo-repo", "repository_owner": "octo-org", "actor_id": "12",
            "repository_visibility": "private", "repository_id": "74", "repository_owner_id": "65",
            "run_id": "example-run-id", "run_number": "10", "run_attempt": "2", "runner_environment": "github-hosted",
            "actor": "octocat", "workflow": "example-workflow", "head_ref": "", "base_ref": "",
            "event_name": "workflow_dispatch", "enterprise": "avocado-corp", "enterprise_id": "2", "ref_type": "branch",
            "job_workflow_ref": "octo-org/octo-automation/.github/workflows/oidc.yml@refs/heads/main",
            "iss": .string(issuer), "nbf": 1_632_492_967, "exp": 1_632_493_867, "iat": 1_632_493_567,
        ],
        header: ["typ": "JWT", "x5t": "example-thumbprint", "kid": "1"],
        keyMembers: ["use": "sig", "alg": "RS256"]
    )

    private static func refusal(
        _ changes: [String: JSONValue?] = [:],
        requiring claims: [String: String] = ["repository_id": "74", "environment": "prod"]
    ) throws -> TokenError.Code? {
        try workflow.refusal(changes, by: .gitHubActions(requiring: claims), audience: audience)
    }

    @Test(
        "Accepts a workflow's token in all formats of sub",
        .shows("I10", "GitHub Actions, GitLab"),
        arguments: [
            "repo:octo-org/octo-repo:environment:prod", "repo:octo-org@65/octo-repo@74:environment:prod",
            "repo:octo-org/octo-repo:ref:refs/heads/main", "repo:octo-org/octo-repo:pull_request",
            "repository_owner:octo-org:repository_visibility:private", "repository_id:74",
            "repo:octo-org/octo-repo:environment:prod:job_workflow_ref:octo-org/octo-automation/x.yml@refs/heads/main",
        ]
    )
    func subjects(subject: String) throws {
        #expect(try Self.refusal(["sub": .string(subject)]) == nil)
    }

    @Test(
        "Compares each required claim exactly",
        .shows("I10", "J28"),
        arguments: [
            (["repository_id": "74"], [:], nil),
            (["repository": "octo-org/octo-repo", "ref": "refs/heads/main"], [:], nil),
            (["repository": "octo-org/octo-rep"], [:], .claimMismatch),
            (["repository": "octo-org/*"], [:], .claimMismatch),
            (["repository": "octo-org/octo-repo"], ["repository": "octo-org/octo-repo-fork"], .claimMismatch),
            (["repository_id": "74"], ["repository_id": "75"], .claimMismatch),
            (["repository_id": "74"], ["repository_id": 74], .malformedClaim),
            (["repository_id": "74"], ["repository_id": nil], .missingClaim),
            (["repository_id": "74", "environment": "prod"], ["environment": nil], .missingClaim),
            (["repository_id": "74", "environment": "prod"], ["environment": "Prod"], .claimMismatch),
            (["repository_id": "74", "ref": "refs/heads/main"], ["ref": "refs/heads/main2"], .claimMismatch),
            (["repository_id": "74", "ref": "refs/heads/main"], ["ref": "refs/pull/1/merge"], .claimMismatch),
            (["repository_id": "74", "event_name": "push"], ["event_name": "pull_request_target"], .claimMismatch),
            (["repository_owner_id": "65"], [:], nil),
            (["repository_owner": ""], ["repository_owner": ""], .claimMismatch),
            // A required sub is compared exactly, so that its format matters.
            (["sub": "repo:octo-org/octo-repo:environment:prod"], [:], nil),
            (["sub": "repo:octo-org@65/octo-repo@74:environment:prod"], [:], .subjectMismatch),
            (["sub": "repo:octo-org/*"], [:], .subjectMismatch),
        ] as [([String: String], [String: JSONValue?], TokenError.Code?)]
    )
    func requirements(claims: [String: String], changes: [String: JSONValue?], expected: TokenError.Code?) throws {
        #expect(try Self.refusal(changes, requiring: claims) == expected)
    }

    @Test(
        "Rejects every token if the requirements name no repository, owner or enterprise",
        .shows("I9"),
        arguments: [
            [:], ["ref": "refs/heads/main"], ["environment": "prod"], ["actor": "octocat"],
            ["job_workflow_ref": "octo-org/octo-automation/.github/workflows/oidc.yml@refs/heads/main"],
            ["sub": "environment:prod"], ["sub": "job_workflow_ref:octo-org/x"], ["sub": "repo"],
        ] as [[String: String]]
    )
    func withoutIdentity(claims: [String: String]) throws {
        var changes: [String: JSONValue?] = [:]
        if let subject = claims["sub"] { changes["sub"] = .string(subject) }
        #expect(try Self.refusal(changes, requiring: claims) == .claimMismatch)
    }

    @Test(
        "Rejects the owner's URL as audience, other issuers, and tokens without the documented claims",
        .shows("I11"),
        arguments: [
            (["aud": "https://github.com/octo-org"], .audienceMismatch), (["aud": nil], .missingClaim),
            (["iss": .string("\(issuer)/octocat-inc")], .issuerMismatch),
            (["iss": .string("\(issuer)/")], .issuerMismatch),
            (["iss": nil], .missingClaim), (["jti": nil], .missingClaim), (["iat": nil], .missingClaim),
            (["exp": nil], .missingClaim), (["sub": nil], .missingClaim), (["exp": 1_632_493_000], .expired),
        ] as [([String: JSONValue?], TokenError.Code)]
    )
    func claims(changes: [String: JSONValue?], expected: TokenError.Code) throws {
        #expect(try Self.refusal(changes) == expected)
    }

    @Test("An enterprise's issuer replaces that of github.com", .shows("GitHub Actions, GitLab"))
    func enterprise() throws {
        let own = "\(Self.issuer)/octocat-inc"
        let profile = TokenIssuer.gitHubActions(requiring: ["repository_id": "74"], issuer: own)
        #expect(try Self.workflow.refusal(["iss": .string(own)], by: profile, audience: Self.audience) == nil)
        #expect(try Self.workflow.refusal(by: profile, audience: Self.audience) == .issuerMismatch)
        // Its metadata names the keys.
        #expect(profile.keySetURL == nil)
        let keys = TokenIssuer.gitHubActions(requiring: [:]).keySetURL
        #expect(keys?.absoluteString == "\(Self.issuer)/.well-known/jwks")
    }

    @Test("Rejects other algorithms, even if the issuer published a key for one", .shows("I1"))
    func algorithms() throws {
        for algorithm in [JWSAlgorithm.es256, .ps256, .rs512] {
            var workflow = Self.workflow
            workflow.algorithm = algorithm
            workflow.keyMembers = ["use": "sig"]
            let profile = TokenIssuer.gitHubActions(requiring: ["repository_id": "74"])
            #expect(try workflow.refusal(by: profile, audience: Self.audience) == .algorithmMismatch)
        }
    }

    // MARK: GitLab

    /// The sample of https://docs.gitlab.com/ci/secrets/id_token_authentication/.
    private static let job = IssuerFixture(
        claims: [
            "namespace_id": "72", "namespace_path": "my-group", "project_id": "20",
            "project_path": "my-group/my-project", "user_id": "1", "user_login": "sample-user", "pipeline_id": "574",
            "pipeline_source": "push", "job_id": "302", "ref": "feature-branch-1", "ref_type": "branch",
            "ref_path": "refs/heads/feature-branch-1", "ref_protected": "false", "environment": "test-environment2",
            "runner_id": 1, "runner_environment": "self-hosted", "jti": "235b3a54-b797-45c7-ae9a-f72d7bc6ef5b",
            "iss": "https://gitlab.example.com", "iat": 1_681_395_193, "nbf": 1_681_395_188, "exp": 1_681_398_793,
            "sub": "project_path:my-group/my-project:ref_type:branch:ref:feature-branch-1",
            "aud": "https://vault.example.com",
        ]
    )

    @Test(
        "Compares each required claim of a GitLab job, and requires a project or a namespace",
        .shows("I9", "GitHub Actions, GitLab"),
        arguments: [
            (["project_id": "20"], [:], nil),
            (["namespace_id": "72", "ref_path": "refs/heads/feature-branch-1"], [:], nil),
            (["sub": "project_path:my-group/my-project:ref_type:branch:ref:feature-branch-1"], [:], nil),
            (["sub": "project_path:my-group/my-project:ref_type:tag:ref:feature-branch-1"], [:], .subjectMismatch),
            (["project_id": "20", "ref_protected": "true"], [:], .claimMismatch),
            (["project_id": "20", "ref_type": "tag"], [:], .claimMismatch), (["project_id": "2"], [:], .claimMismatch),
            (["project_id": "20"], ["project_id": nil], .missingClaim), ([:], [:], .claimMismatch),
            (["ref": "feature-branch-1", "ref_protected": "false"], [:], .claimMismatch),
            (["project_id": "20"], ["aud": "https://other.example"], .audienceMismatch),
            (["project_id": "20"], ["iss": "https://gitlab.com"], .issuerMismatch),
            (["project_id": "20"], ["iss": "gitlab.example.com"], .issuerMismatch),
        ] as [([String: String], [String: JSONValue?], TokenError.Code?)]
    )
    func gitLab(claims: [String: String], changes: [String: JSONValue?], expected: TokenError.Code?) throws {
        let profile = TokenIssuer.gitLab(requiring: claims, issuer: "https://gitlab.example.com")
        #expect(try Self.job.refusal(changes, by: profile, audience: "https://vault.example.com") == expected)
    }
}
