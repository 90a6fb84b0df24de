import Foundation
import Glibc
import MockNetworking
import OpenSSLCrypto
import Synchronization
import TestSupport
import Testing

@testable import Networking

@Suite("Local addresses and keep-alive", .limitedConcurrency)
struct LocalAddressTests {
    private func configuration(localAddress: String) -> CurlTransport.Configuration {
        var configuration = CurlTransport.Configuration(proxy: .none)
        configuration.localAddress = localAddress
        return configuration
    }

    private func address(from localAddress: String) async throws -> String? {
        try await withPeer { connection in
            try connection.readRequest()
            connection.peer.record(connection.clientAddress)
            try connection.send(TCPPeer.hello)
            try connection.waitForClose()
        } _: { peer in
            try await withCurl(configuration(localAddress: localAddress)) { transport in
                _ = try await transport.get(peer.url)
            }
            return peer.requests.last
        }
    }

    @Test(
        "Connects from the local address, or from an interface's",
        .shows("P36"),
        arguments: ["127.0.0.2", "127.0.0.3", "lo"]
    )
    func localAddress(_ text: String) async throws {
        #expect(try await address(from: text) == (text == "lo" ? "127.0.0.1" : text))
    }

    @Test("Connects from the local address to a name, without looking up the address")
    func name() async throws {
        let stub = StubResolver(["server.test": ["127.0.0.1", "::1"]])
        try await withPeer { connection in
            try connection.readRequest()
            connection.peer.record(connection.clientAddress)
            try connection.send(TCPPeer.hello)
            try connection.waitForClose()
        } _: { peer in
            var configuration = CurlTransport.Configuration(stub.makeResolver())
            configuration.localAddress = "127.0.0.2"
            try await withCurl(configuration) { transport in
                let url = try #require(URL(string: "http://server.test:\(peer.port)/"))
                #expect(try await transport.get(url).status == 200)
            }
            #expect(peer.requests.last == "127.0.0.2")
            #expect(stub.names == ["server.test"])
            #expect(stub.families == [.ipv4])
        }
    }

    @Test(
        "Fails without having sent anything if this machine lacks the address or the interface",
        arguments: [("203.0.113.7", "doesn't have the address 203.0.113.7"), ("none0", "no network interface none0")]
    )
    func missing(_ text: String, _ words: String) async throws {
        try await withPeer(TCPPeer.silence) { peer in
            try await withCurl(configuration(localAddress: text)) { transport in
                let error = try #require(await failure { _ = try await transport.get(peer.url) })
                #expect(error.code == .cannotConnect)
                #expect(error.isUnprocessed)
                #expect(error.message.contains("localAddress"))
                #expect(error.message.contains(words))
            }
            #expect(peer.acceptedCount == 0)
        }
    }

    @Test("Fails if the server's address belongs to another family")
    func otherFamily() async throws {
        try await withCurl(configuration(localAddress: "127.0.0.2")) { transport in
            let error = await failure { _ = try await transport.get(URL(string: "http://[::1]:9/")!) }
            #expect(error?.code == .cannotConnect || error?.code == .cannotResolveHost)
        }
    }

    private func option(_ socket: Int32, _ level: Int32, _ option: Int32) -> Int32 {
        var value: Int32 = -1
        var size = socklen_t(MemoryLayout<Int32>.size)
        _ = unsafe getsockopt(socket, level, option, &value, &size)
        return value
    }

    @Test("Sets the interval and the patience of keep-alive, rounded up", arguments: [AF_INET, AF_INET6])
    func options(_ family: Int32) throws {
        let socket = Glibc.socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        try #require(socket >= 0)
        defer { close(socket) }
        var configuration = CurlTransport.Configuration()
        configuration.keepAlive = .init(interval: .milliseconds(1500), patience: .milliseconds(2500))
        try configuration.apply(to: socket, family: family)
        #expect(option(socket, SOL_SOCKET, SO_KEEPALIVE) == 1)
        #expect(option(socket, Int32(IPPROTO_TCP), TCP_KEEPIDLE) == 2)
        #expect(option(socket, Int32(IPPROTO_TCP), TCP_KEEPINTVL) == 2)
        #expect(option(socket, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT) == 2500)
    }

