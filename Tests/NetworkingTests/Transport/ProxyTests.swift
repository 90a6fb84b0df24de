import Foundation
import Glibc
import Networking
import TestSupport
import Testing

@Suite("Proxies", .limitedConcurrency)
struct ProxyTests {
    private typealias Proxy = CurlTransport.ProxySelection
    private typealias Credentials = CurlTransport.ProxyCredentials
    /// The credentials in the form of the `Basic` scheme.
    private static let basic = "Basic " + Data("someone:s€cret".utf8).base64EncodedString()
    private static let credentials = Credentials(username: "someone", password: "s€cret")

    private func transport(_ proxy: Proxy, _ test: (CurlTransport) async throws -> Void) async throws {
        try await withCurl(.init(proxy: proxy), test)
    }

    private func url(_ text: String, _ peer: TCPPeer) throws -> URL {
        try #require(URL(string: text.replacing("PORT", with: "\(peer.port)")))
    }

    @Test("Sends a plain request to an HTTP proxy unchanged, with the proxy's credentials")
    func plainRequest() async throws {
        try await withPeer(answering: TCPPeer.hello) { proxy in
            let location = try url("http://127.0.0.1:PORT", proxy)
            try await transport(.http(location, credentials: Self.credentials)) { transport in
                let origin = try #require(URL(string: "http://origin.invalid/path?q=1"))
                #expect(try await transport.get(origin).body == Data("hello".utf8))
            }
            try await transport(.http(location)) { transport in
                let request = HTTPRequest(
                    url: try #require(URL(string: "http://origin.invalid/")),
                    headers: ["Proxy-Authorization": "Basic own"]
                )
                _ = try await transport.send(request)
            }
            let requests = proxy.requests.map { $0.components(separatedBy: "\r\n") }
            #expect(requests[0].first == "GET http://origin.invalid/path?q=1 HTTP/1.1")
            #expect(requests[0].contains("Proxy-Authorization: \(Self.basic)"))
            #expect(requests[0].contains("Host: origin.invalid"))
            #expect(requests[1].contains("Proxy-Authorization: Basic own"))
        }
    }

    @Test("Never sends Proxy-Authorization to the origin", .shows("H14"), arguments: ["none", "noProxy"])
    func direct(_ selection: String) async throws {
        try await withPeer(answering: TCPPeer.hello) { origin in
            let nobody = try #require(URL(string: "http://127.0.0.1:1"))
            let proxy: Proxy =
                selection == "none" ? .none : .http(nobody, credentials: Self.credentials, noProxy: ["127.0.0.0/8"])
            try await transport(proxy) { transport in
                let request = HTTPRequest(
                    url: origin.url,
                    headers: ["Proxy-Authorization": "Basic own", "X": "1"]
                )
                _ = try await transport.send(request)
            }
            let request = try #require(origin.requests.first)
            #expect(request.contains("X: 1\r\n"))
            #expect(!request.lowercased().contains("proxy-authorization"))
        }
    }

    @Test(
        "Bypasses the proxy for matching names, addresses and networks only",
        arguments: [
            ("a.test", "a.test", true), ("a.test", "x.a.test", true), ("a.test", "xa.test", false),
            ("A.Test", "a.test", true), (".a.test", "x.a.test", true), ("*.a.test", "x.a.test", true),
            ("*.a.test", "xa.test", false), ("b.test,a.test", "a.test", true), ("b.test", "a.test", false),
            ("*", "a.test", true), ("b.test,*", "a.test", true), ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.2", "127.0.0.1", false), ("127.0.0.0/8", "127.0.0.1", true), ("10.0.0.0/8", "127.0.0.1", false),
            ("::1", "[::1]", true), ("[::1]", "[::1]", true), ("::2", "[::1]", false),
        ]
    )
    func exceptions(_ list: String, _ host: String, _ isDirect: Bool) async throws {
        try await withPeer { connection in
            let isProxied = try connection.readRequest().hasPrefix("GET http://")
            try connection.send("HTTP/1.1 \(isProxied ? 299 : 200) OK\r\nContent-Length: 0\r\n\r\n")
            try connection.waitForClose()
        } _: { peer in
            let noProxy = list.split(separator: ",").map(String.init)
            var configuration = CurlTransport.Configuration(
                proxy: .http(try url("http://127.0.0.1:PORT", peer), noProxy: noProxy)
            )
            configuration.resolverEntries = ["a.test", "x.a.test", "xa.test"].map {
                .init(host: $0, port: peer.port, addresses: ["127.0.0.1"])
            }
            let origin = try url("http://\(host):PORT/", peer)
            try await withCurl(configuration) { transport in
                do {
                    let response = try await transport.get(origin)
                    #expect(response.status == (isDirect ? 200 : 299))
                } catch let error as NetworkError {
                    // No server listens on the IPv6 address.
                    #expect(error.code == .cannotConnect && host == "[::1]" && isDirect)
                }
            }
        }
    }

