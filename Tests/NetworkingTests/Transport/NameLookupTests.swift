import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Networking

@Suite("Name lookups", .limitedConcurrency, .tags(.concurrency))
struct NameLookupTests {
    private static let home = ["127.0.0.1"]

    private func url(_ host: String, _ peer: TCPPeer) throws -> URL {
        try #require(URL(string: "http://\(host):\(peer.port)/"))
    }

    /// Returns the status of a response, or `nil` if the request fails.
    private func status(_ transport: CurlTransport, _ host: String, _ peer: TCPPeer) async -> Int? {
        guard let url = URL(string: "http://\(host):\(peer.port)/") else { return nil }
        return try? await transport.get(url).status
    }

    @Test("Shares one lookup between all requests for a name, including streamed ones", .shows("N4"))
    func singleFlight() async throws {
        let stub = StubResolver(["one.test": Self.home], isOpen: false)
        let resolver = stub.makeResolver()
        try await withHelloPeer { peer in
            let url = try url("One.Test", peer)
            try await withCurl(.init(resolver)) { transport in
                try await withThrowingTaskGroup { group in
                    for index in 0..<20 {
                        group.addTask {
                            let request = HTTPRequest(url: url)
                            guard index % 2 == 0 else {
                                return try await transport.send(request).status
                            }
                            let stream = try await transport.open(request)
                            _ = try await stream.body.collect(upTo: 10)
                            return stream.status
                        }
                    }
                    try await waitUntil { resolver.callerCount == 20 }
                    #expect(resolver.runningCount == 1)
                    stub.open()
                    for try await status in group { #expect(status == 200) }
                }
            }
            #expect(stub.names == ["one.test"])
        }
    }

    @Test("Runs at most 32 lookups, counting those of cancelled requests until the system returns", .shows("N4"))
    func bound() async throws {
        let names = (0..<40).map { "name\($0).test" } + ["late.test"]
        let stub = StubResolver(Dictionary(uniqueKeysWithValues: names.map { ($0, Self.home) }), isOpen: false)
        let resolver = stub.makeResolver()
        #expect(NameResolver.shared.maximumThreads == 32)
        try await withHelloPeer { peer in
            let urls = try names.map { try url($0, peer) }
            try await withCurl(.init(resolver)) { transport in
                let requests = urls.dropLast().map { url in Task { try await transport.get(url) } }
                try await waitUntil { resolver.callerCount == 40 && stub.names.count == 32 }
                for request in requests { request.cancel() }
                for request in requests { await #expect(throws: CancellationError.self) { try await request.value } }
                #expect(resolver.callerCount == 0)
                #expect(resolver.runningCount == 32)
                let late = await failure(expecting: .init(limit: .deadline, phase: .name)) { limit in
                    _ = try await transport.get(urls[40], .init(deadline: .now + limit))
                }
                #expect(late?.timeout == .init(limit: .deadline, phase: .name))
                stub.open()
                try await waitUntil { resolver.runningCount == 0 }
                // The eight lookups that were still waiting when their callers left never started.
                #expect(stub.names.count == 32)
                #expect(stub.most == 32)
                #expect(try await transport.get(urls[40]).status == 200)
            }
        }
    }

    @Test("Reuses a lookup that continues without callers", .shows("N4"))
    func rejoined() async throws {
        let stub = StubResolver(["slow.test": Self.home], isOpen: false)
        let resolver = stub.makeResolver()
        try await withHelloPeer { peer in
            let url = try url("slow.test", peer)
            try await withCurl(.init(resolver)) { transport in
                for _ in 0..<3 {
                    await expectFailure(.timedOut) { _ = try await transport.get(url, .milliseconds(50)) }
                }
                let request = Task { try await transport.get(url).status }
                try await waitUntil { resolver.callerCount == 1 }
                stub.open()
                #expect(try await request.value == 200)
            }
            #expect(stub.names == ["slow.test"])
        }
    }

    @Test("Reports a slow lookup at the deadline and at the connect timeout")
    func timeouts() async throws {
        let stub = StubResolver([:], isOpen: false)
        defer { stub.open() }
        var configuration = CurlTransport.Configuration(stub.makeResolver())
        let url = try #require(URL(string: "http://hanging.test/"))
        try await withCurl(configuration) { transport in
            let error = await failure(expecting: .init(limit: .deadline, phase: .name)) { limit in
                _ = try await transport.get(url, .init(deadline: .now + limit))
            }
            #expect(error?.timeout == .init(limit: .deadline, phase: .name))
            #expect(error?.timeout?.phase.rawValue == "name")
            #expect(error?.message.contains("name servers") == true)
        }
        let error = await failure(expecting: .init(limit: .connect, phase: .name)) { limit in
            configuration.connectTimeout = limit
            try await withCurl(configuration) { _ = try await $0.get(url) }
        }
        #expect(error?.code == .cannotConnect)
        #expect(error?.timeout == .init(limit: .connect, phase: .name))
    }

    @Test("Distinguishes an unknown name from a failed connection")
    func unknownName() async throws {
        let stub = StubResolver(["refusing.test": ["127.0.0.1"]])
        try await withCurl(.init(stub.makeResolver())) { transport in
            await expectFailure(.cannotResolveHost, mentioning: "no such name") {
                _ = try await transport.get(try #require(URL(string: "http://a.test/")))
            }
            await expectFailure(.cannotConnect) {
                _ = try await transport.get(try #require(URL(string: "http://refusing.test:1/")))
            }
        }
    }

    @Test("Caches addresses for later connections and tries all addresses of a name")
    func kept() async throws {
        // No server listens on the first address.
        let stub = StubResolver(["two.test": ["127.0.0.9", "127.0.0.1"], "dot.test.": Self.home])
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello")
        } _: { peer in
            try await withCurl(.init(stub.makeResolver())) { transport in
                for _ in 0..<3 { #expect(await status(transport, "two.test", peer) == 200) }
                #expect(peer.acceptedCount == 3)
                for _ in 0..<2 { #expect(await status(transport, "dot.test.", peer) == 200) }
            }
            #expect(stub.names == ["two.test", "dot.test."])
        }
    }

    @Test("Doesn't look up addresses and names of this machine", arguments: ["127.0.0.1", "localhost", "127.1"])
    func addresses(host: String) async throws {
        let stub = StubResolver([:])
        try await withHelloPeer { peer in
            try await withCurl(.init(stub.makeResolver(), proxy: host == "127.1" ? .environment : .none)) { transport in
                #expect(await status(transport, host, peer) == 200)
            }
            #expect(stub.names.isEmpty)
        }
    }

    @Test("Uses a resolver entry instead of a lookup, including along with looked-up names")
    func entries() async throws {
        let stub = StubResolver(["other.test": Self.home])
        try await withHelloPeer { peer in
            var configuration = CurlTransport.Configuration(stub.makeResolver())
            configuration.resolverEntries = [.init(host: "entry.test", port: peer.port, addresses: Self.home)]
            try await withCurl(configuration) { transport in
                for host in ["entry.test", "other.test", "entry.test"] {
                    #expect(await status(transport, host, peer) == 200)
                }
            }
            #expect(stub.names == ["other.test"])
        }
    }

    @Test("Looks up only the proxy's name for a request through a proxy", arguments: [false, true])
    func proxy(isSOCKS: Bool) async throws {
        let stub = StubResolver(["proxy.test": Self.home])
        try await withPeer { connection in
            guard isSOCKS else {
                try connection.readRequest()
                return try connection.send(TCPPeer.hello)
            }
            // RFC 1928: the methods, no authentication, a request with a name, and success.
            _ = try connection.readExactly(Int(try connection.readExactly(2)[1]))
            try connection.send([5, 0])
            _ = try connection.readExactly(5 + "origin.invalid".utf8.count + 2)
            try connection.send([5, 0, 0, 1, 127, 0, 0, 1, 0, 80])
            try connection.readRequest()
            try connection.send(TCPPeer.hello)
        } _: { peer in
            let location = try #require(URL(string: "\(isSOCKS ? "socks5" : "http")://proxy.test:\(peer.port)"))
            let selection: CurlTransport.ProxySelection = isSOCKS ? .socks5(location) : .http(location)
            try await withCurl(.init(stub.makeResolver(), proxy: selection)) { transport in
                let url = try #require(URL(string: "http://origin.invalid/"))
                #expect(try await transport.get(url).status == 200)
            }
            #expect(stub.names == ["proxy.test"])
        }
        let nowhere = try #require(URL(string: "\(isSOCKS ? "socks5" : "http")://nowhere.test:1"))
        let selection: CurlTransport.ProxySelection = isSOCKS ? .socks5(nowhere) : .http(nowhere)
        try await withCurl(.init(stub.makeResolver(), proxy: selection)) { transport in
            let url = try #require(URL(string: "http://origin.invalid/"))
            await expectFailure(.cannotConnect, mentioning: "proxy nowhere.test") { _ = try await transport.get(url) }
        }
    }

    @Test("Looks up a proxy from the environment, and a host that the proxy leaves to the client")
    func environmentProxy() async {
        await #expect(processExitsWith: .success) {
            let stub = StubResolver(["proxy.test": ["127.0.0.1"], "origin.test": ["127.0.0.1"]])
            let http = try TCPPeer { connection in
                try connection.readRequest()
                try connection.send(TCPPeer.empty)
            }
            let socks = try TCPPeer { connection in
                _ = try connection.readExactly(Int(try connection.readExactly(2)[1]))
                try connection.send([5, 0])
                // The request contains an address, so the client has looked up the name.
                guard try connection.readExactly(4)[3] == 1 else { return }
                _ = try connection.readExactly(6)
                try connection.send([5, 0, 0, 1, 127, 0, 0, 1, 0, 80])
                try connection.readRequest()
                try connection.send(TCPPeer.empty)
            }
            let url = URL(string: "http://origin.test/")!
            for (value, names) in [
                ("http://user:word@Proxy.test:\(http.port)/", ["proxy.test"]),
                ("proxy.test:\(http.port)", ["proxy.test"]),
                ("socks5://proxy.test:\(socks.port)", ["proxy.test", "origin.test"]),
            ] {
                unsafe setenv("http_proxy", value, 1)
                let before = stub.names.count
                try await withCurl(.init(stub.makeResolver(), proxy: .environment)) { transport in
                    try require(try await transport.get(url).status == 200)
                }
                try require(Array(stub.names.dropFirst(before)) == names)
            }
            http.stop()
            socks.stop()
        }
    }

    @Test(
        "Reads the proxy from the environment as libcurl does",
        arguments: [
            ("http", ["http_proxy": "http://a:3128"], "a:3128"),
            ("http", ["HTTP_PROXY": "http://a:3128"], nil),
            ("https", ["HTTPS_PROXY": "http://u:p@A.test:1"], "a.test:1"),
            ("https", ["https_proxy": "https://a", "HTTPS_PROXY": "b"], "a:443"),
            ("http", ["all_proxy": "socks5h://[::1]:9/x"], "::1:9"),
            ("http", ["http_proxy": "", "ALL_PROXY": "a"], "a:1080"),
            ("http", ["http_proxy": "a:99999"], nil),
            ("http", [:], nil),
        ] as [(String, [String: String], String?)]
    )
    func variable(scheme: String, variables: [String: String], expected: String?) {
        let name = ProxyVariable.name(for: scheme) { variables[$0] }
        #expect(name.map { "\($0.host):\($0.port)" } == expected)
    }

    @Test(
        "Determines from libcurl's result whether it wanted the proxy's name",
        .shows("Q9"),
        arguments: [
            (5, "Couldn't resolve proxy 'proxy.test'", true), (6, "Could not resolve host: proxy.test", false),
            (6, "Could not resolve proxy: proxy.test", true), (42, "Could not resolve proxy: proxy.test", true),
            (42, "Could not resolve host: a.test", false), (42, "Could not resolve host: proxy.test", false),
            (42, "Error 42 resolving Proxy.test:3128", true), (42, "Error 42 resolving proxy.test:80", false),
            (42, "Error 42 resolving a.test:3128", false), (42, "Error 42 resolving proxy.test:31280", false),
        ] as [(Int32, String, Bool)]
    )
    func wantedHost(code: Int32, text: String, isProxy: Bool) {
        let proxy = NameLookup.Name(host: "proxy.test", port: 3128, isProxy: true)
        #expect(CurlFailure.wantsProxy(code: code, text: text, proxy: proxy) == isProxy)
        if text.contains("resolving") {
            #expect(!CurlFailure.wantsProxy(code: code, text: text, proxy: nil))
        }
    }

    @Test("Includes the lookup in the metrics")
    func metrics() async throws {
        let stub = StubResolver(["slow.test": Self.home], isOpen: false)
        let resolver = stub.makeResolver()
        try await withHelloPeer { peer in
            let events = Events()
            let request = HTTPRequest(url: try url("slow.test", peer)) { events.append($0) }
            var configuration = CurlTransport.Configuration(resolver)
            configuration.connectTimeout = .seconds(100)
            try await withCurl(configuration) { transport in
                let response = Task { try await transport.send(request) }
                try await waitUntil { resolver.callerCount == 1 }
                let waited = ContinuousClock.now
                try await Task.sleep(for: .milliseconds(30))
                let time = ContinuousClock.now - waited
                stub.open()
                _ = try await response.value
                let metrics = try #require(events.metrics)
                #expect(try #require(metrics.nameLookupTime) >= time)
                #expect(try #require(metrics.connectTime) >= time)
                #expect(try #require(metrics.firstByteTime) <= metrics.totalTime)
            }
        }
    }

    @Test("Looks up a name again after its lifetime, but not before", .shows("P36"), arguments: [(2, 2), (3600, 1)])
    func lifetime(seconds: Int, lookups: Int) async throws {
        let stub = StubResolver(["name.test": Self.home])
        try await withPeer(answering: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n") { peer in
            var configuration = CurlTransport.Configuration(stub.makeResolver())
            configuration.dnsCacheLifetime = .seconds(seconds)
            try await withCurl(configuration) { transport in
                #expect(try await transport.get(url("name.test", peer)).status == 200)
                // libcurl's clock can't be replaced.
                repeat {
                    try await Task.sleep(for: .milliseconds(100))
                    #expect(try await transport.get(url("name.test", peer)).status == 200)
                } while stub.names.count < lookups
            }
            #expect(stub.names.count == lookups)
        }
    }

    @Test(
        "Orders the addresses by the preferred family",
        arguments: [
            (.any, ["::2", "127.0.0.1", "::1", "127.0.0.2"]), (.ipv4First, ["127.0.0.1", "127.0.0.2", "::2", "::1"]),
            (.ipv6First, ["::2", "::1", "127.0.0.1", "127.0.0.2"]),
        ] as [(CurlTransport.AddressFamily, [String])]
    )
    func order(_ family: CurlTransport.AddressFamily, expected: [String]) async throws {
        let stub = StubResolver(["name.test": ["::2", "127.0.0.1", "::1", "127.0.0.2"]])
        let answer = await withCheckedContinuation { continuation in
            _ = stub.makeResolver().resolve(.init(name: "name.test", family: family)) {
                continuation.resume(returning: $0)
            }
        }
        #expect(try answer.get() == expected)
    }

    @Test("Connects to the preferred family first", .shows("P36", "Q10", "Q16"), arguments: [true, false])
    func preference(isIPv4First: Bool) async throws {
        let stub = StubResolver(["name.test": isIPv4First ? ["::1", "127.0.0.1"] : ["127.0.0.1", "::1"]])
        let serve: @Sendable (TCPPeer.Connection) throws -> Void = { connection in
            try connection.readRequest()
            try connection.send(TCPPeer.hello)
            try connection.waitForClose()
        }
        try await withPeer(serve) { peer in
            // Without IPv6, or if its port is taken, there's no choice to make.
            guard let other = try? TCPPeer(ipv6Port: peer.port, script: serve) else { return }
            defer { other.stop() }
            var configuration = CurlTransport.Configuration(stub.makeResolver())
            configuration.addressFamily = isIPv4First ? .ipv4First : .ipv6First
            configuration.happyEyeballsDelay = .seconds(9)
            let response = try await withCurl(configuration) { try await $0.get(url("name.test", peer)) }
            #expect(response.status == 200)
            try withKnownIssue("libcurl 8.14 and later begin with IPv6") {
                try #require(peer.acceptedCount == (isIPv4First ? 1 : 0))
                try #require(other.acceptedCount == (isIPv4First ? 0 : 1))
            } when: {
                isIPv4First && CurlLibrary.beginsWithIPv6
            }
        }
    }

    @Test("Resolves this machine in the requested family with the system's resolver")
    func system() throws {
        func find(_ name: String, _ family: CurlTransport.AddressFamily) -> NameResolver.Answer {
            NameResolver.Query(name: name, family: family).systemAnswer
        }
        #expect(try find("localhost", .ipv4).get() == ["127.0.0.1"])
        #expect(try find("127.0.0.7", .any).get() == ["127.0.0.7"])
        #expect(throws: NameResolver.Failure.self) { _ = try find("name.invalid", .any).get() }
        #expect(NameResolver.Query.isAddress("0x7f.1"))
        #expect(!NameResolver.Query.isAddress("name.test"))
    }
}

private final class Events: Sendable {
    private let list = Mutex<[HTTPTransportEvent]>([])

    func append(_ event: HTTPTransportEvent) { list.withLock { $0.append(event) } }

    var metrics: HTTPTransportMetrics? {
        list.withLock { list in
            for case .finished(let metrics) in list { return metrics }
            return nil
        }
    }
}
