import Foundation
import Glibc
import Networking
import TestSupport
import Testing

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
        @Test("Uses each variable for its purpose only", arguments: Row.all)
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
            let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
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

    /// Sets these proxy variables and unsets all others.
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

/// Unwraps a value in the process of an exit test.
private func require<Value>(_ value: Value?, line: Int = #line) throws -> Value {
    guard let value else { throw Unmet(line: line) }
    return value
}