    @Test("Sends a secure request through a tunnel without revealing its header", .shows("H14"))
    func tunnel() async throws {
        let first = AsyncStream<[UInt8]>.makeStream()
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 Connection established\r\nX-Proxy: 1\r\n\r\n")
            first.continuation.yield(try connection.read(1))
        } _: { proxy in
            let location = try url("http://127.0.0.1:PORT", proxy)
            try await transport(.http(location, credentials: Self.credentials)) { transport in
                let request = HTTPRequest(
                    url: try #require(URL(string: "https://origin.invalid/secret")),
                    headers: ["Authorization": "Bearer secret"]
                )
                await expectFailure(.connectionLost) { _ = try await transport.send(request) }
            }
            let request = try #require(proxy.requests.first)
            #expect(request.hasPrefix("CONNECT origin.invalid:443 HTTP/1.1\r\n"))
            #expect(request.contains("Proxy-Authorization: \(Self.basic)\r\n"))
            #expect(!request.contains("secret"))
            // The TLS handshake follows.
            for await octets in first.stream {
                #expect(octets == [0x16])
                break
            }
        }
    }

    @Test(
        "Names the origin of a denied tunnel, but never the credentials",
        arguments: [
            (407, NetworkError.Code.proxyAuthenticationRequired), (403, .cannotConnect), (502, .cannotConnect),
        ]
    )
    func refusedTunnel(_ status: Int, _ code: NetworkError.Code) async throws {
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send(
                "HTTP/1.1 \(status) No\r\nProxy-Authenticate: Basic realm=r\r\nContent-Length: 0\r\n\r\n"
            )
            try connection.waitForClose()
        } _: { proxy in
            let location = try url("http://127.0.0.1:PORT", proxy)
            try await transport(.http(location, credentials: Self.credentials)) { transport in
                let error = await expectFailure(code, mentioning: "origin.invalid:443") {
                    _ = try await transport.get(URL(string: "https://origin.invalid/")!)
                }
                #expect("\(String(describing: error))".contains("s€cret") == false)
            }
            #expect(proxy.requests.count == 1)
        }
    }

    @Test("Returns a 407 response to a plain request")
    func proxyAuthentication() async throws {
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=r\r\nContent-Length: 0\r\n\r\n")
            try connection.waitForClose()
        } _: { proxy in
            try await transport(.http(url("http://127.0.0.1:PORT", proxy))) { transport in
                let response = try await transport.get(URL(string: "http://origin.invalid/")!)
                #expect(response.status == 407)
            }
        }
    }

    @Test(
        "Lets a SOCKS5 proxy resolve the host and sends it the credentials",
        .shows("P20", "RFC 1928, RFC 1929"),
        arguments: [false, true]
    )
    func socks(hasCredentials: Bool) async throws {
        try await withPeer { connection in
            let methods = try connection.readExactly(2)
            #expect(methods[0] == 5)
            let offered = try connection.readExactly(Int(methods[1]))
            #expect(offered.contains(hasCredentials ? 2 : 0))
            try connection.send([5, hasCredentials ? 2 : 0])
            if hasCredentials {
                let name = try connection.readExactly(Int(try connection.readExactly(2)[1]))
                let password = try connection.readExactly(Int(try connection.readExactly(1)[0]))
                #expect(String(decoding: name, as: UTF8.self) == "someone")
                #expect(String(decoding: password, as: UTF8.self) == "s€cret")
                try connection.send([1, 0])
            }
            let head = try connection.readExactly(5)
            // Version 5, CONNECT and a host name.
            #expect(head.prefix(4) == [5, 1, 0, 3])
            let host = try connection.readExactly(Int(head[4]))
            #expect(String(decoding: host, as: UTF8.self) == "origin.invalid")
            #expect(try connection.readExactly(2) == [0, 80])
            try connection.send([5, 0, 0, 1, 127, 0, 0, 1, 0, 80])
            try connection.readRequest()
            try connection.send(TCPPeer.hello)
            try connection.waitForClose()
        } _: { proxy in
            let selection = Proxy.socks5(
                try url("socks5://127.0.0.1:PORT", proxy),
                credentials: hasCredentials ? Self.credentials : nil
            )
            try await transport(selection) { transport in
                let request = HTTPRequest(
                    url: URL(string: "http://origin.invalid/x")!,
                    headers: ["Proxy-Authorization": "Basic own"]
                )
                let response = try await transport.send(request)
                #expect(response.body == Data("hello".utf8))
            }
            #expect(proxy.requests.first?.hasPrefix("GET /x HTTP/1.1\r\nHost: origin.invalid\r\n") == true)
            #expect(proxy.requests.first?.lowercased().contains("proxy-authorization") == false)
        }
    }

    @Test("Reports a failed connection if a SOCKS5 proxy rejects it")
    func refusingSocks() async throws {
        try await withPeer { connection in
            let methods = try connection.readExactly(2)
            _ = try connection.readExactly(Int(methods[1]))
            try connection.send([5, 0xFF])
            try connection.waitForClose()
        } _: { proxy in
            let selection = Proxy.socks5(try url("socks5h://127.0.0.1:PORT", proxy), credentials: Self.credentials)
            try await transport(selection) { transport in
                let error = await failure { _ = try await transport.get(URL(string: "http://origin.invalid/")!) }
                #expect(error?.code == .cannotConnect)
                #expect(error?.message.contains("s€cret") == false)
            }
        }
    }

    @Test("Connects to a secure proxy over TLS and requires trust")
    func secureProxy() async throws {
        let first = AsyncStream<[UInt8]>.makeStream()
        try await withPeer { connection in
            first.continuation.yield(try connection.read(1))
            try connection.send("HTTP/1.1 400 Bad Request\r\n\r\n")
        } _: { proxy in
            try await transport(.https(url("https://127.0.0.1:PORT", proxy))) { transport in
                await expectFailure(.tls) { _ = try await transport.get(URL(string: "http://origin.invalid/")!) }
                for await octets in first.stream {
                    #expect(octets == [0x16])
                    break
                }
            }
        }
    }

    @Test("Never reveals a proxy's password")
    func redaction() {
        let selection = Proxy.http(URL(string: "http://proxy.example:3128")!, credentials: Self.credentials)
        var dumped = ""
        dump(selection, to: &dumped)
        for text in ["\(selection)", String(reflecting: selection), dumped] { #expect(!text.contains("s€cret")) }
        #expect(selection == .http(URL(string: "http://proxy.example:3128")!, credentials: Self.credentials))
        let other = Credentials(username: "someone", password: "other")
        #expect(selection != .http(URL(string: "http://proxy.example:3128")!, credentials: other))
    }
}

