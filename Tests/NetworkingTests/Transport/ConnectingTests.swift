import Foundation
import Glibc
import Networking
import Synchronization
import TestSupport
import Testing

/// Timeouts and cancellation while a connection is made.
@Suite("Connecting", .limitedConcurrency)
struct ConnectingTests {
    private static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    /// A port that neither accepts nor rejects further connections, so that connecting to it never
    /// completes.
    private final class FullPort {
        let port: Int
        private let sockets: [Int32]

        /// - Parameter port6: The port on the IPv6 loopback address, or `nil` for any port on the
        ///   IPv4 one.
        init(port6: Int? = nil) throws {
            if let port6 {
                var address = sockaddr_in6()
                address.sin6_family = sa_family_t(AF_INET6)
                address.sin6_addr = in6addr_loopback
                address.sin6_port = in_port_t(port6).bigEndian
                sockets = try Self.fill(AF_INET6, &address)
                port = port6
            } else {
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
                sockets = try Self.fill(AF_INET, &address)
                port = Int(UInt16(bigEndian: address.sin_port))
            }
        }

        deinit {
            for socket in sockets { close(socket) }
        }

        var url: URL { URL(string: "http://127.0.0.1:\(port)/")! }

        /// Opens a listener without a backlog and more connections than it accepts.
        private static func fill<Address>(
            _ family: Int32,
            _ address: inout Address
        ) throws -> [Int32] {
            let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            var length = socklen_t(MemoryLayout<Address>.size)
            return try unsafe withUnsafeMutablePointer(to: &address) { pointer in
                try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    let listener = socket(family, kind, 0)
                    guard unsafe bind(listener, address, length) == 0, listen(listener, 0) == 0,
                        unsafe getsockname(listener, address, &length) == 0
                    else {
                        close(listener)
                        throw TCPPeer.Gone()
                    }
                    var sockets = [listener]
                    for _ in 0..<4 {
                        sockets.append(socket(family, kind, 0))
                        _ = unsafe connect(sockets[sockets.count - 1], address, length)
                    }
                    return sockets
                }
            }
        }
    }

    @Test("Applies the connect timeout and the deadline to a host that doesn't respond")
    func timeouts() async throws {
        let full = try FullPort()
        try await withCurl(.init(connectTimeout: .milliseconds(50), proxy: .none)) { transport in
            let start = ContinuousClock.now
            let error = await failure { _ = try await transport.get(full.url) }
            #expect(.now - start >= .milliseconds(50))
            #expect(error?.code == .cannotConnect)
            #expect(error?.timeout == NetworkError.Timeout(limit: .connect, phase: .connecting))
        }
        try await withCurl { transport in
            let error = await failure { _ = try await transport.get(full.url, .milliseconds(1500)) }
            #expect(error?.timeout == NetworkError.Timeout(limit: .deadline, phase: .connecting))
        }
    }

    @Test("Applies the connect timeout to a proxy that doesn't respond", arguments: [false, true])
    func silentProxy(isSOCKS: Bool) async throws {
        try await withPeer { connection in
            try connection.waitForClose()
        } _: { proxy in
            var configuration = CurlTransport.Configuration(connectTimeout: .milliseconds(50))
            let location = "127.0.0.1:\(proxy.port)"
            configuration.proxy =
                isSOCKS ? .socks5(URL(string: "socks5://\(location)")!) : .http(URL(string: "http://\(location)")!)
            try await withCurl(configuration) { transport in
                let error = await failure { _ = try await transport.get(URL(string: "https://origin.invalid/")!) }
                #expect(error?.code == .cannotConnect)
                #expect(error?.timeout?.limit == .connect)
            }
        }
    }

    @Test("Cancelling while connecting ends the request and starts the next one")
    func cancelled() async throws {
        let full = try FullPort()
        let silent = try TCPPeer { try $0.waitForClose() }
        defer { silent.stop() }
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send(Self.hello)
            try connection.waitForClose()
        } _: { peer in
            let configuration = CurlTransport.Configuration(
                connectTimeout: .seconds(600),
                maximumConnections: 1,
                proxy: .none
            )
            try await withCurl(configuration) { transport in
                for url in [full.url, URL(string: "https://127.0.0.1:\(silent.port)/")!] {
                    let task = Task { await failure { _ = try await transport.get(url) }?.code }
                    try await Task.sleep(for: .milliseconds(20))
                    task.cancel()
                    #expect(await task.value == .cancelled)
                }
                let response = try await transport.get(peer.url)
                #expect(response.status == 200)
            }
        }
    }

    // RFC 8305: an address that doesn't respond costs a head start, not the connect timeout.
    @Test("Connects over IPv4 if IPv6 doesn't respond")
    func racing() async throws {
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send(Self.hello)
            try connection.waitForClose()
        } _: { peer in
            // Without IPv6, there's nothing to race.
            guard let full = try? FullPort(port6: peer.port) else { return }
            var configuration = CurlTransport.Configuration(connectTimeout: .seconds(600), proxy: .none)
            configuration.happyEyeballsDelay = .milliseconds(300)
            configuration.resolverEntries = [
                .init(host: "both.invalid", port: full.port, addresses: ["::1", "127.0.0.1"])
            ]
            try await withCurl(configuration) { transport in
                let start = ContinuousClock.now
                let response = try await transport.get(URL(string: "http://both.invalid:\(full.port)/")!)
                #expect(response.status == 200)
                #expect(.now - start >= .milliseconds(300))
            }
        }
    }

    @Test("Limits the requests that run at once across all hosts, and runs the others later")
    func maximum() async throws {
        let load = Load()
        let peers = try (0..<4).map { _ in
            try TCPPeer { connection in
                while true {
                    try connection.readRequest()
                    load.begin()
                    usleep(2000)
                    load.end()
                    try connection.send(Self.hello)
                }
            }
        }
        defer { for peer in peers { peer.stop() } }
        try await withCurl(.init(maximumConnectionsPerHost: 2, maximumConnections: 3, proxy: .none)) { transport in
            try await withThrowingTaskGroup { group in
                for index in 0..<40 {
                    group.addTask {
                        let request = HTTPTransportRequest(url: peers[index % 4].url)
                        let limits = HTTPTransportLimits.generous()
                        guard index % 8 > 3 else { return _ = try await transport.send(request, limits: limits) }
                        _ = try await transport.open(request, limits: limits).body.collect(upTo: 10)
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect((1...3).contains(load.most))
    }
}

/// A counter of concurrent requests.
private final class Load: Sendable {
    private let count = Mutex((now: 0, most: 0))

    var most: Int { count.withLock(\.most) }

    func begin() { count.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }
    func end() { count.withLock { $0.now -= 1 } }
}
