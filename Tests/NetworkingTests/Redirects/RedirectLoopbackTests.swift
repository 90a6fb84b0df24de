import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("Redirects on loopback", .limitedConcurrency)
struct RedirectLoopbackTests {
    private static let secrets = ["t0ken", "cook1e", "pr0xy", "pr00f", "k3y"]

    private func withServers(
        _ engine: LoopbackClientTests.Engine,
        _ test: (_ client: NetworkClient, _ first: LoopbackServer, _ second: LoopbackServer) async throws -> Void
    ) async throws {
        try await withLoopbackServer { first async throws in
            try await withLoopbackServer { second async throws in
                try await test(engine.client(), first, second)
            }
        }
    }

    private func request(_ server: LoopbackServer, _ method: String = "GET", _ path: String = "/start") -> URLRequest {
        var request = URLRequest(url: server.url(for: path))
        request.httpMethod = method
        request.setValue("Bearer t0ken", forHTTPHeaderField: "Authorization")
        request.setValue("a=cook1e", forHTTPHeaderField: "Cookie")
        request.setValue("Basic pr0xy", forHTTPHeaderField: "Proxy-Authorization")
        request.setValue("k3y", forHTTPHeaderField: "X-Api-Key")
        return request
    }

    private func hasSecret(_ request: LoopbackRequest) -> Bool {
        let texts = request.headers.map(\.value) + [request.target, String(decoding: request.body, as: UTF8.self)]
        return texts.contains { text in Self.secrets.contains { text.contains($0) } }
    }

    @Test(
        "Never sends credentials to another origin, and doesn't restore them on the way back",
        .shows("G1", "P16"),
        arguments: LoopbackClientTests.Engine.allCases,
        [301, 302, 303, 307, 308]
    )
    func leaks(_ engine: LoopbackClientTests.Engine, _ status: Int) async throws {
        try await withServers(engine) { client, first, second in
            first.on(.get, "/start", .status(status, headers: ["Location": second.url(for: "/there").absoluteString]))
            second.on(.get, "/there", .status(status, headers: ["Location": first.url(for: "/back").absoluteString]))
            first.on(.get, "/back", .text("back"))
            var request = request(first)
            request.setValue("pr00f", forHTTPHeaderField: "DPoP")
            let options = RequestOptions(redirects: .follow.protecting("X-Api-Key"))
            let response = try await client.response(for: request, options: options)
            #expect(response.body == Data("back".utf8))
            #expect(response.redirects.map(\.status) == [status, status])
            #expect(first.requests(for: "/start").allSatisfy(hasSecret))
            #expect(!second.requests.contains(where: hasSecret))
            #expect(!first.requests(for: "/back").contains(where: hasSecret))
            #expect(second.requestCount == 1 && first.requestCount == 2)
            #expect(second.requests.first?.headers["Host"] == "127.0.0.1:\(second.port)")
        }
    }

    @Test("Treats another name of the same machine as another origin", arguments: LoopbackClientTests.Engine.allCases)
    func otherName(_ engine: LoopbackClientTests.Engine) async throws {
        try await withServers(engine) { client, first, _ in
            let location = "http://localhost:\(first.port)/there"
            first.on(.get, "/start", .status(302, headers: ["Location": location]))
            first.on(.get, "/there", .text("there"))
            let options = RequestOptions(redirects: .follow.protecting("X-Api-Key"))
            let response = try await client.response(for: request(first), options: options)
            #expect(response.url.absoluteString == location)
            #expect(!first.requests(for: "/there").contains(where: hasSecret))
        }
    }

    @Test("Keeps credentials and the connection within an origin", arguments: LoopbackClientTests.Engine.allCases)
    func sameOrigin(_ engine: LoopbackClientTests.Engine) async throws {
        try await withServers(engine) { client, first, _ in
            first.on(.get, "/start", .text("moved", status: 302, headers: ["Location": "a/../there?q=1"]))
            first.on(.get, "/there", .text("there"))
            let stream = try await client.stream(request(first))
            #expect(try await stream.stream.collect(upTo: 10) == Data("there".utf8))
            #expect(stream.url == first.url(for: "/there?q=1"))
            let last = try #require(first.requests.last)
            #expect(last.target == "/there?q=1")
            #expect(last.headers["Authorization"] == "Bearer t0ken")
            #expect(first.acceptedConnectionCount == 1)
        }
    }

