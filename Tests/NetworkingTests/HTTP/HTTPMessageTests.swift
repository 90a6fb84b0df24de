import Foundation
import FoundationNetworking
import MockNetworking
import TestSupport
import TestVectors
import Testing

@testable import Networking

@Suite("HTTP messages", .computing)
struct HTTPMessageTests {
    @Test("Only 200…299 is successful", .shows("3.24"))
    func isSuccessful() throws {
        let url = try #require(URL(string: "http://a.example/"))
        for status in 0...500 {
            #expect(HTTPURLResponse(statusCode: status).isSuccessful == (200...299).contains(status))
            #expect(HTTPResponse(url: url, status: status).isSuccessful == (200...299).contains(status))
        }
    }

    @Test("Header fields keep order and repetition and ignore case", .shows("2.14"))
    func headers() {
        var headers: HTTPHeaders = ["B": "1", "a": "2", "b": "3"]
        #expect(headers["b"] == "1")
        #expect(headers.values(for: "B") == ["1", "3"])
        headers["b"] = "4"
        #expect(headers.map(\.name) == ["b", "a"])
        headers["A"] = nil
        #expect(headers.map(\.value) == ["4"])
        headers.append(name: "b", value: "5")
        #expect(headers.values(for: "b") == ["4", "5"])
        #expect(headers["@"] == nil && headers["`"] == nil)
    }

    @Test("Converts a response to Foundation's type with repeated fields joined, in any case")
    func urlResponse() throws {
        let url = try #require(URL(string: "http://a.example/x"))
        let response = HTTPResponse(
            url: url,
            status: 201,
            version: "HTTP/2",
            headers: ["X-A": "1", "X-B": "0", "X-A": "2", "x-a": "3"]
        )
        #expect(response.urlResponse.statusCode == 201)
        #expect(response.urlResponse.value(forHTTPHeaderField: "x-a") == "1, 2, 3")
        #expect(response.urlResponse.url == url)
    }

    @Test(
        "Converts a response with unusual contents to Foundation's type",
        arguments: [
            ("", HTTPHeaders()), ("HTTP/9", HTTPHeaders([.init(name: "", value: "")])),
            ("x", HTTPHeaders([.init(name: "Content-Length", value: "-1")])),
        ]
    )
    func oddResponse(_ version: String, _ headers: HTTPHeaders) throws {
        let url = try #require(URL(string: "http://a.example/x"))
        for status in [0, 200, 599, 999] {
            let response = HTTPResponse(url: url, status: status, version: version, headers: headers)
            #expect(response.urlResponse.statusCode == status)
        }
    }

    @Test(
        "Rejects a method that isn't a token",
        .shows("2.14", "4.7"),
        arguments: ["", " ", "GE T", "GET\r\n", "é", "a:b"]
    )
    func badMethod(_ name: String) {
        #expect(HTTPMethod(name) == nil)
    }

