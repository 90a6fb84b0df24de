import TestSupport
import Testing
import TokenGeneration

/// The grammar of https://github.com/spiffe/spiffe/blob/main/standards/SPIFFE-ID.md.
@Suite("SPIFFEID", .computing)
struct SPIFFEIDTests {
    @Test(
        "Parses valid IDs",
        .shows("SPIFFE ID §2"),
        arguments: [
            ("spiffe://example.org", "example.org", ""), ("spiffe://example.org/a", "example.org", "/a"),
            ("spiffe://staging.example.com/payments/web-fe", "staging.example.com", "/payments/web-fe"),
            ("spiffe://k8s-west.example.com/ns/staging/sa/default", "k8s-west.example.com", "/ns/staging/sa/default"),
            ("spiffe://a_b-c.d/A.b_C-9/...", "a_b-c.d", "/A.b_C-9/..."), ("spiffe://1.2.3.4/x", "1.2.3.4", "/x"),
            ("spiffe://a/.b", "a", "/.b"), ("spiffe://.", ".", ""),
        ]
    )
    func valid(text: String, trustDomain: String, path: String) throws {
        let id = try SPIFFEID(text)
        #expect(id.trustDomain == trustDomain)
        #expect(id.path == path)
        #expect(id.description == text)
        #expect(try SPIFFEID(text) == id)
    }

    @Test(
        "Rejects every other text",
        .shows("I14", "SPIFFE ID §2"),
        arguments: [
            "", "spiffe", "spiffe:", "spiffe:/", "spiffe://", "spiffe:///", "spiffe:///path", "spiffe:example.org",
            "SPIFFE://example.org", "Spiffe://example.org", "https://example.org/a", "//example.org/a",
            "spiffe://Example.org", "spiffe://example.org:443", "spiffe://example.org:", "spiffe://user@example.org",
            "spiffe://@example.org", "spiffe://user:pass@example.org/a", "spiffe://[::1]/a", "spiffe://ex%61mple.org",
            "spiffe://exämple.org", "spiffe://example.org\u{0}", "spiffe://exa mple.org", " spiffe://example.org",
            "spiffe://example.org ", "spiffe://example.org\n", "spiffe://example!org", "spiffe://example.org?a=b",
            "spiffe://example.org#a", "spiffe://example.org/", "spiffe://example.org//", "spiffe://example.org//a",
            "spiffe://example.org/a/", "spiffe://example.org/a//b", "spiffe://example.org/.", "spiffe://example.org/..",
            "spiffe://example.org/a/../b", "spiffe://example.org/a/./b", "spiffe://example.org/a%20b",
            "spiffe://example.org/%61", "spiffe://example.org/a?b", "spiffe://example.org/a#b",
            "spiffe://example.org/a:b", "spiffe://example.org/a@b", "spiffe://example.org/a+b",
            "spiffe://example.org/ä",
            "spiffe://example.org/\u{212A}", "spiffe://example.org/a\\b", "spiffe://example.org\\a",
            "spiffe://example.org/a;b", "spiffe://example.org/~a", "spiffe://example.org/a\u{0}",
        ]
    )
    func invalid(text: String) {
        #expect(code { try SPIFFEID(text) } == .malformedClaim)
    }

    @Test("§2.3: the ID has at most 2048 bytes, and the trust domain 255", .shows("SPIFFE ID §2"))
    func sizes() throws {
        let domain = String(repeating: "a", count: 255)
        #expect(try SPIFFEID("spiffe://\(domain)").trustDomain == domain)
        #expect(code { try SPIFFEID("spiffe://\(domain)a") } == .malformedClaim)
        let longest = "spiffe://a/" + String(repeating: "b", count: 2_048 - 11)
        #expect(try SPIFFEID(longest).path.utf8.count == 2_038)
        #expect(code { try SPIFFEID(longest + "b") } == .malformedClaim)
    }

    @Test("Paths are case-sensitive")
    func equality() throws {
        #expect(try SPIFFEID("spiffe://a/B") != SPIFFEID("spiffe://a/b"))
        #expect(try Set([SPIFFEID("spiffe://a/b"), SPIFFEID("spiffe://a/b")]).count == 1)
    }
}
