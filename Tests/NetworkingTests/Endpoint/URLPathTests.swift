import Foundation
import Networking
import Testing

@Suite("URLPath")
struct URLPathTests {
    private func url(_ path: URLPath, below base: String = "https://a.example/api") -> String? {
        SampleEndpoint(base, path: path).url
    }

    @Test(
        "Joins base and path with exactly one slash and keeps other slashes",
        arguments: [
            ("https://a.example/somepath/", "/another/path", "https://a.example/somepath/another/path"),
            ("https://a.example/somepath", "/another/path", "https://a.example/somepath/another/path"),
            ("https://a.example/somepath/", "another/path", "https://a.example/somepath/another/path"),
            ("https://a.example/somepath", "another/path", "https://a.example/somepath/another/path"),
            ("https://a.example", "a", "https://a.example/a"),
            ("https://a.example", "/a/", "https://a.example/a/"),
            ("https://a.example/", "/", "https://a.example/"),
            ("https://a.example", "//b.example/c", "https://a.example//b.example/c"),
            ("https://a.example/a//b", "c//d", "https://a.example/a//b/c//d"),
            ("https://a.example/a%2Fb?x=%2F", "c", "https://a.example/a%2Fb/c?x=%2F"),
            ("https://[::1]:8080", "c", "https://[::1]:8080/c"),
        ]
    )
    func joining(_ base: String, _ path: String, _ expected: String) {
        #expect(url(URLPath(path), below: base) == expected)
    }

    @Test("An interpolated value stays one segment")
    func values() {
        enum Kind: String { case first = "a/1" }
        let (name, number) = ("a/b?c#d;e%2F+&=ü", 42)
        #expect(
            url("/users/\(name)/posts") == "https://a.example/api/users/a%2Fb%3Fc%23d%3Be%252F%2B%26%3D%C3%BC/posts"
        )
        #expect(url("/users/\(number)-\(name.prefix(1)).json") == "https://a.example/api/users/42-a.json")
        #expect(url("/kinds/\(Kind.first)") == "https://a.example/api/kinds/a%2F1")
        let id = UUID()
        #expect(url("/ids/\(id)") == "https://a.example/api/ids/\(id.uuidString)")
        #expect(url(URLPath(segments: ["a/b", "c d"])) == "https://a.example/api/a%2Fb/c%20d")
    }

    @Test("Keeps valid delimiters of a literal and escapes other characters")
    func literals() {
        #expect(url("/a;v=1/b:c@d/e,f!$&'()*+") == "https://a.example/api/a;v=1/b:c@d/e,f!$&'()*+")
        #expect(url("/a?b#c%20 \\ü") == "https://a.example/api/a%3Fb%23c%2520%20%5C%C3%BC")
    }

    @Test("Keeps a raw path unchanged")
    func raw() {
        #expect(url("\(raw: "/a%2Fb/c%20d;e/")") == "https://a.example/api/a%2Fb/c%20d;e/")
        #expect(url("/x/\(raw: "a%2Fb/c")/d") == "https://a.example/api/x/a%2Fb/c/d")
    }

    @Test(
        "Rejects a path that would address another resource",
        arguments: [
            URLPath("/a/../b"), "..", "/./a", "/a/.", "/\(".")\(".")/a", "/.\(".")", "/a/\("..")/b", "/a/\(".")",
            "/a/\("../../admin")", "/a/\("x/..")", "/a/\("..\\x")", "/a/\("x\\..\\y")", URLPath(segments: ["a", ".."]),
            "\(raw: "/a/../b")", "\(raw: "/a/%2e%2E/b")", "\(raw: "/a/.%2e")", "/a/\(raw: "..")",
        ]
    )
    func climbing(_ path: URLPath) {
        let error = #expect(throws: NetworkError.self) {
            try SampleEndpoint("https://a.example", path: path).makeURL()
        }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("another resource") == true)
    }

    @Test(
        "Rejects an empty value as a whole segment",
        arguments: ["/users/\("")" as URLPath, "\("")/x"]
    )
    func emptyValue(_ path: URLPath) {
        let error = #expect(throws: NetworkError.self) {
            try SampleEndpoint("https://a.example", path: path).makeURL()
        }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("empty") == true)
    }

    @Test("Accepts dots and empty values within a segment")
    func harmlessDots() {
        #expect(url("/a/.../b\("")/..c/\("..d")/\("e..f")") == "https://a.example/api/a/.../b/..c/..d/e..f")
    }

    @Test(
        "Rejects a raw path that isn't percent-encoded",
        arguments: ["/a b", "/a?b", "/a#b", "/é", "/%", "/%2", "/%zz", "/a\\b", "/\n"]
    )
    func rawDefects(_ path: String) {
        let error = #expect(throws: NetworkError.self) {
            try SampleEndpoint("https://a.example", path: "\(raw: path)").makeURL()
        }
        #expect(error?.code == .invalidRequest)
    }

    @Test("URLComponents reads back arbitrary segments", arguments: UInt64(1)...4)
    func roundTrip(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<250 {
            let segments = (0..<Int.random(in: 1...4, using: &generator)).map { _ in generator.segment() }
            let url = try SampleEndpoint("https://a.example/b", path: URLPath(segments: segments)).makeURL()
            let components = try #require(URLComponents(url: url, resolvingAgainstBaseURL: true))
            #expect(components.host == "a.example" && components.query == nil && components.fragment == nil)
            let parts = components.percentEncodedPath.split(separator: "/", omittingEmptySubsequences: false)
            #expect(parts.map { String($0).removingPercentEncoding } == ["", "b"] + segments)
            // Servers have nothing to resolve.
            #expect(url.standardized.absoluteString == url.absoluteString)
        }
    }
}
