import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("URLRequestAuthenticator", .limitedConcurrency)
struct URLRequestAuthenticatorTests {
    /// An authenticator that changes requests with a closure.
    private struct Changing: URLRequestAuthenticator {
        let credentialFields: Set = ["X-Api-Key"]
        let change: @Sendable (inout URLRequest) -> Void

        func authenticateRequest(_ request: URLRequest, context: InterceptorContext) -> URLRequest {
            var request = request
            change(&request)
            return request
        }

        func evaluateFailedRequest(_ failure: FailedRequest) -> Retry.Action { .none }
    }

    private func send(
        _ transport: MockTransport,
        _ change: @escaping @Sendable (inout URLRequest) -> Void
    ) async throws {
        let client = NetworkClient(transport: transport, interceptors: [Changing(change: change)])
        var request = URLRequest(url: try #require(URL(string: "https://api.example/a")))
        request.httpMethod = "POST"
        request.httpBody = Data("a".utf8)
        request.setValue("b", forHTTPHeaderField: "X-Other")
        _ = try await client.makeRequest(request)
    }

    @Test("The credential fields reach the server, in any spelling, and nothing else changes")
    func fields() async throws {
        for name in ["X-Api-Key", "x-api-key"] {
            let transport = MockTransport(.text("ok"))
            try await send(transport) { $0.setValue("k", forHTTPHeaderField: name) }
            let sent = try #require(transport.requests.first)
            #expect(sent.headers["X-Api-Key"] == "k")
            #expect(sent.headers["X-Other"] == "b")
            #expect(sent.body == Data("a".utf8))
        }
    }

    @Test("A change of anything but the credential fields is an error, and nothing is sent")
    func otherChanges() async throws {
        let changes: [(name: String, change: @Sendable (inout URLRequest) -> Void)] = [
            ("URL", { $0.url = URL(string: "https://api.example/b") }),
            ("query", { $0.url = URL(string: "https://api.example/a?key=k") }),
            ("method", { $0.httpMethod = "PUT" }),
            ("body", { $0.httpBody = Data("b".utf8) }),
            ("no body", { $0.httpBody = nil }),
            ("body stream", { $0.httpBodyStream = InputStream(data: Data("b".utf8)) }),
            ("timeout", { $0.timeoutInterval = 1 }),
            ("new field", { $0.setValue("k", forHTTPHeaderField: "X-Key") }),
            ("changed field", { $0.setValue("c", forHTTPHeaderField: "X-Other") }),
            ("removed field", { $0.setValue(nil, forHTTPHeaderField: "X-Other") }),
        ]
        for row in changes {
            let transport = MockTransport(.text("ok"))
            let error = await #expect(throws: NetworkError.self, "\(row.name)") {
                try await send(transport, row.change)
            }
            #expect(error?.code == .requestNotMade, "\(row.name)")
            #expect(error?.message.contains("Changing") == true, "\(row.name)")
            #expect(transport.requests.isEmpty, "\(row.name)")
        }
    }
}
