import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

/// The samples about streams, limits and proxies.
@Suite("Transport samples", .limitedConcurrency)
struct TransportSnippets {
    @Test("Streams a response body")
    func reading() async throws {
        try await withLoopbackServer { server async throws in
            server.on(.get, "/", .text("some text"))
            let url = server.url(for: "/")
            let place = FileManager.default.temporaryDirectory.appending(path: "sample-\(UUID().uuidString)")
            try Data().write(to: place)
            defer { try? FileManager.default.removeItem(at: place) }
            let file = try FileHandle(forWritingTo: place)

            let transport = try CurlTransport()
            let client = NetworkClient(transport: transport)
            let options = RequestOptions(
                maximumBodySize: 1 << 40,
                idleTimeout: .seconds(30)
            )
            let response = try await client.stream(URLRequest(url: url), options: options)
            for try await part in response.stream { try file.write(contentsOf: part) }

            #expect(try Data(contentsOf: place) == Data("some text".utf8))
        }
    }

    @Test("Shows the state of the connections")
    func poolState() async throws {
        try await withLoopbackServer { server async throws in
            server.on(.get, "/", .text("some text"))
            let apiURL = server.url(for: "/")

            let transport = try CurlTransport()
            let client = NetworkClient(transport: transport)
            _ = try await client.data(for: URLRequest(url: apiURL))

            if let api = transport.poolState[apiURL] {
                print("\(api.busyConnections) busy, \(api.idleConnections) idle")
                print("\(api.queuedRequests) queued, \(api.longestQueueTime ?? .zero)")
                print("\(api.resumedHandshakes) of \(api.handshakes) handshakes resumed")
            }
            #expect(transport.poolState[apiURL]?.requests == 1)

            let reader = Task {
                var hosts: [String] = []
                func record(_ host: String, _ count: Int) { hosts.append(host) }
                for await state in transport.poolStates(every: .seconds(1)) {
                    for origin in state.origins { record(origin.host, origin.queuedRequests) }
                }
                return hosts
            }
            #expect(transport.poolState.engines <= 1)
            reader.cancel()
            #expect(await reader.value.allSatisfy { $0 == "127.0.0.1" })
            await transport.close()
        }
    }

    private struct Report {
        func parts() -> AsyncStream<Data> {
            AsyncStream { continuation in
                for text in ["one", "two"] { continuation.yield(Data(text.utf8)) }
                continuation.finish()
            }
        }
    }

    @Test("Streams a request body")
    func sending() async throws {
        try await withLoopbackServer { server async throws in
            server.on(.put, "/", .text("thanks"))
            let url = server.url(for: "/")
            let transport = try CurlTransport()
            let report = Report()

            let request = HTTPTransportRequest(
                method: .put,
                url: url,
                body: .stream { report.parts() }
            )
            let response = try await transport.send(
                request,
                limits: HTTPTransportLimits(deadline: .now + .seconds(60))
            )

            #expect(response.status == 200)
        }
    }

    @Test("Configures a proxy with credentials")
    func proxy() throws {
        let proxyURL = try #require(URL(string: "http://proxy.example:3128"))
        let password = "correct horse"

        var configuration = CurlTransport.Configuration()
        configuration.proxy = .http(
            proxyURL,
            credentials: CurlTransport.ProxyCredentials(
                username: "service",
                password: password
            ),
            noProxy: ["internal.example", "10.0.0.0/8"]
        )
        let transport = try CurlTransport(configuration: configuration)

        #expect(!"\(configuration.proxy)".contains(password))
        #expect(transport.engineDescription.hasPrefix("libcurl/"))
    }

    @Test("Tunes connections")
    func tuning() async throws {
        var configuration = CurlTransport.Configuration()
        configuration.maximumStreamsPerConnection = 50
        configuration.keepAlive = .init(interval: .seconds(10), patience: .seconds(30))
        configuration.dnsCacheLifetime = .seconds(10)
        configuration.addressFamily = .ipv4First
        configuration.localAddress = "127.0.0.1"
        let transport = try CurlTransport(configuration: configuration)

        try await withLoopbackServer { server async throws in
            server.on(.get, "/", .text("some text"))
            let response = try await NetworkClient(transport: transport).response(
                for: URLRequest(url: server.url(for: "/"))
            )
            #expect(response.status == 200)
        }
    }

    @Test("Limits the bandwidth of a download")
    func bandwidth() async throws {
        let target = FileManager.default.temporaryDirectory.appending(path: "sample-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: target) }
        try await withLoopbackServer { server async throws in
            server.on(.get, "/", .text("some text"))
            let url = server.url(for: "/")
            let client = NetworkClient()

            let options = DownloadOptions(
                request: RequestOptions(maximumDownloadRate: 1 << 20)
            )
            let file = try await client.download(url, to: target, options: options).value

            #expect(file.length == 9)
        }
    }

    @Test("Compresses requests")
    func compression() async throws {
        try await withLoopbackServer { server async throws in
            server.on(.post, "/", .status(204))
            let client = NetworkClient(
                options: NetworkClient.Options(requestCompression: .gzip(minimumSize: 4096))
            )
            let body = try EndpointBody.json(Array(repeating: "some text", count: 1000))
            _ = try await client.upload(body, to: server.url(for: "/")).value
            #expect(server.requests.first?.headers["Content-Encoding"] == "gzip")
        }
    }

    struct EchoTransport: HTTPTransport {
        func send(
            _ request: HTTPTransportRequest,
            limits: HTTPTransportLimits
        ) async throws -> HTTPTransportResponse {
            let body = HTTPResponseBody { deliver in
                try await request.body.read { part in try await deliver(part) }
                return [:]
            }
            return HTTPTransportResponse(status: 200, stream: body)
        }
    }

    @Test("Sends requests through a custom transport")
    func ownTransport() async throws {
        let client = NetworkClient(transport: EchoTransport())
        let request = URLRequest(url: try #require(URL(string: "https://api.example/echo")))
        let report = Report()
        let options = RequestOptions(body: .stream { report.parts() })
        #expect(try await client.response(for: request, options: options).body == Data("onetwo".utf8))
        #expect(try await client.stream(request, options: options).stream.collect(upTo: 6) == Data("onetwo".utf8))
    }
}
