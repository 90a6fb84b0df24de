import Foundation
import TestSupport
import Testing

@testable import Networking

@Suite("CurlTransport.Configuration", .limitedConcurrency)
struct CurlConfigurationTests {
    private typealias Configuration = CurlTransport.Configuration

    private func configuration(_ change: (inout Configuration) -> Void) -> Configuration {
        var configuration = Configuration(proxy: .none)
        change(&configuration)
        return configuration
    }

    struct Nonsense: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (inout CurlTransport.Configuration) -> Void

        init(_ description: String, _ change: @escaping @Sendable (inout CurlTransport.Configuration) -> Void) {
            testDescription = description
            self.change = change
        }

        private static func proxy(_ text: String) -> URL { URL(string: text)! }
        private static let credentials = CurlTransport.ProxyCredentials(username: "a:b", password: "c")

        static let all = [
            Self("connectTimeout") { $0.connectTimeout = .zero },
            Self("idleTimeout") { $0.idleTimeout = .milliseconds(-1) },
            Self("happyEyeballsDelay") { $0.happyEyeballsDelay = .zero },
            Self("maximumConnectionsPerHost") { $0.maximumConnectionsPerHost = 0 },
            Self("maximumConnections") { $0.maximumConnections = 0 },
            Self("streamBufferSize") { $0.streamBufferSize = 1023 },
            Self("streamBufferSize") { $0.streamBufferSize = (1 << 30) + 1 },
            Self("streamBufferSize") { $0.streamBufferSize = .max },
            Self("maximumHeaderSize") { $0.maximumHeaderSize = 0 },
            Self("maximumExpansion") { $0.maximumExpansion = 0 },
            Self("maximumStreamsPerConnection") { $0.maximumStreamsPerConnection = 0 },
            Self("maximumStreamsPerConnection") { $0.maximumStreamsPerConnection = .max },
            Self("dnsCacheLifetime") { $0.dnsCacheLifetime = .milliseconds(-1) },
            Self("interval of keepAlive") { $0.keepAlive = .init(interval: .milliseconds(999)) },
            Self("interval of keepAlive") {
                $0.keepAlive = .init(interval: .seconds(32_768), patience: .seconds(40_000))
            },
            Self("patience of keepAlive") { $0.keepAlive = .init(interval: .seconds(9), patience: .seconds(9)) },
            Self("patience of keepAlive") { $0.keepAlive = .init(patience: .seconds(86_401)) },
            Self("patience of keepAlive") { $0.keepAlive = .init(patience: .seconds(Int64.max)) },
            Self("localAddress") { $0.localAddress = "" },
            Self("localAddress") { $0.localAddress = "an.interface.with.a.long.name" },
            Self("localAddress") { $0.localAddress = "fe80::1%eth0" },
            Self("localAddress") { $0.localAddress = "http://a" },
            Self("localAddress") { $0.localAddress = "a\0" },
            Self("localAddress isn't an IPv4 address") {
                $0.localAddress = "::1"
                $0.addressFamily = .ipv4
            },
            Self("localAddress isn't an IPv6 address") {
                $0.localAddress = "127.0.0.1"
                $0.addressFamily = .ipv6
            },
            Self("localAddress can't be used with a Unix-domain socket") {
                $0.localAddress = "127.0.0.1"
                $0.unixSocketPath = "/tmp/x"
            },
            Self("host") { $0.resolverEntries = [.init(host: "a:b", port: 1, addresses: ["127.0.0.1"])] },
            Self("host") { $0.resolverEntries = [.init(host: "a b", port: 1, addresses: ["127.0.0.1"])] },
            Self("port") { $0.resolverEntries = [.init(host: "a", port: 0, addresses: ["127.0.0.1"])] },
            Self("addresses") { $0.resolverEntries = [.init(host: "a", port: 1, addresses: [])] },
            Self("addresses") { $0.resolverEntries = [.init(host: "a", port: 1, addresses: ["localhost"])] },
            Self("unixSocketPath") { $0.unixSocketPath = "" },
            Self("unixSocketPath") { $0.unixSocketPath = String(repeating: "x", count: 108) },
            Self("unixSocketPath") { $0.unixSocketPath = "a\0b" },
            Self("begin with http://") { $0.proxy = .http(proxy("socks5://proxy:1")) },
            Self("begin with https://") { $0.proxy = .https(proxy("http://proxy:1")) },
            Self("begin with socks5://") { $0.proxy = .socks5(proxy("proxy:1")) },
            Self("include its port") { $0.proxy = .http(proxy("http://proxy")) },
            Self("user information") { $0.proxy = .http(proxy("http://user:secret@proxy:1")) },
            Self("end after its port") { $0.proxy = .http(proxy("http://proxy:1/path")) },
            Self("noProxy") { $0.proxy = .http(proxy("http://proxy:1"), noProxy: ["a,b"]) },
            Self("noProxy") { $0.proxy = .http(proxy("http://proxy:1"), noProxy: ["a.example:80"]) },
            Self("noProxy") { $0.proxy = .http(proxy("http://proxy:1"), noProxy: ["a*.example"]) },
            Self("noProxy") { $0.proxy = .http(proxy("http://proxy:1"), noProxy: ["a.example/8"]) },
            Self("noProxy") { $0.proxy = .http(proxy("http://proxy:1"), noProxy: ["10.0.0.0/x"]) },
            Self("noProxy") { $0.proxy = .http(proxy("http://proxy:1"), noProxy: ["10.0.0.0/33"]) },
            Self("noProxy") { $0.proxy = .http(proxy("http://proxy:1"), noProxy: ["::1/129"]) },
            Self("noProxy") { $0.proxy = .http(proxy("http://proxy:1"), noProxy: [""]) },
            Self("colon") { $0.proxy = .http(proxy("http://proxy:1"), credentials: credentials) },
            Self("control character") {
                $0.proxy = .http(proxy("http://proxy:1"), credentials: .init(username: "a", password: "secret\r\n"))
            },
            Self("255 bytes") {
                let long = String(repeating: "secret", count: 50)
                $0.proxy = .socks5(proxy("socks5://proxy:1"), credentials: .init(username: "a", password: long))
            },
            Self("Unix-domain socket") {
                $0.unixSocketPath = "/tmp/x"
                $0.proxy = .http(proxy("http://proxy:1"))
            },
        ]
    }

    @Test("Rejects invalid values when creating a transport", arguments: Nonsense.all)
    func nonsense(_ nonsense: Nonsense) throws {
        let error = #expect(throws: NetworkError(.invalidRequest, "")) {
            _ = try CurlTransport(configuration: configuration(nonsense.change))
        }
        let message = try #require(error).message
        #expect(message.contains(nonsense.testDescription))
        #expect(!message.contains("secret"))
    }

    @Test("Uses resolver entries instead of the resolver, and tolerates an unreachable address")
    func resolverEntries() async throws {
        try await withPeer(answering: TCPPeer.hello) { peer in
            let entry = CurlTransport.ResolverEntry(
                host: "service.invalid",
                port: peer.port,
                addresses: ["::1", "127.0.0.1"]
            )
            let url = try #require(URL(string: "http://service.invalid:\(peer.port)/"))
            try await withCurl(configuration { $0.resolverEntries = [entry] }) { transport in
                let response = try await transport.get(url)
                #expect(response.status == 200)
            }
            #expect(peer.requests.first?.contains("Host: service.invalid:\(peer.port)\r\n") == true)
            let only6 = configuration {
                $0.resolverEntries = [entry]
                $0.addressFamily = .ipv6
            }
            try await withCurl(only6) { transport in
                let code = await failure { _ = try await transport.get(url) }?.code
                #expect(code == .cannotConnect || code == .cannotResolveHost)
            }
            let only4 = configuration {
                $0.resolverEntries = [entry]
                $0.addressFamily = .ipv4
            }
            let response = try await withCurl(only4) { try await $0.get(url) }
            #expect(response.status == 200)
        }
    }

    @Test("Connects to a Unix-domain socket instead of the host", .shows("P24"))
    func unixSocket() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString.prefix(8)).socket").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let peer = try TCPPeer(unixSocketPath: path) { connection in
            try connection.readRequest()
            try connection.send(TCPPeer.hello)
            try connection.waitForClose()
        }
        defer { peer.stop() }
        try await withCurl(configuration { $0.unixSocketPath = path }) { transport in
            let response = try await transport.get(URL(string: "http://service.invalid/path")!)
            #expect(response.body == Data("hello".utf8))
        }
        #expect(peer.requests.first?.hasPrefix("GET /path HTTP/1.1\r\nHost: service.invalid\r\n") == true)
        _ = try await withCurl(configuration { $0.unixSocketPath = path + "-nobody" }) { transport in
            await expectFailure(.cannotConnect) { _ = try await transport.get(URL(string: "http://service.invalid/")!) }
        }
    }

    @Test("Starts with the HTTP/2 preface for HTTP/2 with prior knowledge")
    func priorKnowledge() async throws {
        let preface = AsyncStream<String>.makeStream()
        try await withCurl(configuration { $0.protocolVersion = .http2PriorKnowledge }) { connection in
            preface.continuation.yield(String(decoding: try connection.readExactly(24), as: UTF8.self))
        } _: { transport, peer in
            await expectFailure(.connectionLost) { _ = try await transport.get(peer.url) }
            for await text in preface.stream {
                #expect(text == "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
                break
            }
        }
    }

    @Test("Rejects a header over the limit", arguments: [(1000, true), (999, false)])
    func headerSize(_ limit: Int, isAccepted: Bool) async throws {
        try await withCurl(configuration { $0.maximumHeaderSize = limit }) { connection in
            try connection.readRequest()
            let start = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: "
            try connection.send(start + String(repeating: "x", count: 1000 - start.utf8.count - 4) + "\r\n\r\n")
            try connection.waitForClose()
        } _: { transport, peer in
            let error = await failure { _ = try await transport.get(peer.url) }
            #expect(error?.code == (isAccepted ? nil : .invalidResponse))
            #expect(isAccepted || error?.message.contains("maximumHeaderSize") == true)
        }
    }

    @Test("Keeps no connections without an idle time")
    func noIdleTime() async throws {
        try await withCurl(configuration { $0.idleTimeout = .zero }, answering: TCPPeer.hello) { transport, peer in
            for _ in 0..<3 { _ = try await transport.get(peer.url) }
            #expect(peer.acceptedCount == 3)
        }
    }
}

