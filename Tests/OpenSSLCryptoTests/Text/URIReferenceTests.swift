import OpenSSLCrypto
import TestSupport
import Testing

@Suite("URIReference", .computing)
struct URIReferenceTests {
    @Test(
        "Resolves the examples of RFC 3986 §5.4",
        .shows("RFC 3986 §5, §2"),
        arguments: [
            ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"), ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q#s"), ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"),
            (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y#s"),
            ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
            ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"),
            ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"),
            ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"),
            ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"),
            ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"),
            ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"),
            ("g#s/./x", "http://a/b/c/g#s/./x"), ("g#s/../x", "http://a/b/c/g#s/../x"), ("http:g", "http:g"),
        ]
    )
    func examples(_ reference: String, _ expected: String) {
        let base = URIReference("http://a/b/c/d;p?q")
        #expect(URIReference(reference).resolved(against: base).text == expected)
    }

    @Test(
        "Resolves against a base without a path",
        arguments: [("g", "http://a/g"), ("../g", "http://a/g"), ("", "http://a"), ("?q", "http://a?q")]
    )
    func emptyBase(_ reference: String, _ expected: String) {
        #expect(URIReference(reference).resolved(against: URIReference("http://a")).text == expected)
    }

    @Test(
        "Parsing and recomposing changes nothing",
        arguments: [
            "http://u:p@h:1/p;x?q=a?b#f#g", "//h", "?", "#", "a/b:c", "mailto:x@y", "1a:b", "/a:b", "http://[::1]:8/",
            "a//b///c", "http://h?q", "http://h#f", "é:/ü",
        ]
    )
    func roundTrip(_ text: String) {
        #expect(URIReference(text).text == text)
    }

    @Test(
        "A colon after a slash or an invalid scheme belongs to the path",
        arguments: [("/a:b", nil, "/a:b"), ("1a:b", nil, "1a:b"), ("a+1.-:b", "a+1.-", "b")]
            as [(String, String?, String)]
    )
    func colons(_ text: String, _ scheme: String?, _ path: String) {
        #expect(URIReference(text).scheme == scheme && URIReference(text).path == path)
    }

    @Test("Parses URIs at every delimiter", .shows("K5"))
    func references() {
        let reference = URIReference("http://h/\u{301}p/\u{301}/..?\u{301}q#\u{301}f")
        #expect(reference.scheme == "http")
        #expect(reference.authority == "h")
        #expect(Array(reference.path.unicodeScalars) == Array("/\u{301}p/\u{301}/..".unicodeScalars))
        #expect(reference.query.map { Array($0.unicodeScalars) } == ["\u{301}", "q"])
        #expect(reference.fragment.map { Array($0.unicodeScalars) } == ["\u{301}", "f"])
        let base = URIReference("http://a/b/\u{301}c")
        #expect(URIReference("g").resolved(against: base).text == "http://a/b/g")
        #expect(Array(reference.resolved(against: base).path.utf8) == Array("/\u{301}p/".utf8))
        #expect(URIReference("/\u{301}/../g").resolved(against: base).text == "http://a/g")
    }
}