    @Test(
        "Changes methods and bodies as RFC 9110 §15.4 requires",
        .shows("RFC 9110 §15.4"),
        arguments: LoopbackClientTests.Engine.allCases,
        [
            (301, "POST", "GET"), (302, "POST", "GET"), (303, "PUT", "GET"), (307, "POST", "POST"), (308, "PUT", "PUT"),
            (302, "PUT", "PUT"), (303, "HEAD", "HEAD"),
        ]
    )
    func methods(_ engine: LoopbackClientTests.Engine, _ row: (Int, String, String)) async throws {
        let (status, method, expected) = row
        try await withServers(engine) { client, first, second in
            first.fallback { _ in .status(status, headers: ["Location": second.url(for: "/there").absoluteString]) }
            second.fallback { _ in .text("") }
            var request = request(first, method)
            if method != "HEAD" {
                request.httpBody = Data("body".utf8)
                request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
            }
            _ = try await client.makeRequest(request)
            let received = try #require(second.requests.first)
            #expect(received.method.rawValue == expected)
            let keepsBody = method != "HEAD" && expected == method
            #expect(received.body == Data((keepsBody ? "body" : "").utf8))
            #expect((received.headers["Content-Type"] == "text/plain") == keepsBody)
        }
    }

    @Test("Creates a streamed body again for a 307", arguments: LoopbackClientTests.Engine.allCases)
    func streamedBody(_ engine: LoopbackClientTests.Engine) async throws {
        try await withServers(engine) { client, first, second in
            first.fallback { _ in .status(307, headers: ["Location": second.url(for: "/there").absoluteString]) }
            second.fallback { .text(String(decoding: $0.body, as: UTF8.self)) }
            let body = HTTPBody.stream(length: 8) { AsyncStream.of("body", "part") }
            let response = try await client.response(for: request(first, "PUT"), options: RequestOptions(body: body))
            #expect(response.body == Data("bodypart".utf8))
        }
    }

    @Test(
        "Stops a redirect loop between two servers and names them",
        .shows("H9"),
        arguments: LoopbackClientTests.Engine.allCases
    )
    func circle(_ engine: LoopbackClientTests.Engine) async throws {
        try await withServers(engine) { client, first, second in
            let there = second.url(for: "/there?secret=t0ken").absoluteString
            first.fallback { _ in .status(302, headers: ["Location": there]) }
            let back = first.url(for: "/start").absoluteString
            second.fallback { _ in .status(302, headers: ["Location": back]) }
            let error = await #expect(throws: NetworkError.self) { try await client.makeRequest(request(first)) }
            #expect(error?.code == .tooManyRedirects)
            #expect(error?.message.contains("127.0.0.1:\(first.port) → 127.0.0.1:\(second.port)") == true)
            #expect(error?.message.contains("t0ken") == false)
            // The first request has credentials; the second one without them is a different
            // request.
            #expect(first.requestCount == 2 && second.requestCount == 1)
        }
    }

    @Test("Cancels a large redirect's body while streaming, and the client keeps working", .shows("H9"))
    func largeRedirect() async throws {
        try await withServers(.curl) { client, first, second in
            let moved = String(repeating: "moved ", count: 40_000)
            let location = second.url(for: "/there").absoluteString
            first.fallback { _ in .text(moved, status: 302, headers: ["Location": location]) }
            second.fallback { _ in .text("there") }
            for _ in 0..<3 {
                let stream = try await client.stream(request(first))
                #expect(try await stream.stream.collect(upTo: 10) == Data("there".utf8))
            }
        }
    }
}

@Suite("Redirects and TLS", .limitedConcurrency)
struct RedirectTLSTests {
    private func withServers(
        _ test: (_ client: NetworkClient, _ secure: LoopbackServer, _ other: LoopbackServer) async throws -> Void,
        isOtherSecure: Bool
    ) async throws {
        let authority = try MockCertificateAuthority()
        var secure = LoopbackServer.Configuration()
        secure.tls = LoopbackServer.TLS(certificate: try authority.issueServerCertificate())
        let tls = TLSConfiguration(trustRoots: try .pem(authority.certificatePEM))
        let transport = try CurlTransport(configuration: .init(proxy: .none, tls: tls))
        let client = NetworkClient(transport: transport)
        try await withLoopbackServer(configuration: secure) { server async throws in
            try await withLoopbackServer(configuration: isOtherSecure ? secure : .init()) { other async throws in
                try await test(client, server, other)
            }
        }
        await transport.close()
    }

    private func request(_ server: LoopbackServer) -> URLRequest {
        var request = URLRequest(url: server.url(for: "/start"))
        request.setValue("Bearer t0ken", forHTTPHeaderField: "Authorization")
        return request
    }

    @Test("Sends nothing from https to http", .shows("H8", "Z5"))
    func downgrade() async throws {
        try await withServers(
            { client, secure, plain in
                let location = plain.url(for: "/there").absoluteString
                secure.fallback { _ in .status(302, headers: ["Location": location]) }
                plain.fallback { _ in .text("there") }
                await expectFailure(.redirectRefused) { try await client.makeRequest(request(secure)) }
                #expect(secure.requestCount == 1)
                #expect(plain.acceptedConnectionCount == 0)
            },
            isOtherSecure: false
        )
    }

