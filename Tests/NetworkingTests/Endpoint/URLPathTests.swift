import Foundation
import Networking
import TestSupport
import Testing

@Suite("URLPath", .computing)
struct URLPathTests {
    private func url(_ path: URLPath, below base: String = "https://a.example/api") -> String? {
        SampleEndpoint(base, path: path).url
    }

    @Test(
        "Joins base and path with exactly one slash and keeps other slashes",
        .shows("1.7", "4.2"),
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

    @Test("An interpolated value stays one segment", .shows("H2", "4.2", "RFC 3986 §5, §2"))
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
        #expect(url("/a/\u{301}b") == "https://a.example/api/a/%CC%81b")
    }

    @Test("Keeps a raw path unchanged")
    func raw() {
        #expect(url("\(raw: "/a%2Fb/c%20d;e/")") == "https://a.example/api/a%2Fb/c%20d;e/")
        #expect(url("/x/\(raw: "a%2Fb/c")/d") == "https://a.example/api/x/a%2Fb/c/d")
    }

    @Test(
        "Rejects a path that would address another resource",
        .shows("H2"),
        arguments: [
            URLPath("/a/../b"), "/a/../\u{301}b", "..", "/./a", "/a/.", "/\(".")\(".")/a", "/.\(".")", "/a/\("..")/b",
            "/a/\(".")",
            "/a/\("../../admin")", "/a/\("x/..")", "/a/\("..\\x")", "/a/\("x\\..\\y")", URLPath(segments: ["a", ".."]),
            "\(raw: "/a/../b")", "\(raw: "/a/%2e%2E/b")", "\(raw: "/a/.%2e")", "/a/\(raw: "..")",
        ]
    )
    func climbing(_ path: URLPath) {
        expectThrown(.invalidRequest, mentioning: "another resource") {
            try SampleEndpoint("https://a.example", path: path).makeURL()
        }
    }

    @Test("Rejects an empty value as a whole segment", arguments: ["/users/\("")" as URLPath, "\("")/x"])
    func emptyValue(_ path: URLPath) {
        expectThrown(.invalidRequest, mentioning: "empty") {
            try SampleEndpoint("https://a.example", path: path).makeURL()
        }
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
        expectThrown(.invalidRequest) { try SampleEndpoint("https://a.example", path: "\(raw: path)").makeURL() }
    }

    @Test("URLComponents reads back arbitrary segments", arguments: UInt64(1)...4)
    func roundTrip(_ seed: UInt64) throws {
        var generator = SplitMix(state: seed)
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

@Suite("URLQuery", .computing)
struct URLQueryTests {
    private func query(_ query: URLQuery, base: String = "https://a.example") -> String? {
        SampleEndpoint(base, query: query).url.map { String($0.dropFirst(base.count)) }
    }

    @Test("Repeats the name of an array, or separates elements with commas, or adds brackets", .shows("4.4"))
    func arrays() {
        #expect(query(["filter": 1]) == "?filter=1")
        #expect(query(["filter": [1, 2, 3]]) == "?filter=1&filter=2&filter=3")
        #expect(query(["filter": URLQuery.commaSeparated([1, 2, 3])]) == "?filter=1,2,3")
        #expect(query(["filter": URLQuery.commaSeparated(["a,b", "c&d"])]) == "?filter=a%2Cb,c%26d")
        #expect(query(["filter": URLQuery.bracketed([1, 2])]) == "?filter%5B%5D=1&filter%5B%5D=2")
        #expect(
            query(["a": [1, 2], "b": "x", "c": URLQuery.commaSeparated(["1", "2"]), "d": true])
                == "?a=1&a=2&b=x&c=1,2&d=true"
        )
    }

    @Test(
        "Encodes names and values strictly, including the plus sign that STRV doesn't escape",
        .shows("H2", "1.7", "4.3")
    )
    func encoding() {
        #expect(query(["name[first]": "name]surname"]) == "?name%5Bfirst%5D=name%5Dsurname")
        #expect(query(["q": "a+b&c=d#e f/ü?"]) == "?q=a%2Bb%26c%3Dd%23e%20f%2F%C3%BC%3F")
        #expect(query(["a&b": "x"]) == "?a%26b=x")
        let time = "2023-11-29T12:13:04.598%2B+%0100"
        #expect(query(["t": URLQuery.percentEncoded(time), "p": "+"]) == "?t=\(time)&p=%2B")
    }

    @Test("Omits nil and empty arrays, but not empty text", .shows("4.3"))
    func omitted() {
        let (absent, present): (String?, String?) = (nil, "x")
        #expect(query(["a": absent, "b": present, "c": nil, "d": ""]) == "?b=x&d=")
        #expect(query(["a": [Int](), "b": [1, nil, 2]]) == "?b=1&b=2")
        #expect(query(["a": URLQuery.commaSeparated([Int]()), "b": URLQuery.bracketed([String]())]) == "")
        #expect(query(["a": absent], base: "https://a.example/x") == "")
    }

    @Test("Accepts values of every kind")
    func kinds() {
        enum Order: String, URLQueryValue { case ascending }
        var query: URLQuery = ["o": Order.ascending, "d": 1.5, "u": UInt8(7), "s": "abc".dropFirst(), "b": false]
        query.append("i", Optional.some(URLQuery.commaSeparated(["x"])))
        query.appendName("flag")
        #expect(self.query(query) == "?o=ascending&d=1.5&u=7&s=bc&b=false&i=x&flag")
        let id = UUID()
        #expect(self.query(["id": id]) == "?id=\(id.uuidString)")
    }

    @Test("Keeps the base URL's query unchanged in front", .shows("0.15", "4.3"))
    func merging() {
        let endpoint = SampleEndpoint("https://a.example?item1=one&item2=two", query: ["item3": "three", "item4": 4])
        #expect(endpoint.url == "https://a.example?item1=one&item2=two&item3=three&item4=4")
        #expect(
            SampleEndpoint("https://a.example/x?a=%2B+", path: "y", query: ["a": "+"]).url
                == "https://a.example/x/y?a=%2B+&a=%2B"
        )
        #expect(SampleEndpoint("https://a.example/x?", query: ["a": 1]).url == "https://a.example/x?a=1")
        #expect(SampleEndpoint("https://a.example/x?a=b").url == "https://a.example/x?a=b")
    }