/// Proxies from the environment, each tested in a separate process because other tests read the
/// environment too.
@Suite("Proxies from the environment", .limitedConcurrency)
struct ProxyEnvironmentTests {
    /// An environment, and the server that receives a request in it.
    struct Row: Sendable, Codable, CustomTestStringConvertible {
        enum Way: String, Codable { case proxy, direct }

        /// The variables, in which `PROXY` stands for the proxy's host and port.
        let variables: [String: String]
        let url: String
        let way: Way
        var isIgnored = false

        var testDescription: String {
            let names = variables.keys.sorted().map { "\($0)=\(variables[$0] ?? "")" }.joined(separator: " ")
            return "\(names) \(url): \(way.rawValue)"
        }

        static let plain = "http://origin.invalid/path"
        static let secure = "https://origin.invalid/path"

        static let all = [
            Self(variables: [:], url: plain, way: .direct),
            Self(variables: ["http_proxy": "http://PROXY"], url: plain, way: .proxy),
            Self(variables: ["http_proxy": "PROXY"], url: plain, way: .proxy),
            Self(variables: ["http_proxy": "http://PROXY"], url: secure, way: .direct),
            // A CGI program receives a request's `Proxy` field in this variable (httpoxy,
            // CVE-2016-5385).
            Self(variables: ["HTTP_PROXY": "http://PROXY"], url: plain, way: .direct),
            Self(variables: ["https_proxy": "http://PROXY"], url: secure, way: .proxy),
            Self(variables: ["HTTPS_PROXY": "http://PROXY"], url: secure, way: .proxy),
            Self(variables: ["HTTPS_PROXY": "http://PROXY"], url: plain, way: .direct),
            Self(variables: ["all_proxy": "http://PROXY"], url: plain, way: .proxy),
            Self(variables: ["ALL_PROXY": "http://PROXY"], url: secure, way: .proxy),
            Self(variables: ["http_proxy": "http://PROXY", "no_proxy": "a,.invalid"], url: plain, way: .direct),
            Self(variables: ["http_proxy": "http://PROXY", "NO_PROXY": "origin.invalid"], url: plain, way: .direct),
            Self(variables: ["all_proxy": "http://PROXY", "no_proxy": "*"], url: secure, way: .direct),
            Self(variables: ["all_proxy": "http://PROXY", "no_proxy": "another.invalid"], url: plain, way: .proxy),
            Self(variables: ["all_proxy": "http://PROXY"], url: plain, way: .direct, isIgnored: true),
        ]
    }