    @Test("Follows a redirect from http to https without credentials")
    func upgrade() async throws {
        try await withServers(
            { client, secure, plain in
                let location = secure.url(for: "/there").absoluteString
                plain.fallback { _ in .status(308, headers: ["Location": location]) }
                secure.fallback { _ in .text("there") }
                let response = try await client.response(for: request(plain))
                #expect(response.url.scheme == "https")
                #expect(plain.requests.map { $0.headers["Authorization"] } == ["Bearer t0ken"])
                #expect(secure.requests.map { $0.headers["Authorization"] } == [nil])
            },
            isOtherSecure: false
        )
    }
}

@Suite("Redirects on raw sockets", .limitedConcurrency)
struct RedirectWireTests {
    private typealias Engine = LoopbackClientTests.Engine

    enum Body: CaseIterable {
        case data, file, stream, chunked

        static let size = 1 << 20

        func make() throws -> (HTTPBody, URL?) {
            let part = Data(repeating: 7, count: Self.size / 16)
            let parts: @Sendable () -> AsyncStream<Data> = { AsyncStream(parts: Array(repeating: part, count: 16)) }
            switch self {
            case .data: return (.data(Data(repeating: 7, count: Self.size)), nil)
            case .stream: return (.stream(length: Self.size, parts), nil)
            case .chunked: return (.stream(parts), nil)
            case .file:
                let file = FileManager.default.temporaryDirectory.appending(path: "redirect-\(UUID())")
                try Data(repeating: 7, count: Self.size).write(to: file)
                return (try .file(file), file)
            }
        }
    }

    private static func readHeader(_ connection: TCPPeer.Connection) throws -> String {
        var octets: [UInt8] = []
        while octets.suffix(4) != Array("\r\n\r\n".utf8)[...] { octets += try connection.read(1) }
        return String(decoding: octets, as: UTF8.self)
    }

    @Test(
        "Sends the whole body to the target if a server redirects before reading it",
        arguments: Engine.allCases,
        Body.allCases
    )
    private func early(_ engine: Engine, _ body: Body) async throws {
        try await withLoopbackServer { there async throws in
            there.fallback { .text("\($0.body.count)") }
            let location = there.url(for: "/there").absoluteString
            try await withPeer { connection in
                _ = try Self.readHeader(connection)
                try connection.send("HTTP/1.1 307 There\r\nLocation: \(location)\r\nContent-Length: 0\r\n")
                try connection.send("Connection: close\r\n\r\n")
                connection.finishSending()
                try connection.waitForClose()
            } _: { peer in
                let (body, file) = try body.make()
                defer { if let file { try? FileManager.default.removeItem(at: file) } }
                var request = URLRequest(url: peer.url)
                request.httpMethod = "PUT"
                let response = try await engine.client().response(for: request, options: RequestOptions(body: body))
                #expect(response.body == Data("\(Body.size)".utf8))
                #expect(response.redirects.map(\.status) == [307])
                #expect(there.requestCount == 1)
            }
        }
    }

    @Test(
        "Parses a Location in unusual spellings",
        arguments: Engine.allCases,
        ["Location: /there", "LOCATION:   /there  ", "location: \t/there \t", "Location: HTTP://127.0.0.1:PORT/there"]
    )
    private func spellings(_ engine: Engine, _ field: String) async throws {
        try await withPeer { connection in
            while true {
                let header = try connection.readRequest()
                let field = field.replacing("PORT", with: "\(connection.peer.port)")
                try connection.send(
                    header.hasPrefix("GET / ")
                        ? "HTTP/1.1 302 Found\r\n\(field)\r\nContent-Length: 0\r\n\r\n"
                        : "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthere"
                )
            }
        } _: { peer in
            let response = try await engine.client().response(for: URLRequest(url: peer.url))
            #expect(response.body == Data("there".utf8))
            #expect(response.url == peer.url("/there"))
            #expect(peer.requests.last?.hasPrefix("GET /there HTTP/1.1\r\n") == true)
        }
    }

    @Test("Follows a redirect of a HEAD that announces a body", arguments: Engine.allCases)
    private func head(_ engine: Engine) async throws {
        try await withPeer { connection in
            while true {
                let isFirst = try connection.readRequest().hasPrefix("HEAD / ")
                try connection.send(
                    isFirst
                        ? "HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 1000\r\n\r\n"
                        : "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"
                )
            }
        } _: { peer in
            var request = URLRequest(url: peer.url)
            request.httpMethod = "HEAD"
            let stream = try await engine.client().stream(request)
            #expect(stream.headers["Content-Length"] == "7")
            #expect(try await stream.stream.collect(upTo: 10).isEmpty)
            #expect(peer.requests.map { $0.prefix(11) } == ["HEAD / HTTP", "HEAD /there"])
        }
    }
}
