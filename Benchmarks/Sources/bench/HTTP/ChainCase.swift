import Foundation
import FoundationNetworking
import Networking
import OAuth2

/// The cost of `NetworkClient` alone: the same request with and without it, on an instant
/// transport.
struct ChainCase {
    let name: String
    /// The number of tasks that share the client, and so the reference counts.
    private let tasks: Int
    private let client: NetworkClient

    static let all = [
        Self(name: "chain plain", interceptors: []),
        Self(name: "chain authenticator", interceptors: authenticated),
        Self(name: "chain authenticator, 2 tasks", interceptors: authenticated, tasks: 2),
        Self(name: "chain 10 interceptors", interceptors: (0..<10).map { _ in Onlooker() }),
        Self(name: "chain 10 interceptors, 2 tasks", interceptors: (0..<10).map { _ in Onlooker() }, tasks: 2),
    ]

    private static var authenticated: [any Interceptor] {
        let origin = URL(string: "https://api.example.com") ?? URL(filePath: "/")
        return [FixedToken.short.authenticator(origin), Retry.Policy.maxRetries(2)]
    }

    private init(name: String, interceptors: [any Interceptor], tasks: Int = 1) {
        self.name = name
        self.tasks = tasks
        client = NetworkClient(transport: InstantTransport(), interceptors: interceptors)
    }

    private static func url() throws -> URL {
        try BenchmarkServer.url("https://api.example.com/v1/status")
    }

    /// Sends requests through the client.
    func run(times: Int) async throws {
        let client = client
        try await share(times) { count in
            let request = URLRequest(url: try Self.url())
            for _ in 0..<count { use(try await client.response(for: request)) }
        }
    }

    /// Sends requests through the transport alone.
    private func runTransport(times: Int) async throws {
        try await share(times) { count in
            let transport: any HTTPTransport = InstantTransport()
            let request = HTTPRequest(url: try Self.url())
            for _ in 0..<count {
                use(try await transport.send(request, limits: HTTPTransportLimits(deadline: .now + .seconds(60))))
            }
        }
    }

    /// Distributes a number of operations over the tasks.
    private func share(_ times: Int, _ part: @escaping @Sendable (_ count: Int) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<tasks {
                let count = times / tasks + (task < times % tasks ? 1 : 0)
                group.addTask { try await part(count) }
            }
            try await group.waitForAll()
        }
    }

    /// Returns the median CPU time that the client adds to a request, in microseconds.
    func measure(rounds: Int) async throws -> Double {
        let ours = Side { try await run(times: $0) }
        let bare = Side { try await runTransport(times: $0) }
        let counts = (try await ours.timesPerSlice(5_000_000), try await bare.timesPerSlice(5_000_000))
        var differences: [Double] = []
        for _ in 0..<rounds {
            differences.append(try await ours.measure(counts.0) - bare.measure(counts.1))
        }
        return differences.sorted()[rounds / 2]
    }
}

/// A transport that returns nginx's response at once.
struct InstantTransport: HTTPTransport {
    private static let response = HTTPTransportResponse(
        status: 200,
        headers: [
            "Server": "nginx", "Date": "Sat, 21 Nov 2026 23:47:04 GMT", "Content-Type": "application/json",
            "Content-Length": "78", "Connection": "keep-alive",
        ],
        body: Data(repeating: 0x20, count: 78)
    )

    func send(_ request: HTTPRequest, limits: HTTPTransportLimits) async throws -> HTTPTransportResponse {
        Self.response
    }
}

/// An interceptor that only passes requests and responses on.
struct Onlooker: RequestInterceptor {
    func intercept(_ request: HTTPRequest, next: Next) async throws -> HTTPResponse {
        try await next(request)
    }
}
