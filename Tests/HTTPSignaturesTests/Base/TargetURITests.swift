import Foundation
import FoundationNetworking
import Networking
import Testing

@testable import HTTPSignatures

@Suite(.serialized)
struct TargetURITests {
    private func value(_ component: ComponentIdentifier, _ url: String) throws -> String {
        let message = HTTPMessage(method: .get, url: url, headers: [:])
        return try SignatureBase(of: message, parameters: SignatureParameters(components: [component])).lines[0].value
    }

    @Test(
        "normalizes the authority",
        arguments: [
            ("https://EXAMPLE.com", "example.com"), ("https://example.com:443/", "example.com"),
            ("http://example.com:80/", "example.com"), ("https://example.com:80/", "example.com:80"),
            ("http://example.com:443", "example.com:443"), ("https://example.com:/", "example.com"),
            ("https://example.com.:8443/", "example.com.:8443"), ("https://[2001:DB8::1]/", "[2001:db8::1]"),
            ("https://[2001:db8::1]:443/", "[2001:db8::1]"), ("https://[::1]:8443/a", "[::1]:8443"),
            ("http://[fe80::1%25eth0]:8080/", "[fe80::1]:8080"),
            ("https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
            ("HTTPS://example.com:0443/", "example.com"),
        ]
    )
    func authority(_ url: String, _ expected: String) throws {
        #expect(try value(.authority, url) == expected)
    }

    @Test(
        "keeps the path and the query unchanged",
        arguments: [
            ("https://a.example", "/", "?", "https://a.example/"),
            ("https://a.example?", "/", "?", "https://a.example/?"),
            (
                "https://a.example/%7Ea/%2f%2F/../b//c", "/%7Ea/%2f%2F/../b//c", "?",
                "https://a.example/%7Ea/%2f%2F/../b//c"
            ),
            ("https://a.example/x?a=b+c&d=%20%2B?", "/x", "?a=b+c&d=%20%2B?", "https://a.example/x?a=b+c&d=%20%2B?"),
            ("HTTP://A.example:80/X?Y", "/X", "?Y", "http://a.example/X?Y"),
        ]
    )
    func target(_ url: String, _ path: String, _ query: String, _ whole: String) throws {
        #expect(try value(.path, url) == path)
        #expect(try value(.query, url) == query)
        #expect(try value(.targetURI, url) == whole)
        #expect(try value(.requestTarget, url) == String(whole.dropFirst(whole.hasPrefix("https") ? 17 : 16)))
    }

    @Test(
        "rejects URLs that aren't absolute, or that a server could read differently",
        arguments: [
            "", "/a", "ftp://a.example/", "https:///a", "https://user@a.example/", "https://a.example:x/",
            "https://a.example:65536/", "https://a.example:-1/", "https://[::1/", "https://::1/", "https://]/",
            "https://bücher.example/", "https://a.example/ä", "https://a.example/a b", "https://a.example/\\b",
            "https://a.example/#b", "https://a.example/\u{7F}", "https://a.example/\n",
        ]
    )
    func malformed(_ url: String) {
        #expect(throws: HTTPSignatureError(.malformedComponent, "")) { _ = try value(.targetURI, url) }
    }

    @Test(
        "takes the origin from the configuration and the path from the target",
        arguments: [
            ("/a?b", "https://api.example/a?b"), ("http://internal:8080/a?b", "https://api.example/a?b"),
            ("http://internal", "https://api.example/"), ("*", "https://api.example/"),
            ("//x/y", "https://api.example//x/y"),
            ("api.example:443", "https://api.example/"), ("?b", "https://api.example/"),
        ]
    )
    func origin(_ target: String, _ expected: String) throws {
        let message = HTTPMessage(
            method: .get,
            target: target,
            at: "https://api.example",
            headers: [
                "Host": "internal:8080", "Forwarded": "host=evil.example;proto=http",
                "X-Forwarded-Host": "evil.example",
            ]
        )
        let base = try SignatureBase(
            of: message,
            parameters: SignatureParameters(components: [.targetURI, .authority, .scheme, .requestTarget])
        )
        #expect(base.lines.map(\.value) == [expected, "api.example", "https", target])
    }

    @Test("a fragment in a received target isn't ignored", arguments: ["/a#b", "http://x/a#b"])
    func fragments(_ target: String) {
        let message = HTTPMessage(method: .get, target: target, at: "https://api.example", headers: [:])
        #expect(throws: HTTPSignatureError(.malformedComponent, "")) {
            _ = try SignatureBase(of: message, parameters: SignatureParameters(components: [.path]))
        }
    }

    @Test(
        "encodes query parameters as the URL Standard does",
        arguments: [
            ("a", "a=1", "1"), ("a", "b&a&c", ""), ("a", "a=", ""), ("a", "&&a=x=y&", "x%3Dy"),
            ("a b", "a+b=c+d", "c%20d"),
            ("a", "a=%7E~*-._", "%7E%7E*-._"), ("a", "a=%zz%", "%25zz%25"), ("", "=v", "v"),
            ("ä", "%c3%a4=%C3%9F", "%C3%9F"),
            ("a", "A=2&a=1", "1"), ("a", "%61=1", "1"),
        ]
    )
    func queryParameters(_ name: String, _ query: String, _ expected: String) throws {
        #expect(try value(.queryParameter(name), "https://a.example/?\(query)") == expected)
    }

    @Test("a name in another encoding of the identifier isn't found")
    func otherEncoding() {
        let identifier = ComponentIdentifier("@query-param", parameters: .init([("name", .string("%c3%a4"))]))
        #expect(throws: HTTPSignatureError(.missingComponent, "")) {
            _ = try value(identifier, "https://a.example/?%c3%a4=1")
        }
    }

    @Test("a URLRequest's URL is used without its fragment")
    func urlRequest() throws {
        var request = URLRequest(url: try #require(URL(string: "https://a.example/x?y#z")))
        request.httpMethod = "purge"
        let message = try #require(HTTPMessage(request))
        let base = try SignatureBase(of: message, parameters: SignatureParameters(components: [.targetURI, .method]))
        #expect(base.lines.map(\.value) == ["https://a.example/x?y", "purge"])
    }

    @Test("descriptions don't show field values or queries")
    func descriptions() {
        let message = HTTPMessage(method: .get, url: "https://a.example/x?secret", headers: ["Authorization": "secret"])
        let response = HTTPMessage(status: 200, headers: ["Set-Cookie": "secret"], request: message)
        for text in [message.description, String(reflecting: message), response.description, "\(response)"] {
            #expect(!text.contains("secret"))
        }
        #expect(message.description == "GET https://a.example/x with Authorization")
    }
}
