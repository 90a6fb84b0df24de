import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration
import WorkloadIdentity

@Suite("KubernetesServiceAccountSource", .limitedConcurrency)
struct KubernetesServiceAccountSourceTests {
    private let folder: TokenFolder
    private let environment = WorkloadEnvironment(timeSource: ManualTime(advancesWhenSleeping: true).timeSource)

    init() throws { folder = try TokenFolder() }

    private var source: KubernetesServiceAccountSource {
        KubernetesServiceAccountSource(audience: "https://as.example", path: folder.path, environment: environment)
    }

    @Test("Reads the projected token")
    func reads() async throws {
        try folder.write(SampleToken().text, mode: 0o640)
        #expect(text(try await source.token()) == SampleToken().text)
        #expect(source.canReplaceTokens)
    }

    @Test("Refuses the token for the API server, and names the pod's setting")
    func tokenOfTheServer() async throws {
        try folder.write(SampleToken(["aud": ["https://kubernetes.default.svc.cluster.local"]]).text)
        let error = await failure(of: source)
        #expect(error?.code == .wrongAudience)
        #expect(error?.message.contains("serviceAccountToken: { path: …, audience: https://as.example }") == true)
        try folder.write(SampleToken(["aud": nil]).text)
        #expect(await failure(of: source)?.code == .wrongAudience)
        try folder.write("opaque")
        #expect(await failure(of: source)?.code == .malformedToken)
    }

    @Test("A missing token names the pod's setting and the path")
    func missing() async throws {
        let error = await failure(of: source)
        #expect(error?.code == .notConfigured)
        #expect(error?.message.contains("serviceAccountToken") == true)
        #expect(error?.message.contains(folder.path) == true)
    }
}
