import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing
import TokenGeneration

@testable import WorkloadIdentity

@Suite("EnvironmentTokenSource and GitLabSource", .limitedConcurrency, .tags(.concurrency))
struct EnvironmentTokenSourceTests {
    private let time = ManualTime()

    private func environment(_ variables: [String: String]) -> WorkloadEnvironment {
        WorkloadEnvironment(variable: { variables[$0] }, timeSource: time.timeSource)
    }

    @Test("Reads the variable for each token")
    func reads() async throws {
        let reads = Mutex(0)
        let token = SampleToken().text
        let environment = WorkloadEnvironment(
            variable: { name in
                reads.withLock { $0 += 1 }
                return name == "AS_TOKEN" ? " \(token)\n" : nil
            },
            timeSource: time.timeSource
        )
        let source = EnvironmentTokenSource("AS_TOKEN", audience: "https://as.example", environment: environment)
        #expect(reads.withLock { $0 } == 0)
        for _ in 1...2 { #expect(text(try await source.token()) == token) }
        #expect(reads.withLock { $0 } == 2)
        #expect(try await source.token().type == "N_A")
        #expect(try await source.token().expiry == time.now + .seconds(600))
        let bearer = EnvironmentTokenSource("A", type: .accessToken, environment: self.environment(["A": "t"]))
        #expect(try await bearer.token().type == "Bearer")
    }

    @Test("Names a missing variable, and refuses unusable values")
    func refusals() async throws {
        let audience = "https://as.example"
        let cases: [(String?, WorkloadIdentityError.Code)] = [
            (nil, .notConfigured), ("", .notConfigured), (" ", .malformedToken), ("opaque", .malformedToken),
            (String(repeating: "a", count: 65_537), .tooLarge),
            (SampleToken(["aud": "https://other.example"]).text, .wrongAudience),
            (SampleToken(["exp": 999_999_999]).text, .expiredToken),
        ]
        for (value, code) in cases {
            let source = EnvironmentTokenSource(
                "AS_TOKEN",
                audience: audience,
                environment: environment(value.map { ["AS_TOKEN": $0] } ?? [:])
            )
            await expectFailure(of: source, code, step: .read, isRetryable: false, naming: "AS_TOKEN")
        }
    }

    @Test("Can't replace a rejected token")
    func rejected() async throws {
        let source = EnvironmentTokenSource("AS_TOKEN", environment: environment(["AS_TOKEN": SampleToken().text]))
        #expect(!source.canReplaceTokens)
        let token = try await source.token()
        #expect(await failure(of: source, .replacing(token))?.code == .rejectedToken)
    }

    @Test("The errors of a GitLab job name the setting to change in .gitlab-ci.yml", .shows("O32", "GitLab CI/CD"))
    func gitLab() async throws {
        func source(_ variables: [String: String], _ variable: String = "AS_TOKEN") -> GitLabSource {
            GitLabSource(audience: "https://as.example", variable: variable, environment: environment(variables))
        }
        let token = SampleToken().text
        #expect(text(try await source(["AS_TOKEN": token]).token()) == token)
        #expect(!source([:]).canReplaceTokens)
        let setting = "id_tokens: { AS_TOKEN: { aud: https://as.example } }"
        await expectFailure(of: source([:]), .notConfigured, naming: setting)
        await expectFailure(of: source(["AS_TOKEN": SampleToken(["aud": "a"]).text]), .wrongAudience, naming: setting)
        await expectFailure(of: source(["AS_TOKEN": SampleToken(["exp": 1]).text]), .expiredToken, naming: "timeout")
        let named = GitLabSource(audience: "https://as.example", environment: environment(["GITLAB_OIDC_TOKEN": token]))
        #expect(text(try await named.token()) == token)
    }
}
