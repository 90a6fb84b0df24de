import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("makeAuthorizedRequest", .limitedConcurrency, .tags(.concurrency))
struct AuthenticationProviderTests {
    private struct SignedOut: Error {}

    /// Returns scripted tokens.
    private final class Provider: AuthenticationProvider {
        let answers: Mutex<[Result<String, any Error>]>
        let calls = EventLog()

        init(_ answers: Result<String, any Error>...) {
            self.answers = Mutex(answers)
        }

        func bearerToken(
            exchanging exchangeRequest: URLRequest,
            scope: String,
            rejected: String?,
            until deadline: ContinuousClock.Instant?
        ) async throws -> String {
            calls.append("\(exchangeRequest) \(scope) \(rejected ?? "-") \(deadline == nil ? "-" : "deadline")")
            return try answers.withLock { try $0.removeFirst().get() }
        }
    }

    private func call(
        _ transport: MockTransport,
        _ provider: Provider?,
        _ interceptors: [any Interceptor] = []
    ) async throws -> Data {
        let options = NetworkClient.Options(authenticationProvider: provider)
        var request = URLRequest(url: URL(string: "http://api.example/resource")!)
        request.setValue("Basic abc", forHTTPHeaderField: "Authorization")
        return try await NetworkClient(transport: transport, interceptors: interceptors, options: options)
            .makeAuthorizedRequest(
                exchangeRequest: URLRequest(url: URL(string: "http://as.example/")!),
                scope: "read",
                request: request
            )
    }

    @Test("Replaces Authorization by the provider's token, which the client's interceptors see", .shows("3.9", "3.12"))
    func sending() async throws {
        let (transport, provider, log) = (MockTransport(.text("ok")), Provider(.success("a1")), EventLog())
        let watching = Changing.request { log.append($0.headers["Authorization"] ?? "none") }
        #expect(try await call(transport, provider, [watching]) == Data("ok".utf8))
        #expect(transport.requests[0].headers.values(for: "Authorization") == ["Bearer a1"])
        #expect(log.all == ["Bearer a1"] && provider.calls.all == ["http://as.example/ read - deadline"])
    }

    @Test("Sends nothing without a provider", .shows("3.9"))
    func noProvider() async throws {
        let transport = MockTransport()
        await expectFailure(.authenticationProviderNotPresent) { try await call(transport, nil) }
        #expect(transport.requests.isEmpty)
    }

    @Test("A provider's error is the cause, and nothing is sent")
    func providerFails() async throws {
        let transport = MockTransport()
        let error = await expectFailure(.requestNotMade) { try await call(transport, Provider(.failure(SignedOut()))) }
        #expect(error?.cause is SignedOut && transport.requests.isEmpty)
    }

    @Test("Sends the request again, once, if the provider replaces a rejected token", arguments: [200, 401])
    func rejected(_ status: Int) async throws {
        let provider = Provider(.success("a1"), .success("a2"))
        let transport = MockTransport(.status(401), .status(status))
        if status == 200 {
            _ = try await call(transport, provider)
        } else {
            await expectStatus(status) { try await call(transport, provider) }
        }
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer a1", "Bearer a2"])
        #expect(provider.calls.all.last == "http://as.example/ read a1 deadline" && provider.calls.all.count == 2)
    }

    @Test("Reports the rejection if the provider has no other token, and the provider's error if it throws")
    func noReplacement() async throws {
        let transport = MockTransport(.status(401), .status(401))
        let error = await expectStatus(401) { try await call(transport, Provider(.success("a1"), .success("a1"))) }
        #expect(error?.endpoint == "resource")
        let failing = Provider(.success("a1"), .failure(SignedOut()))
        #expect(await expectFailure(.requestNotMade) { try await call(transport, failing) }?.cause is SignedOut)
        #expect(transport.requests.count == 2)
    }

    @Test("Reports other statuses without asking for another token", arguments: [403, 500])
    func otherStatus(_ status: Int) async throws {
        let provider = Provider(.success("a1"))
        await expectStatus(status) { try await call(MockTransport(.status(status)), provider) }
        #expect(provider.calls.all.count == 1)
    }
}
