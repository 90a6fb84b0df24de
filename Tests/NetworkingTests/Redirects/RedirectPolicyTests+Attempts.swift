import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import Testing

/// Tests of redirects in the attempt loop: retries, deadlines and authenticators.
extension RedirectPolicyTests {
    @Test("A retry starts from the original request")
    func retries() async throws {
        let transport = MockTransport(Self.found("/y"), .status(503), Self.found("/y"), .text("there"))
        let client = NetworkClient(transport: transport, interceptors: [Retry.Policy.maxRetries(1)])
        let response = try await client.response(for: request())
        #expect(response.redirects.count == 1)
        #expect(transport.requests.map(\.url.path) == ["/x", "/y", "/x", "/y"])
        #expect(transport.requests[2].headers["Authorization"] == "Bearer t")
    }

    /// An authenticator with a custom credential field.
    private struct KeyAuthenticator: URLRequestAuthenticator {
        let credentialFields: Set = ["X-Signature"]

        func authenticateRequest(_ request: URLRequest, context: InterceptorContext) async throws -> URLRequest {
            var request = request
            request.setValue("k3y", forHTTPHeaderField: "X-Signature")
            return request
        }
    }

    @Test(
        "Keeps an authenticator's field on its origin, regardless of its name",
        arguments: Way.allCases
    )
    func authenticatorsField(_ way: Way) async throws {
        let transport = MockTransport(Self.found("/y"), Self.found("https://b.example/"), .text("there"))
        let marking = RecordingInterceptor(
            "r",
            makingRequest: { result in
                var request = try result.get()
                request.setValue("1", forHTTPHeaderField: "X-Trace")
                return request
            }
        )
        let client = NetworkClient(transport: transport, interceptors: [marking, KeyAuthenticator()])
        _ = try await way.response(client, request())
        #expect(transport.requests.map { $0.headers["X-Signature"] } == ["k3y", "k3y", nil])
        #expect(transport.requests.map { $0.headers["X-Trace"] } == ["1", "1", "1"])
    }

    @Test("One deadline applies to all redirects")
    func deadline() async throws {
        let transport = MockTransport(Self.found("/y"), Self.found("/z"), .text("there"))
        let client = NetworkClient(transport: transport, options: .init(timeout: .seconds(5)))
        _ = try await client.makeRequest(request())
        #expect(Set(transport.requests.map(\.limits.deadline)).count == 1)
        #expect(transport.requests[0].limits.deadline != nil)
    }

    @Test(
        "Asks an authenticator about a 401 only if that server received its credential",
        arguments: [
            (["/y"], true), (["/y", "/z"], true), (["https://b.example/"], false),
            (["https://b.example/", "https://a.example/x?secret=1"], false),
        ]
    )
    func refusedElsewhere(_ locations: [String], _ isAsked: Bool) async throws {
        let transport = MockTransport(steps: locations.map { Self.found($0) } + [.status(401)], handler: nil)
        let asked = Mutex(0)
        let authenticator = CountingAuthenticator { _, _ in
            asked.withLock { $0 += 1 }
            return .none
        }
        let log = EventLog()
        let client = NetworkClient(
            transport: transport,
            interceptors: [authenticator, RecordingInterceptor("other", log: log)]
        )
        let error = await #expect(throws: ServerError.self) { try await client.makeRequest(request()) }
        #expect(error?.errorCode == 401)
        #expect(asked.withLock { $0 } == (isAsked ? 1 : 0))
        #expect(log.all.contains("other failure 0"))
    }
}