@Suite("CurlTransport", .limitedConcurrency)
struct CurlTransportTests {
    @Test("Describes its engine")
    func engineDescription() async throws {
        let transport = try CurlTransport()
        #expect(transport.engineDescription.hasPrefix("libcurl/"))
        #expect(transport.engineDescription.contains("OpenSSL/"))
        await transport.close()
        await transport.close()
    }

    @Test("Sends `Expect: 100-continue` at the caller's request and waits for the interim response")
    func expectContinue() async throws {
        try await withCurl { connection in
            var head = ""
            while !head.hasSuffix("\r\n\r\n") { head += String(decoding: try connection.read(1), as: UTF8.self) }
            try connection.send(head.contains("Expect: 100-continue\r\n") ? "HTTP/1.1 100 Continue\r\n\r\n" : "")
            var body: [UInt8] = []
            while body.count < 5 { body += try connection.read(5 - body.count) }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
            try connection.send(body)
            try connection.waitForClose()
        } _: { transport, peer in
            let request = HTTPRequest(
                method: .put,
                url: peer.url,
                headers: ["Expect": "100-continue"],
                body: .data(Data("hello".utf8))
            )
            let response = try await transport.send(request)
            #expect(response.status == 200)
            #expect(response.body == Data("hello".utf8))
        }
    }

