import ClientMetrics
import Foundation
import FoundationNetworking
import Metrics
import MockNetworking
import Networking
import OAuth2
import ObservedService
import Testing

@Suite("MetricsObserver")
struct MetricsObserverTests {
    @Test("One object given to the client counts requests, retries and refreshes")
    func everything() async throws {
        let backend = MemoryMetrics()
        _ = try await ObservedService.exercised(by: MetricsObserver(factory: backend))
        let api = ["server.address": "api.example"]
        #expect(backend.count("http.client.request.duration", api) == 6)
        #expect(backend.count("http.client.request.duration", ["http.response.status_code": "503"]) == 1)
        #expect(backend.count("http.client.request.duration", ["server.address": "as.example"]) == 2)
        #expect(backend.count("http.client.operation.duration", api) == 4)
        #expect(backend.count("http.client.operation.duration", ["error.type": "404"]) == 1)
        #expect(backend.total("http.client.retries", api) == 2)
        #expect(backend.total("oauth2.token.requested") == 2)
        #expect(backend.total("oauth2.token.refreshed", ["oauth2.token.source": "server"]) == 2)
        #expect(backend.total("oauth2.token.retried") == 1)
    }

    @Test("Each metric has one set of dimensions, and no dimension contains a secret or a path")
    func dimensions() async throws {
        let backend = MemoryMetrics()
        _ = try await ObservedService.exercised(by: MetricsObserver(factory: backend))
        #expect(backend.inconsistent.isEmpty)
        #expect(backend.instruments.count > 10)
        for instrument in backend.instruments {
            for (name, value) in instrument.dimensions {
                #expect(!value.contains(ObservedService.secret) && !value.contains("/"), "\(name): \(value)")
                #expect(value.count <= 40, "\(name): \(value)")
            }
        }
    }

    @Test("Hosts beyond the limit share one value")
    func hosts() async throws {
        let backend = MemoryMetrics()
        var options = MetricsObserver.Options()
        options.maximumHosts = 2
        let observer = MetricsObserver(factory: backend, options: options)
        let transport = MockTransport(steps: Array(repeating: .text("ok"), count: 5), handler: nil)
        let client = NetworkClient(transport: transport, options: .init(observers: [observer]))
        for number in 1...5 {
            _ = try await client.makeRequest(URLRequest(url: URL(string: "http://tenant-\(number).example/")!))
        }
        let name = "http.client.request.duration"
        #expect(backend.count(name, ["server.address": "tenant-2.example"]) == 1)
        #expect(backend.count(name, ["server.address": "_OTHER"]) == 3)
        #expect(backend.instruments.count { $0.label == name } == 3)
    }

    @Test("Counts the connections of a real transport, and records its pool")
    func connections() async throws {
        let server = try LoopbackServer.start { $0.on(.get, "/", .text("ok")) }
        let backend = MemoryMetrics()
        let observer = MetricsObserver(factory: backend)
        let transport = try CurlTransport()
        let client = NetworkClient(transport: transport, options: .init(observers: [observer]))
        for _ in 1...3 { _ = try await client.makeRequest(URLRequest(url: server.url(for: "/"))) }
        #expect(backend.total("http.client.connection.opened", ["server.address": "127.0.0.1"]) == 1)
        #expect(backend.count("http.client.request.time_in_queue") == 3)
        observer.record(transport.poolState)
        #expect(backend.count("http.client.open_connections", ["http.connection.state": "idle"]) == 1)
        #expect(backend.count("http.client.active_requests") == 1)
        await server.stop()
    }
}
