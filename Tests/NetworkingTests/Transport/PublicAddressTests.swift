import Foundation
import MockNetworking
import OpenSSLCrypto
import TestSupport
import Testing

@testable import Networking

/// A transport for URLs that another party chose.
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
        _ = try await transport.send(HTTPTransportRequest(url: url), limits: HTTPTransportLimits())
    }

    @Test(
        "rejects hosts that are special addresses or names, in every form",
        arguments: [
            "127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "[::1]", "localhost", "a.localhost", "10.0.0.1",
        ]
    )
    func literals(_ host: String) async throws {
        try await withLoopbackServer { server in
            let resolver = StubResolver([:])
            let transport = try transport(resolver)
            await #expect(throws: NetworkError(.cannotConnect, "")) {
                try await send("http://\(host):\(server.port)/", transport)
            }
            #expect(server.acceptedConnectionCount == 0)
            #expect(resolver.names.isEmpty)
        }
    }

    @Test(
        "rejects names that resolve to a special address, or to a mixture",
        arguments: [["127.0.0.1"], ["1.1.1.1", "127.0.0.1"], ["::1"]]
    )
    func names(_ addresses: [String]) async throws {
        try await withLoopbackServer { server in
            let transport = try transport(StubResolver(["rebind.example": addresses]))
            await #expect(throws: NetworkError(.cannotConnect, "")) {
                try await send("http://rebind.example:\(server.port)/", transport)
            }
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
