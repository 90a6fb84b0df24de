import Foundation
import Testing

@testable import Networking

@Suite("RedirectTarget")
struct RedirectTargetTests {
    private let source = URL(string: "https://a.example:8443/x/y?secret=1#part")!

    private func target(_ locations: String...) throws -> String? {
        var headers = HTTPHeaders()
        for location in locations { headers.append(name: "location", value: location) }
        return try RedirectTarget.url(in: headers, from: source)?.absoluteString
    }

    @Test(
        "Resolves a Location against the source URL, whose fragment it inherits",
        arguments: [
            ("/z", "https://a.example:8443/z#part"), ("z", "https://a.example:8443/x/z#part"),
            ("../z?q=1", "https://a.example:8443/z?q=1#part"), ("?q", "https://a.example:8443/x/y?q#part"),
            ("#own", "https://a.example:8443/x/y?secret=1#own"), ("//b.example/z", "https://b.example/z#part"),
            ("https://b.example/z#own", "https://b.example/z#own"), ("HTTP://B.example", "http://B.example#part"),
            ("https://[::1]:1/z", "https://[::1]:1/z#part"), ("/z#", "https://a.example:8443/z#"),
        ]
    )
    func resolved(_ location: String, _ expected: String) throws {
        #expect(try target(location) == expected)
    }

    @Test(
        "Encodes what servers forgot to encode, and keeps existing escapes",
        arguments: [
            ("/a b", "/a%20b"), ("/ü", "/%C3%BC"), ("/a%20b", "/a%20b"), ("/100%", "/100%25"), ("/%zz", "/%25zz"),
            ("/a\"<>^`{|}", "/a%22%3C%3E%5E%60%7B%7C%7D"), ("/a?b[]=1", "/a?b%5B%5D=1"), ("/a?b=ü", "/a?b=%C3%BC"),
        ]
    )
    func encoded(_ location: String, _ expected: String) throws {
        #expect(try target(location) == "https://a.example:8443\(expected)#part")
    }

    @Test("Returns nil for a missing or empty Location, and accepts an identical repetition")
    func none() throws {
        #expect(try target() == nil)
        #expect(try target("") == nil)
        #expect(try target("/z", "/z") == "https://a.example:8443/z#part")
    }

    @Test(
        "Rejects a forbidden Location",
        arguments: [
            ["ftp://b.example/"], ["file:///etc/passwd"], ["javascript:alert(1)"], ["data:,x"], ["app:callback"],
            ["https:z"], ["https://u:p@b.example/"], ["https://u@b.example/"], ["https://@b.example/"],
            ["//u@b.example"],
            ["https:///z"], ["https://"], ["//"], ["https://b.example:99999/"], ["https://b.example:0/"],
            ["https://b.example:x/"], ["https://bü.example/"], ["https://b .example/"], ["/z\\x"],
            ["https:\\\\b.example"], ["/z\u{7F}"], ["/z\tx"], ["https://b%2Fexample/"], ["/z", "/other"], ["/z", ""],
        ]
    )
    func refused(_ locations: [String]) throws {
        var headers = HTTPHeaders()
        for location in locations { headers.append(name: "Location", value: location) }
        let error = #expect(throws: NetworkError.self) { try RedirectTarget.url(in: headers, from: source) }
        #expect(error?.code == .redirectRefused)
        #expect(error?.message.contains("a.example:8443") == true)
        #expect(error?.message.contains("secret") == false)
    }

    // RFC 3986 §5.2.2: a reference with a scheme takes nothing from the base, so these have no
    // host.
    @Test(
        "Rejects a Location that has a scheme but no host",
        arguments: ["http:b/x", "https:/z", "https:///z", "HTTPS:?q"]
    )
    func withoutHost(_ location: String) {
        let error = #expect(throws: NetworkError.self) { try target(location) }
        #expect(error?.code == .redirectRefused)
        #expect(error?.message.contains("a scheme but no host") == true)
    }
}