    @Test("Knows which methods are idempotent", .shows("RFC 9110 §9.2"))
    func idempotency() {
        #expect(HTTPMethod("GET") == .get && HTTPMethod("get") != .get)
        for method in [.get, .head, .put, .delete, .options, .trace] as [HTTPMethod] { #expect(method.isIdempotent) }
        for method in [.post, .patch, .connect] as [HTTPMethod] { #expect(!method.isIdempotent) }
    }

    @Test(
        "Rejects a request that would change on the wire",
        .shows("H1"),
        arguments: [
            ("ftp://a.example/", "X", "1"), ("/relative", "X", "1"), ("http:///path", "X", "1"),
            ("http://a.example/", "X\r\nY", "1"), ("http://a.example/", "", "1"),
            ("http://a.example/", "X", "1\r\nY: 2"), ("http://a.example/", "X", "1\u{0}"),
        ]
    )
    func validation(_ url: String, _ name: String, _ value: String) throws {
        let headers = HTTPHeaders([.init(name: name, value: value)])
        let request = HTTPRequest(url: try #require(URL(string: url)), headers: headers)
        #expect(throws: NetworkError(.invalidRequest, "")) { try request.validate() }
    }
}

@Suite("HTTPDate", .computing)
struct HTTPDateTests {
    private let now = Date(timeIntervalSince1970: 1_700_000_000)

    @Test(
        "Parses the three formats of RFC 9110, a two-digit day in the asctime format, and a leap second",
        .shows("RFC 9110 §5.6.7"),
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Wed Nov 16 08:49:37 1994", 784_975_777),
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800), ("Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_800),
        ]
    )
    func formats(_ text: String, _ seconds: TimeInterval) {
        #expect(HTTPDate.parse(text, now: now) == Date(timeIntervalSince1970: seconds))
    }

    @Test(
        "A two-digit year is at most 50 years in the future",
        arguments: ["23": 2023, "73": 2073, "74": 1974, "99": 1999, "00": 2000]
    )
    func shortYears(_ digits: String, _ year: Int) throws {
        let date = try #require(HTTPDate.parse("Sunday, 06-Nov-\(digits) 12:00:00 GMT", now: now))
        #expect(Calendar(identifier: .gregorian).component(.year, from: date) == year)
    }

    @Test(
        "Rejects everything else",
        arguments: [
            "", "0", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 6 Nov 1994 08:49:37 GMT",
            "sun, 06 Nov 1994 08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
            "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 31 Apr 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
            "Wed, 29 Feb 2023 00:00:00 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
            "Sun, 06-Nov-94 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "Sun Nov  16 08:49:37 1994",
            "1994-11-06T08:49:37Z",
            "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
            "Sun, ٠٦ Nov 1994 08:49:37 GMT",
        ]
    )
    func refusing(_ text: String) {
        #expect(HTTPDate.parse(text, now: now) == nil)
    }

    @Test("Parses what it formats for random dates", .shows("RFC 9110 §5.6.7"), arguments: UInt64(1)...4)
    func roundTrip(_ seed: UInt64) {
        var generator = SplitMix(state: seed)
        for _ in 0..<500 {
            // The years 1 to 9999, which have at most four digits.
            let seconds = Int.random(in: -62_135_596_800...253_402_300_799, using: &generator)
            let date = Date(timeIntervalSince1970: TimeInterval(seconds))
            #expect(HTTPDate.parse(HTTPDate.format(date), now: now) == date)
        }
    }

    @Test("Formats like Foundation's formatter")
    func foundation() {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        var generator = SplitMix(state: 9)
        for _ in 0..<200 {
            let date = Date(
                timeIntervalSince1970: TimeInterval(Int.random(in: -2_000_000_000...4_000_000_000, using: &generator))
            )
            #expect(HTTPDate.format(date) == formatter.string(from: date))
        }
    }
}

@Suite("FormURLEncoded", .computing)
struct FormURLEncodedTests {
    @Test("Matches the example of RFC 6749 Appendix B", .shows("G5", "RFC 6749 B"))
    func appendixB() throws {
        let vector = try #require(try Vector.object("rfc6749-form-encoding")["appendix_b"] as? [String: Any])
        let (plain, encoded) = (vector["value_utf8"] as? String, vector["form_encoded"] as? String)
        #expect(try FormURLEncoded.encode(#require(plain)) == encoded)
        #expect(try FormURLEncoded.decodeComponent(#require(encoded)) == plain)
    }

    @Test("Decodes the parameters of RFC 6749 token requests")
    func tokenRequests() throws {
        let requests = try #require(try Vector.object("rfc6749-form-encoding")["token_requests"] as? [[String: Any]])
        #expect(!requests.isEmpty)
        for request in requests {
            let body = try #require(request["body"] as? String)
            let pairs = try #require(FormURLEncoded.decode(body))
            let parameters = Dictionary(pairs.map { ($0.name, $0.value) }) { $1 }
            #expect(parameters == request["params"] as? [String: String], "\(body)")
            #expect(FormURLEncoded.decode(FormURLEncoded.encode(pairs))?.map(\.value) == pairs.map(\.value))
        }
    }

    @Test("Keeps the order of pairs and escapes delimiters")
    func pairs() {
        let encoded = FormURLEncoded.encode([("b", "1&2=3"), ("a", "x+y/z ~é"), ("", "")])
        #expect(encoded == "b=1%262%3D3&a=x%2By%2Fz+%7E%C3%A9&=")
    }

    @Test("Rejects malformed escapes", arguments: ["%", "%2", "%zz", "a%2", "%ff", "%C3"])
    func malformed(_ text: String) {
        #expect(FormURLEncoded.decodeComponent(text) == nil)
        #expect(FormURLEncoded.decode("a=\(text)") == nil)
    }

    @Test("Decodes what it encodes for every character")
    func allOctets() throws {
        let text = String(String.UnicodeScalarView((0...0x2FF).compactMap(Unicode.Scalar.init)))
        #expect(FormURLEncoded.decodeComponent(FormURLEncoded.encode(text)) == text)
    }
}

/// Tests that text is compared byte by byte.
///
/// Swift compares normalized text, which takes quadratic time for a run of combining characters and
/// merges a delimiter with a combining character after it.
@Suite("Byte-wise comparison of message text", .computing)
struct ExactTextTests {
    private static let composed = "\u{E9}"
    private static let decomposed = "e\u{301}"

    @Test("Header fields with different bytes are different")
    func headers() {
        let fields = [Self.composed, Self.decomposed].map { HTTPHeaders.Field(name: "X-Name", value: $0) }
        #expect(fields[0] != fields[1])
        #expect(fields[0] == HTTPHeaders.Field(name: "X-Name", value: Self.composed))
        #expect(Set(fields).count == 2)
        #expect(HTTPHeaders([fields[0]]) != HTTPHeaders([fields[1]]))
        #expect(Set([HTTPHeaders([fields[0]]), HTTPHeaders([fields[1]])]).count == 2)
        let named = HTTPHeaders([Self.composed, Self.decomposed].map { HTTPHeaders.Field(name: $0, value: $0) })
        #expect(named[Self.decomposed]?.unicodeScalars.count == 2)
        #expect(named.values(for: Self.composed).count == 1)
    }

    @Test("Splits forms at every delimiter")
    func forms() throws {
        let pairs = try #require(FormURLEncoded.decode("a=\u{301}1&\u{301}b=2&c&=d&&e=f=g"))
        #expect(pairs.map { Array($0.name.unicodeScalars) } == [["a"], ["\u{301}", "b"], ["c"], [], ["e"]])
        #expect(
            pairs.map { Array($0.value.unicodeScalars) } == [["\u{301}", "1"], ["2"], [], ["d"], ["f", "=", "g"]]
        )
    }

    @Test("Locations with different bytes contradict each other")
    func locations() throws {
        let source = try #require(URL(string: "https://a.example/"))
        var headers: HTTPHeaders = ["Location": "/" + Self.composed]
        #expect(try RedirectTarget.url(in: headers, from: source)?.absoluteString == "https://a.example/%C3%A9")
        headers.append(name: "Location", value: "/" + Self.composed)
        #expect(try RedirectTarget.url(in: headers, from: source) != nil)
        headers.append(name: "Location", value: "/" + Self.decomposed)
        #expect(throws: NetworkError(.redirectRefused, "")) { try RedirectTarget.url(in: headers, from: source) }
    }

    @Test("An entity tag with different bytes is a different validator")
    func entityTags() throws {
        let validator = try #require(ResumeValidator(["ETag": "\"\(Self.composed)\""]))
        #expect(!validator.isContradicted(by: ["ETag": "\"\(Self.composed)\""]))
        #expect(validator.isContradicted(by: ["ETag": "\"\(Self.decomposed)\""]))
        #expect(!validator.isContradicted(by: [:]))
    }

    @Test("Redacts secrets if a combining character follows a delimiter", .shows("K5"))
    func redaction() {
        let fields = Redaction.standard.redacted([
            "Referer": "https://u:hidden@\u{301}h/\u{301}?\u{301}a&token=hidden",
            "Authorization": "Bearer \u{301}hidden", "Cookie": "\u{301} hidden", "DPoP": "Negotiations hidden",
        ])
        #expect(fields["Referer"]?.contains("hidden") == false)
        #expect(fields["Authorization"] == "Bearer REDACTED")
        #expect(fields["Cookie"] == "REDACTED")
        #expect(fields["DPoP"] == "REDACTED")
        #expect(
            Redaction.standard.redacted(["Authorization": "negotiate hidden"])["Authorization"] == "negotiate REDACTED"
        )
    }

    @Test("Removes dots and separators from suggested names if a combining character follows")
    func fileNames() {
        func scalars(_ suggestion: String) -> [Unicode.Scalar]? {
            FileName.sanitized(suggestion).map { Array($0.unicodeScalars) }
        }
        #expect(scalars("..\u{301}x") == ["\u{301}", "x"])
        #expect(scalars("~\u{301}") == ["\u{301}"])
        #expect(scalars("a/\u{301}b") == ["\u{301}", "b"])
        #expect(scalars("a. . ") == ["a"])
        #expect(FileName.split("a.\u{301}b").ending.unicodeScalars.elementsEqual(".\u{301}b".unicodeScalars))
        let marks = String(repeating: "\u{316}\u{301}", count: 5_000)
        #expect(FileName.sanitized("a" + marks) == "_")
    }

    @Test("Rejects a trace context that isn't ASCII")
    func traceContext() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        #expect(TraceContext(traceparent: text)?.traceparent == text)
        #expect(TraceContext(traceparent: text + "\u{301}") == nil)
        #expect(TraceContext(traceparent: text.replacing("-01", with: "-\u{301}01")) == nil)
    }
}