    @Test(
        "Rejects a value passed as percent-encoded that isn't",
        .shows("4.5"),
        arguments: ["a b", "a#b", "%", "%4", "%zz", "é", "a\nb", "\"", "[1]"]
    )
    func rawDefects(_ value: String) {
        expectThrown(.invalidRequest) {
            try SampleEndpoint("https://a.example", query: ["a": URLQuery.percentEncoded(value)]).makeURL()
        }
    }

    @Test("Compares names and values in order")
    func equality() {
        let query: URLQuery = ["a": 1, "b": "2"]
        #expect(query == ["a": "1", "b": 2])
        #expect(query != ["b": 2, "a": 1])
        #expect(Set([query, ["a": 1, "b": 2]]).count == 1)
        #expect(URLQuery().isEmpty && !query.isEmpty)
    }

    @Test("URLComponents and forms read back arbitrary names and values", arguments: UInt64(11)...14)
    func roundTrip(_ seed: UInt64) throws {
        var generator = SplitMix(state: seed)
        for _ in 0..<250 {
            var query = URLQuery()
            var expected: [URLQueryItem] = []
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let item = URLQueryItem(name: generator.text(), value: generator.text())
                query.append(item.name, item.value)
                expected.append(item)
            }
            let url = try SampleEndpoint("https://a.example/b?own=1", query: query).makeURL()
            let components = try #require(URLComponents(url: url, resolvingAgainstBaseURL: true))
            #expect(components.path == "/b" && components.fragment == nil)
            #expect(components.queryItems == [URLQueryItem(name: "own", value: "1")] + expected)
            let text = try #require(components.percentEncodedQuery)
            #expect(text.utf8.allSatisfy { $0 != UInt8(ascii: "+") })
        }
    }
}

struct SampleEndpoint: HTTPEndpoint {
    var baseURL: URL
    var path: URLPath = ""
    var method: HTTPMethod = .get
    var query: URLQuery = [:]
    var headers: HTTPHeaders = [:]
    var acceptedStatuses: AcceptedStatuses = .successful
    var requiresAuthentication = true
    var timeout: Duration?
    var making: @Sendable () throws -> EndpointBody = { .none }

    init(_ base: String, path: URLPath = "", query: URLQuery = [:]) {
        // Every text in the tests is a URL; an invalid one makes the test fail.
        baseURL = URL(string: base) ?? URL(filePath: "/no-url")
        self.path = path
        self.query = query
    }

    var body: EndpointBody { get throws { try making() } }
    var url: String? { try? makeURL().absoluteString }
}

extension SplitMix {
    /// Returns random text of limited length: ASCII, the special characters of URLs, and Unicode of
    /// all planes.
    mutating func text(upTo count: Int = 12) -> String {
        var scalars = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...count, using: &self) {
            let value: UInt32 =
                switch Int.random(in: 0..<4, using: &self) {
                case 0: UInt32.random(in: 0x00...0x7F, using: &self)
                case 1: "%+&=#?/;:@.\\ \"<>[]{}|^`'".unicodeScalars.randomElement(using: &self)?.value ?? 0x25
                case 2: UInt32.random(in: 0x80...0xFFFF, using: &self)
                default: UInt32.random(in: 0x1_0000...0x10_FFFF, using: &self)
                }
            scalars.append(Unicode.Scalar(value) ?? "\u{FFFD}")
        }
        return String(scalars)
    }

    mutating func segment() -> String {
        while true {
            let text = text()
            let parts = text.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }
            if !text.isEmpty, !parts.contains("."), !parts.contains("..") { return text }
        }
    }
}
