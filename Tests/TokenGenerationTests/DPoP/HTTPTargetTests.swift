import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("DPoP targets", .computing)
struct HTTPTargetTests {
    @Test(
        "Equivalent URLs are equal (RFC 3986 §6.2.2–6.2.3)",
        arguments: [
            ("https://example.org/a", "HTTPS://EXAMPLE.ORG/a"), ("https://example.org", "https://example.org/"),
            ("https://example.org:443/", "https://example.org/"), ("http://example.org:80/", "http://example.org"),
            ("https://example.org:/", "https://example.org"), ("https://example.org:0443/", "https://example.org"),
            ("https://example.org/a?x=1", "https://example.org/a"),
            ("https://example.org/a#f", "https://example.org/a"), ("https://example.org?x", "https://example.org/#y"),
            ("https://example.org/%7Euser", "https://example.org/~user"),
            ("https://example.org/%c3%a9", "https://example.org/%C3%A9"),
            ("https://ex%61mple.org/", "https://example.org/"),
            ("https://example.org/a/./b/../c", "https://example.org/a/c"),
            ("https://example.org/../a", "https://example.org/a"),
            ("https://example.org/a/.", "https://example.org/a/"),
            ("https://example.org/a/b/..", "https://example.org/a/"),
            ("https://example.org/a/%2E%2e/b", "https://example.org/b"),
            ("https://[2001:DB8::1]:443/", "https://[2001:db8::1]"), ("https://example.org/..", "https://example.org/"),
        ]
    )
    func same(left: String, right: String) throws {
        #expect(try #require(HTTPTarget(left)) == #require(HTTPTarget(right)))
    }

    @Test(
        "Different URLs are different",
        .shows("F1"),
        arguments: [
            ("https://example.org/a", "https://example.org/A"), ("https://example.org/a", "https://example.org/a/"),
            ("https://example.org/", "http://example.org/"), ("https://example.org/", "https://example.org:8443/"),
            ("https://example.org:80/", "https://example.org/"), ("https://example.org/", "https://example.org.evil/"),
            ("https://example.org/a%2Fb", "https://example.org/a/b"),
            ("https://example.org/a//b", "https://example.org/a/b"),
            ("https://example.org/%3Fx", "https://example.org/"), ("https://a.example.org/", "https://example.org/"),
        ]
    )
    func different(left: String, right: String) throws {
        #expect(try #require(HTTPTarget(left)) != #require(HTTPTarget(right)))
    }

    @Test(
        "Rejects texts that aren't absolute http or https URIs",
        arguments: [
            "", "/a", "example.org", "//example.org/", "ftp://example.org/", "https:/example.org", "https://",
            "https:///a", "https://user@example.org/", "https://user:pw@example.org/", "https://example.org:65536/",
            "https://example.org:x/", "https://example.org:-1/", "https://example.org:99999999999999999999/",
            "https://exam ple.org/", "https://example.org/a b", "https://example.org/%", "https://example.org/%2",
            "https://example.org/%zz", "https://example.org/é", "https://example.org/a\\b", "https://[::1",
            "https://::1/", "https://[]/", "https://[x]/", "https://example.org/\u{0}", "https://example.org/a?\n",
            "https://:443/", "https://%zz/", "https://example.\u{212A}g/", "https://example.org/#%2#5",
        ]
    )
    func none(text: String) {
        #expect(HTTPTarget(text) == nil)
        #expect(HTTPTarget.withoutQuery(text) == nil)
    }

    @Test("Removing the query changes nothing else")
    func withoutQuery() {
        #expect(HTTPTarget.withoutQuery("https://Example.org:443/a?x#y") == "https://Example.org:443/a")
        #expect(HTTPTarget.withoutQuery("https://example.org#y?z") == "https://example.org")
    }

    @Test("Normalization is idempotent, and random bytes never trap", arguments: 0..<8)
    func random(seed: Int) throws {
        var numbers = Fixture.SeededNumbers(state: UInt64(seed))
        let pieces = [
            "/", "..", ".", "%2e", "%41", "%", ":", "[", "]", "@", "?", "#", "a", "Z", "443", "é", "https://", "~",
            "00080", "65536", "b-c.d", "\\", "!$&'()*+,;=", " ",
        ]
        for _ in 0..<500 {
            let text =
                "https://h"
                + (0..<Int.random(in: 0...8, using: &numbers)).map { _ in pieces.randomElement(using: &numbers) ?? "" }
                .joined()
            guard let target = HTTPTarget(text) else {
                #expect(HTTPTarget.withoutQuery(text) == nil, "\(text)")
                continue
            }
            #expect(HTTPTarget(target.text) == target, "\(text)")
            #expect(HTTPTarget.withoutQuery(text) == String(text.prefix { $0 != "?" && $0 != "#" }), "\(text)")
        }
    }
}
