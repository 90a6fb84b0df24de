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
