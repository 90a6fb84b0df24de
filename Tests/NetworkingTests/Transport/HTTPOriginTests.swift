import Foundation
import Testing

@testable import Networking

@Suite("HTTPOrigin")
struct HTTPOriginTests {
    @Test(
        "Normalizes the scheme, host and port",
        arguments: [
            ("http://example.org", "example.org:80"), ("https://example.org/a?b#c", "example.org:443"),
            ("HTTPS://Example.ORG:8443/", "example.org:8443"), ("http://[::1]:81/", "[::1]:81"),
            ("http://u:p@example.org/", "example.org:80"),
        ]
    )
    func normalized(_ url: String, _ description: String) throws {
        let origin = try #require(URL(string: url).flatMap { HTTPOrigin($0) })
        #expect(origin.description == description)
        #expect(origin.scheme == (url.lowercased().hasPrefix("https") ? "https" : "http"))
    }

    @Test("Rejects other URLs", arguments: ["ftp://example.org/", "file:///etc/passwd", "/path", "mailto:a@b.c"])
    func none(_ url: String) throws {
        #expect(URL(string: url).flatMap { HTTPOrigin($0) } == nil)
    }

    @Test(
        "Recognizes loopback hosts",
        arguments: [
            ("http://localhost/", true), ("http://api.localhost/", true), ("http://127.0.0.53/", true),
            ("http://[::1]/", true), ("http://127.0.0.1.example.org/", false), ("http://localhost.example.org/", false),
            ("http://10.0.0.1/", false), ("http://127.0.0.0.1/", false), ("http://127.0.0.256/", false),
            ("http://127.0.1/", false), ("http://127.0.0.1%00.evil.example/", false), ("http://127.0.0.001/", false),
        ]
    )
    func loopback(_ url: String, _ isLoopback: Bool) throws {
        #expect(URL(string: url).flatMap { HTTPOrigin($0) }?.isLoopback == isLoopback)
    }
}
