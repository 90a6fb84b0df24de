import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

@testable import WorkloadIdentity

@Suite("The default source", .limitedConcurrency)
struct DefaultTokenSourceTests {
    private let time = ManualTime()
    private let audience = "https://as.example"

    private func environment(_ variables: [String: String], _ transport: MockTransport? = nil) -> WorkloadEnvironment {
        WorkloadEnvironment(variable: { variables[$0] }, timeSource: time.timeSource, transport: transport)
    }

    /// All platforms, of which those of the hardware come last.
    private func platforms(_ environment: WorkloadEnvironment, folder: TokenFolder? = nil) -> [WorkloadPlatform] {
        [
            .gitHubActions(audience: audience, environment: environment),
            .gitLab(audience: audience, variable: "AS_TOKEN", environment: environment),
            .kubernetes(audience: audience, path: "/nonexistent/tokens/as", environment: environment),
            .spiffe(audience: audience, path: folder?.path ?? "/nonexistent/svid/token", environment: environment),
        ]
    }

    @Test("Uses the first platform that applies, and says why the others don't", .shows("O40"))
    func choice() async throws {
        let token = SampleToken().text
        let source = DefaultTokenSource(platforms(environment(["AS_TOKEN": token, "GITLAB_CI": "true"])))
        #expect(source.platform == "GitLab")
        #expect(source.skipped.map(\.name) == ["GitHub Actions"])
        #expect(source.skipped[0].reason == "ACTIONS_ID_TOKEN_REQUEST_URL and GITHUB_ACTIONS aren't set")
        #expect(text(try await source.token()) == token)
    }

    @Test("Recognizes each platform by what the platform sets")
    func recognition() throws {
        let folder = try TokenFolder()
        for (variables, name) in [
            (["GITHUB_ACTIONS": "true"], "GitHub Actions"), (["ACTIONS_ID_TOKEN_REQUEST_URL": "x"], "GitHub Actions"),
            (["GITLAB_CI": "true"], "GitLab"), (["AS_TOKEN": "t"], "GitLab"), ([:], "SPIFFE"),
            (["GITHUB_ACTIONS": ""], "SPIFFE"),
        ] as [([String: String], String)] {
            #expect(DefaultTokenSource(platforms(environment(variables), folder: folder)).platform == name)
        }
        let pod = DefaultTokenSource([.kubernetes(audience: audience, path: folder.path)])
        #expect(pod.platform == "Kubernetes")
        let azure = environment(["IDENTITY_ENDPOINT": "http://127.0.0.1:1/"])
        #expect(DefaultTokenSource([.azure(resource: audience, environment: azure)]).platform == "Azure")
        for variable in ["GCE_METADATA_HOST", "K_SERVICE"] {
            let google = environment([variable: "127.0.0.1:1"])
            #expect(DefaultTokenSource([.google(audience: audience, environment: google)]).platform == "Google Cloud")
        }
    }

    @Test("Compares the text of the hardware's file, without the end of its line")
    func hardware() throws {
        let folder = try TokenFolder()
        try folder.write("Google Compute Engine\n")
        let name = { (expected: String) in
            WorkloadPlatform.hardware("token", in: folder.url.path) { $0 == expected }
        }
        #expect(name("Google Compute Engine"))
        #expect(!name("Google"))
        #expect(!WorkloadPlatform.hardware("absent", in: folder.url.path) { _ in true })
    }

    @Test("Never continues with another identity when the chosen platform fails", .shows("O40", "W18"))
    func noFallback() async throws {
        let folder = try TokenFolder()
        try folder.write(SampleToken().text)
        let transport = MockTransport(time: time.timeSource) { _ in HTTPTransportResponse(status: 403) }
        let variables = ["ACTIONS_ID_TOKEN_REQUEST_URL": "https://p.example/", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "t"]
        let source = DefaultTokenSource(platforms(environment(variables, transport), folder: folder))
        for _ in 1...3 { #expect(await failure(of: source)?.code == .platformRejected) }
        #expect(transport.requests.count == 3)
        // A job without the permission fails instead of using the file.
        let job = DefaultTokenSource(platforms(environment(["GITHUB_ACTIONS": "true"]), folder: folder))
        await expectFailure(of: job, .notConfigured, naming: "id-token: write")
    }

    @Test("Without a platform, the error lists every reason, and nothing is sent")
    func none() async throws {
        let transport = MockTransport(time: time.timeSource) { _ in HTTPTransportResponse(status: 200) }
        let source = DefaultTokenSource(platforms(environment([:], transport)))
        #expect(source.platform == nil)
        let error = await failure(of: source)
        #expect(error?.code == .notConfigured)
        for part in ["GitHub Actions: ", "GitLab: ", "Kubernetes: “/nonexistent/tokens” doesn't exist", "SPIFFE: "] {
            #expect(error?.message.contains(part) == true, "\(part)")
        }
        #expect(transport.requests.isEmpty)
        #expect(await failure(of: DefaultTokenSource([]))?.code == .notConfigured)
    }

    @Test("Accepts platforms of the application")
    func custom() async throws {
        let fixed = StaticTokenSource(AccessToken(value: Secret("own"), requested: time.timeSource.now()))
        let source = DefaultTokenSource([
            WorkloadPlatform("first", fixed) { "it's off" }, WorkloadPlatform("second", fixed) { nil },
            WorkloadPlatform("third", fixed) {
                Issue.record("asked after the choice")
                return nil
            },
        ])
        #expect(source.platform == "second")
        #expect(source.skipped.map(\.reason) == ["it's off"])
        #expect(text(try await source.token()) == "own")
    }
}

@Suite("WorkloadIdentityError", .computing)
struct WorkloadIdentityErrorTests {
    @Test("Describes the step, the code, the message and the cause")
    func description() {
        let cause = NetworkError(.timedOut, "too slow")
        let error = WorkloadIdentityError(.platformUnavailable, .request, "no response", status: 503, cause: cause)
        #expect(error.description == "request: platformUnavailable: no response (\(cause))")
        #expect(error.localizedDescription == error.description)
        #expect(error == WorkloadIdentityError(.platformUnavailable, .read, ""))
        #expect(error != WorkloadIdentityError(.platformRejected, .request, "no response"))
    }

    @Test("Only an unavailable platform is worth repeating")
    func retryable() {
        let codes: [WorkloadIdentityError.Code] = [
            .notConfigured, .unreadableFile, .insecureFile, .tooLarge, .malformedToken, .wrongAudience, .expiredToken,
            .rejectedToken, .insecureEndpoint, .platformUnavailable, .platformRejected, .invalidResponse,
            .ambiguousIdentity, .invalidConfiguration,
        ]
        #expect(Set(codes.map(\.description)).count == codes.count)
        for code in codes {
            let error = WorkloadIdentityError(code, .read, "")
            #expect(error.isRetryable == (code == .platformUnavailable))
            #expect(error.isUnchangedToken == (code == .rejectedToken))
        }
    }
}