    #if compiler(>=6.3)  // Swift 6.2 doesn't capture values in exit tests.
        @Test("Uses each variable for its purpose only", .shows("P20"), arguments: Row.all)
        func variables(row: Row) async {
            await #expect(processExitsWith: .success) { [row = row as Row] in
                let proxy = try TCPPeer { connection in
                    try connection.readRequest()
                    try connection.send("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
                    try connection.waitForClose()
                }
                ProxyEnvironmentTests.setEnvironment(row.variables, proxy)
                let selection = row.isIgnored ? CurlTransport.ProxySelection.none : .environment
                try await withCurl(.init(proxy: selection)) { transport in
                    let error = await failure { _ = try await transport.get(try require(URL(string: row.url))) }
                    switch row.way {
                    case .direct:
                        try require(error?.code == .cannotResolveHost)
                        try require(proxy.acceptedCount == 0)
                    case .proxy:
                        // The proxy answers a plain request and denies a tunnel.
                        let isSecure = row.url.hasPrefix("https")
                        try require(error?.code == (isSecure ? .cannotConnect : nil))
                        let start = isSecure ? "CONNECT origin.invalid:443 " : "GET http://origin.invalid/path "
                        try require(proxy.requests.first?.hasPrefix(start) == true)
                    }
                }
                proxy.stop()
            }
        }
    #endif

    @Test("Sends the credentials to the proxy only, and bypasses it for loopback hosts")
    func credentials() async {
        await #expect(processExitsWith: .success) {
            let hello = TCPPeer.hello
            let (proxy, origin) = try (peer(), peer())
            func peer() throws -> TCPPeer {
                try TCPPeer { connection in
                    while true {
                        try connection.readRequest()
                        try connection.send(hello)
                    }
                }
            }
            ProxyEnvironmentTests.setEnvironment(["http_proxy": "http://someone:s%40cret@PROXY"], proxy)
            try await withCurl(.init()) { transport in
                _ = try await transport.get(try require(URL(string: Row.plain)))
                for host in ["127.0.0.1", "localhost"] {
                    _ = try await transport.get(try require(URL(string: "http://\(host):\(origin.port)/")))
                }
            }
            let basic = "Proxy-Authorization: Basic " + Data("someone:s@cret".utf8).base64EncodedString()
            try require(proxy.requests.count == 1 && proxy.requests[0].contains(basic))
            try require(origin.requests.count == 2)
            try require(!origin.requests.contains { $0.contains("Proxy-Authorization") })
            proxy.stop()
            origin.stop()
        }
    }

    private static func setEnvironment(_ variables: [String: String], _ proxy: TCPPeer) {
        for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
            unsafe unsetenv(name)
            unsafe unsetenv(name.uppercased())
        }
        for (name, value) in variables {
            unsafe setenv(name, value.replacing("PROXY", with: "127.0.0.1:\(proxy.port)"), 1)
        }
    }
}

private func require<Value>(_ value: Value?, line: Int = #line) throws -> Value {
    guard let value else { throw Unmet(line: line) }
    return value
}