    @Test("Resends a large body from the start after its kept connection died")
    func rewoundBody() async throws {
        let body = Data((0..<200_000).map { UInt8(truncatingIfNeeded: UInt32($0) % 26 + 97) })
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send(TCPPeer.empty)
            guard connection.number > 0 else {
                try connection.readRequest()
                return connection.close()
            }
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                _ = try await transport.get(peer.url)
                let request = HTTPRequest(method: .put, url: peer.url, body: .data(body))
                let response = try await transport.send(request)
                #expect(response.status == 200)
            }
            let text = String(decoding: body, as: UTF8.self)
            let sent = peer.requests.filter { $0.hasPrefix("PUT") }
            #expect(sent.count == 2)
            #expect(sent.allSatisfy { $0.hasSuffix("\r\n\r\n" + text) })
        }
    }

    @Test("Sends a body that's a slice of other data")
    func slicedBody() async throws {
        for size in [10, 100_000] {
            let whole = Data(repeating: UInt8(ascii: "."), count: 7) + Data(repeating: UInt8(ascii: "x"), count: size)
            try await withCurl(answering: TCPPeer.empty) { transport, peer in
                let request = HTTPRequest(method: .put, url: peer.url, body: .data(whole.dropFirst(7)))
                _ = try await transport.send(request)
                #expect(peer.requests.first?.hasSuffix("\r\n\r\n" + String(repeating: "x", count: size)) == true)
            }
        }
    }
}

extension CurlLibrary {
    /// The numbers of libcurl's version, such as `[8, 5, 0]`.
    private static let numbers = (try? loaded.get().version)?.split(separator: ".").compactMap { Int($0) } ?? []

    /// A Boolean value that indicates whether libcurl begins with IPv6 even if an IPv4 address
    /// comes first.
    ///
    /// 8.14 does, and 8.5 doesn't. The versions between weren't tried.
    static let beginsWithIPv6 = !numbers.lexicographicallyPrecedes([8, 6])

    /// A Boolean value that indicates whether libcurl waits forever: after a violation of HTTP/2,
    /// after the end of an early response with status 200 while a producer is waiting, and with a
    /// header of the request that the socket doesn't take at once.
    ///
    /// 8.5 does, and 7.88 and 8.14 don't. The versions between weren't tried.
    static let waitsForever = !losesEarlyAnswers && numbers.lexicographicallyPrecedes([8, 14])
}