    @Test("Leaves keep-alive to the system without a setting")
    func noKeepAlive() throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        try #require(socket >= 0)
        defer { close(socket) }
        var configuration = CurlTransport.Configuration()
        configuration.keepAlive = nil
        try configuration.apply(to: socket, family: AF_INET)
        #expect(option(socket, SOL_SOCKET, SO_KEEPALIVE) == 0)
        #expect(option(socket, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT) == 0)
    }

    @Test(
        "Ends a request whose peer vanished, and uses a new connection for the next",
        .shows("P33"),
        arguments: [1, 2]
    )
    func vanishedPeer(version: Int) async throws {
        try await withPeer { connection in
            func receive() throws {
                if version == 2 {
                    try connection.readFrames(to: \.endsStream)
                } else {
                    try connection.readRequest()
                }
            }
            func respond() throws {
                if version == 2 {
                    try connection.send([.ok])
                } else {
                    try connection.send(TCPPeer.empty)
                }
            }
            if version == 2 { try connection.beginHTTP2() }
            try receive()
            try respond()
            while true {
                try receive()
                // The first connection stays open, but the server is gone. An idle connection could
                // end before the request, if the processors are busy.
                if connection.number == 0 { connection.vanish() } else { try respond() }
            }
        } _: { peer in
            var configuration = CurlTransport.Configuration(proxy: .none)
            configuration.keepAlive = .init(interval: .seconds(1), patience: .milliseconds(1001))
            if version == 2 { configuration.protocolVersion = .http2PriorKnowledge }
            try await withCurl(configuration) { transport in
                let first = try await transport.get(peer.url)
                #expect(first.status == 200)
                // Without the detection, this request would wait for its deadline.
                let request = HTTPRequest(method: .post, url: peer.url)
                let lost = await failure { _ = try await transport.send(request) }
                #expect(lost?.code == .connectionLost)
                #expect(lost?.isUnprocessed == false)
                let last = try await transport.get(peer.url)
                #expect(last.status == 200)
            }
            #expect(peer.acceptedCount == 2)
        }
    }
}

@Suite(.limitedConcurrency)
struct PublicAddressTests {
    @Test(
        "knows the addresses that aren't public",
        arguments: [
            "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1",
            "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.1",
            "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:8.8.8.8",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1",
            "5f00::1",
            "fc00::1", "fd12::1", "fe80::1", "fec0::1", "ff02::1",
        ]
    )
    func special(_ text: String) throws {
        #expect(try !#require(IPAddress(text)).isPublic)
    }

    @Test(
        "knows public addresses",
        arguments: [
            "1.1.1.1", "8.8.8.8", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "64:ff9b::808:808", "2a00::1",
        ]
    )
    func global(_ text: String) throws {
        #expect(try #require(IPAddress(text)).isPublic)
    }

    private func transport(_ resolver: StubResolver) throws -> CurlTransport {
        var configuration = CurlTransport.Configuration(resolver.makeResolver())
        configuration.reachesOnlyPublicAddresses = true
        return try CurlTransport(configuration: configuration)
    }

    private func send(_ url: String, _ transport: CurlTransport) async throws {
        let url = try #require(URL(string: url))
        _ = try await transport.send(HTTPRequest(url: url), limits: HTTPTransportLimits())
    }

    @Test(
        "rejects hosts that are special addresses or names, in every form",
        .shows("P42"),
        arguments: [
            "127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "[::1]", "localhost", "a.localhost", "10.0.0.1",
        ]
    )
    func literals(_ host: String) async throws {
        try await withLoopbackServer { server in
            let resolver = StubResolver([:])
            let transport = try transport(resolver)
            await expectFailure(.cannotConnect) { try await send("http://\(host):\(server.port)/", transport) }
            #expect(server.acceptedConnectionCount == 0)
            #expect(resolver.names.isEmpty)
        }
    }

    @Test(
        "rejects names that resolve to a special address, or to a mixture",
        .shows("M18", "P42"),
        arguments: [["127.0.0.1"], ["1.1.1.1", "127.0.0.1"], ["::1"]]
    )
    func names(_ addresses: [String]) async throws {
        try await withLoopbackServer { server in
            let transport = try transport(StubResolver(["rebind.example": addresses]))
            await expectFailure(.cannotConnect) { try await send("http://rebind.example:\(server.port)/", transport) }
            #expect(server.acceptedConnectionCount == 0)
        }
    }

    @Test("reaches the addresses that the configuration names")
    func resolverEntries() async throws {
        try await withLoopbackServer { server in
            server.on(.get, "/", .text("ok"))
            var configuration = CurlTransport.Configuration(proxy: .none)
            configuration.reachesOnlyPublicAddresses = true
            configuration.resolverEntries = [.init(host: "known.example", port: server.port, addresses: ["127.0.0.1"])]
            try await send("http://known.example:\(server.port)/", try CurlTransport(configuration: configuration))
            #expect(server.requestCount == 1)
        }
    }

    @Test("can't be used with a proxy or a Unix-domain socket")
    func invalidConfigurations() throws {
        let proxied = try #require(URL(string: "http://proxy.example:8080"))
        for proxy in [CurlTransport.ProxySelection.environment, .http(proxied)] {
            var configuration = CurlTransport.Configuration(proxy: proxy)
            configuration.reachesOnlyPublicAddresses = true
            #expect(throws: NetworkError(.invalidRequest, "")) { _ = try CurlTransport(configuration: configuration) }
        }
        var configuration = CurlTransport.Configuration(proxy: .none)
        configuration.reachesOnlyPublicAddresses = true
        configuration.unixSocketPath = "/run/x"
        #expect(throws: NetworkError(.invalidRequest, "")) { _ = try CurlTransport(configuration: configuration) }
    }
}
