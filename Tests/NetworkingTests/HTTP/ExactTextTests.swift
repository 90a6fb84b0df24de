import Foundation
import Testing

@testable import Networking

/// Tests that text is compared byte by byte.
///
/// Swift compares normalized text, which takes quadratic time for a run of combining characters and
/// merges a delimiter with a combining character after it.
@Suite("Byte-wise comparison of message text")
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

    @Test("Parses URIs at every delimiter")
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

    @Test("Redacts secrets if a combining character follows a delimiter")
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
