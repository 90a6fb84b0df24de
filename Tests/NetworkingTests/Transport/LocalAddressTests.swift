import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Networking

@Suite("Local addresses and keep-alive", .limitedConcurrency)
struct LocalAddressTests {
    private static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    private func configuration(localAddress: String) -> CurlTransport.Configuration {
        var configuration = CurlTransport.Configuration(proxy: .none)
        configuration.localAddress = localAddress
        return configuration
    }

    /// Returns the address that the server sees.
    private func address(from localAddress: String) async throws -> String? {
        try await withPeer { connection in
            try connection.readRequest()
            connection.peer.record(connection.clientAddress)
            try connection.send(Self.hello)
            try connection.waitForClose()
        } _: { peer in
            try await withCurl(configuration(localAddress: localAddress)) { transport in
                _ = try await transport.get(peer.url)
            }
            return peer.requests.last
        }
    }

    @Test("Connects from the local address, or from an interface's", arguments: ["127.0.0.2", "127.0.0.3", "lo"])
    func localAddress(_ text: String) async throws {
        #expect(try await address(from: text) == (text == "lo" ? "127.0.0.1" : text))
    }

    @Test("Connects from the local address to a name, without looking up the address")
    func name() async throws {
        let stub = StubResolver(["server.test": ["127.0.0.1", "::1"]])
        try await withPeer { connection in
            try connection.readRequest()
            connection.peer.record(connection.clientAddress)
            try connection.send(Self.hello)
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
        try await withPeer {
            try $0.waitForClose()
        } _: { peer in
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

    // MARK: Keep-alive

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

    @Test("Ends a request whose peer vanished, and uses a new connection for the next", arguments: [1, 2])
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
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
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
                let request = HTTPTransportRequest(method: .post, url: peer.url)
                let lost = await failure { _ = try await transport.send(request, limits: .generous()) }
                #expect(lost?.code == .connectionLost)
                #expect(lost?.isUnprocessed == false)
                let last = try await transport.get(peer.url)
                #expect(last.status == 200)
            }
            #expect(peer.acceptedCount == 2)
        }
    }
}
