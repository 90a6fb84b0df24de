import Foundation
import FoundationNetworking
import Testing

@testable import Networking

@Suite("Values of the cache", .serialized)
struct CacheValueTests {
    private static let now = Date(timeIntervalSince1970: 1_000_000_000)

    private func freshness(_ headers: HTTPHeaders, status: Int = 200, after seconds: TimeInterval = 0) -> CacheFreshness
    {
        let url = URL(string: "http://a.example/")!
        let stored = CachedResponse(
            response: HTTPResponse(url: url, status: status, headers: headers),
            requestTime: Self.now - 2,
            responseTime: Self.now
        )
        return CacheFreshness(stored, at: Self.now + seconds)
    }

    private static func date(_ offset: TimeInterval) -> String { HTTPDate.format(now + offset) }

    @Test("Calculates the lifetime from max-age, Expires or Last-Modified, in this order")
    func lifetimes() {
        let modified = Self.date(-1_000)
        let cases: [(HTTPHeaders, Int, TimeInterval)] = [
            (["Cache-Control": "max-age=5", "Expires": Self.date(60)], 200, 5),
            (["Cache-Control": "max-age=5, max-age=5"], 200, 5), (["Cache-Control": "max-age=5, max-age=6"], 200, 0),
            (["Cache-Control": "max-age=x", "Expires": Self.date(60)], 200, 0), (["Cache-Control": "max-age"], 200, 0),
            (["Cache-Control": "max-age=99999999999999999999"], 200, 2_147_483_648),
            (["Cache-Control": "s-maxage=60"], 200, 0), (["Expires": Self.date(60)], 200, 60),
            (["Expires": Self.date(60), "Date": Self.date(10)], 200, 50), (["Expires": Self.date(-1)], 200, 0),
            (["Expires": "0"], 200, 0), (["Expires": Self.date(60), "expires": Self.date(61)], 200, 0),
            (["Last-Modified": modified], 200, 100), (["Last-Modified": modified], 404, 100),
            (["Last-Modified": modified], 500, 0), (["Last-Modified": modified, "Cache-Control": "public"], 500, 100),
            (["Last-Modified": Self.date(60)], 200, 0), (["Last-Modified": Self.date(-9_999_999)], 200, 86_400),
            (["Last-Modified": modified, "Expires": "x"], 200, 0), ([:], 200, 0),
        ]
        for (headers, status, lifetime) in cases {
            #expect(freshness(headers, status: status).lifetime == lifetime, "\(headers)")
        }
    }

    @Test("Calculates the age from Age, Date, the duration of the request and the time since")
    func ages() {
        #expect(freshness([:]).age == 2)
        #expect(freshness(["Age": "10"], after: 5).age == 17)
        #expect(freshness(["Date": Self.date(-100)], after: 5).age == 105)
        #expect(freshness(["Date": Self.date(-5), "Age": "10"]).age == 12)
        #expect(freshness(["Date": "x"]).age == 2)
        #expect(freshness([:], after: -1).age == .infinity)
        #expect(freshness([:], after: -1).ageField == "2147483648")
    }

    @Test("Reads directives in any case and form, and rejects what isn't a directive")
    func directives() {
        let directives = CacheDirectives(["No-Store , MAX-AGE=\"5\",,a=\"b,c=\\\"d\"", "private=\"x\", private"])
        #expect(!directives.isMalformed)
        #expect(directives.contains("no-store") && directives.contains("a") && !directives.contains("c"))
        #expect(directives.seconds("max-age") == .value(5))
        #expect(directives.containsUnqualified("private") && !directives.containsUnqualified("a"))
        #expect(directives.seconds("no-store") == .invalid && directives.seconds("min-fresh") == .absent)
        #expect(CacheDirectives(["max-age =5"]).seconds("max-age") == .invalid)
        #expect(CacheDirectives(["max-age= 5"]).seconds("max-age") == .invalid)
        for text in ["a b", "\"", "=", "a=\"\\\"", "é"] { #expect(CacheDirectives([text]).isMalformed, "\(text)") }
        #expect(!CacheDirectives([""]).isMalformed && !CacheDirectives([]).isMalformed)
    }

    @Test("Reads any fields without trapping")
    func random() {
        let parts = [
            "max-age", "no-store", "=", ",", "\"", "\\", " ", "\t", "60", "-1", "99999999999999999999999", "é",
            "\u{301}",
            "GMT", "Sun, 06 Nov 1994 08:49:37 GMT", "06", "Nov", "9999", ":", "-", "\u{0}", "*", "private", "W/",
        ]
        var state: UInt64 = 1
        func next(_ count: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % count
        }
        for _ in 0..<5_000 {
            var headers: HTTPHeaders = [:]
            for name in ["Cache-Control", "Age", "Date", "Expires", "Last-Modified", "Vary"] where next(3) > 0 {
                headers.append(name: name, value: (0..<next(8)).map { _ in parts[next(parts.count)] }.joined())
            }
            let freshness = freshness(headers, after: TimeInterval(next(1_000)))
            #expect(freshness.lifetime >= 0 && freshness.age >= 0 && freshness.staleness >= 0, "\(headers)")
            #expect((CacheVariant.fields(headers) ?? []).count <= 16)
        }
    }

    @Test("Names a URL in one spelling")
    func keys() throws {
        let cases = [
            ("HTTP://A.Example", "http://a.example:80/"),
            ("https://a.example:443/a%20b?c#d", "https://a.example:443/a%20b?c"),
            ("http://a.example?x", "http://a.example:80/?x"), ("http://[::1]:81/", "http://[::1]:81/"),
            ("http://u:p@a.example/", nil), ("ftp://a.example/", nil), ("file:///a", nil),
        ]
        for (text, key) in cases { #expect(CacheKey.url(try #require(URL(string: text))) == key, "\(text)") }
    }

    @Test("Compares the values of varying fields without meaningless differences")
    func variants() {
        func variant(_ name: String, _ value: String?) -> String? {
            var request = URLRequest(url: URL(string: "http://a.example/")!)
            request.setValue(value, forHTTPHeaderField: name)
            return CacheVariant.of(request, fields: [name.lowercased()])
        }
        #expect(variant("Foo", "a, b") == variant("Foo", "a,b") && variant("Foo", "a,b") != variant("Foo", "b,a"))
        #expect(variant("Foo", "a") != variant("Foo", "A") && variant("Foo", nil) != variant("Foo", ""))
        #expect(variant("Foo", "\"a, b\"") != variant("Foo", "\"a,b\""))
        #expect(variant("Accept-Language", "en, de") == variant("Accept-Language", "DE,EN"))
        #expect(variant("Accept", "a/b, c/d") != variant("Accept", "c/d, a/b"))
    }
}
