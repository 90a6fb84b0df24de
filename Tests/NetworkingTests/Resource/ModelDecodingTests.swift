import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("ModelDecoding", .computing)
struct ModelDecodingTests {
    struct Foo: Codable, Equatable, Sendable {
        var foo: String
    }

    private func response(_ body: String, status: Int = 200, type: String = "application/json") -> HTTPResponse {
        HTTPResponse(
            url: URL(filePath: "/things"),
            status: status,
            headers: ["Content-Type": type],
            body: Data(body.utf8)
        )
    }

    @Test("Decodes JSON, and throws an error for a missing member", .shows("2.10"))
    func json() throws {
        let decoding = ModelDecoding.json(Foo.self)
        #expect(try decoding.decode(response(#"{"foo":"bar"}"#)) == Foo(foo: "bar"))
        let error = #expect(throws: DecodingError.self) { try decoding.decode(response("{}")) }
        guard case .keyNotFound(let key, _)? = error else {
            Issue.record("unexpected error: \(String(describing: error))")
            return
        }
        #expect(key.stringValue == "foo")
    }

    @Test("Uses a custom decoder", .shows("0.27"))
    func decoder() throws {
        struct Person: Decodable { var firstName: String }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let decoding = ModelDecoding.json(Person.self, decoder: decoder)
        #expect(try decoding.decode(response(#"{"first_name":"a"}"#)).firstName == "a")
    }

    @Test(
        "Decodes nil without content, even if a status that forbids content has some",
        .shows("1.30"),
        arguments: [204, 205, 200]
    )
    func noContent(_ status: Int) throws {
        let body = status == 200 ? "" : "null and void"
        #expect(try ModelDecoding.json(Foo?.self).decode(response(body, status: status)) == nil)
        #expect(try ModelDecoding.json([Foo].self).whenEmpty { [] }.decode(response(body, status: status)) == [])
        let error = expectThrown(.noData) { try ModelDecoding.json(Foo.self).decode(response(body, status: status)) }
        #expect(error?.errorCode == -1014)
    }

    @Test("Decodes an optional with content")
    func optional() throws {
        #expect(try ModelDecoding.json(Foo?.self).decode(response(#"{"foo":"a"}"#)) == Foo(foo: "a"))
        #expect(try ModelDecoding.json(Foo?.self).decode(response("null")) == nil)
        #expect(throws: DecodingError.self) { try ModelDecoding.json(Foo?.self).decode(response("{}")) }
        #expect(try ModelDecoding.json([Int].self).whenEmpty { [] }.decode(response("[1]")) == [1])
    }

    @Test("Decodes data, text, nothing and the response itself")
    func others() throws {
        let response = response("é", type: "text/plain")
        #expect(try ModelDecoding.data.decode(response) == Data("é".utf8))
        #expect(try ModelDecoding.string.decode(response) == "é")
        try ModelDecoding.void.decode(response)
        #expect(try ModelDecoding.response.decode(response).status == 200)
        #expect(try ModelDecoding.string.decode(self.response("", status: 204)) == "")
        #expect(try ModelDecoding.string.map(\.count).decode(response) == 1)
    }

    @Test(
        "Decodes text in its declared encoding",
        arguments: [
            ("text/plain; charset=ISO-8859-1", [0xE9] as [UInt8], "é"),
            ("text/plain;charset=\"iso-8859-1\"", [0xE9], "é"),
            ("text/plain; a=\"; charset=latin1\"; Charset=UTF-8", [0xC3, 0xA9], "é"),
            ("text/plain; charset=utf-16be", [0x00, 0xE9], "é"),
            ("not a media type", [0xC3, 0xA9], "é"),
        ]
    )
    func encodings(_ type: String, _ octets: [UInt8], _ text: String) throws {
        let response = HTTPResponse(
            url: URL(filePath: "/"),
            status: 200,
            headers: ["Content-Type": type],
            body: Data(octets)
        )
        #expect(try ModelDecoding.string.decode(response) == text)
    }

    @Test("Throws a decoding error for text in a different or unknown encoding", arguments: ["utf-8", "ebcdic"])
    func badEncoding(_ charset: String) {
        let response = HTTPResponse(
            url: URL(filePath: "/"),
            status: 200,
            headers: ["Content-Type": "text/plain; charset=\(charset)"],
            body: Data([0xE9, 0x41])
        )
        expectThrown(.decoding) { try ModelDecoding.string.decode(response) }
    }
}

@Suite("ErrorDecoding and ProblemDetails", .computing)
struct ErrorDecodingTests {
    struct Failure: Error, Decodable, Equatable {
        var reason: String
    }

    private func response(_ body: String, type: String = "application/json") -> HTTPResponse {
        HTTPResponse(url: URL(filePath: "/"), status: 500, headers: ["Content-Type": type], body: Data(body.utf8))
    }

    @Test("Decodes an error from matching JSON, and nothing from any other body", .shows("1.10", "2.10"))
    func json() {
        let decoding = ErrorDecoding.json(Failure.self)
        #expect(decoding.decode(response("")) == nil)
        #expect(decoding.decode(response(#"{"reason":"full"}"#)) as? Failure == Failure(reason: "full"))
        #expect(decoding.decode(response("{}")) == nil)
        #expect(ErrorDecoding.none.decode(response(#"{"reason":"full"}"#)) == nil)
    }

    @Test("Uses the first decoding that finds an error", .shows("0.11"))
    func first() {
        let decoding = ErrorDecoding.first(.problemDetails, .json(Failure.self))
        #expect(decoding.decode(response(#"{"reason":"a"}"#)) as? Failure == Failure(reason: "a"))
        let problem = decoding.decode(response(#"{"reason":"a"}"#, type: "application/problem+json"))
        #expect(problem is ProblemDetails)
    }

    @Test("Decodes the members of RFC 9457, and extensions", .shows("RFC 9457"))
    func problem() throws {
        let text = """
            {"type":"https://a.example/probs/out-of-credit","title":"You do not have enough credit.",
             "status":403,"detail":"Your balance is 30.","instance":"/account/12345/msgs/abc",
             "balance":30,"accounts":["/account/12345"]}
            """
        let problem = try #require(ProblemDetails(response(text, type: "Application/Problem+JSON; charset=utf-8")))
        #expect(problem.type == "https://a.example/probs/out-of-credit")
        #expect(problem.title == "You do not have enough credit.")
        #expect(problem.status == 403)
        #expect(problem.detail == "Your balance is 30.")
        #expect(problem.instance == "/account/12345/msgs/abc")
        #expect(problem.member("balance") == 30)
        #expect(problem.member("accounts", as: [String].self) == ["/account/12345"])
        #expect(problem.member("balance", as: String.self) == nil)
        #expect(problem.member("none", as: Int.self) == nil)
    }

    @Test("Ignores members of the wrong type, and uses about:blank as the default type", .shows("RFC 9457"))
    func lenient() throws {
        let problem = try #require(
            ProblemDetails(json: Data(#"{"title":1,"status":"403","detail":null,"x":[1]}"#.utf8))
        )
        #expect(problem.type == "about:blank")
        #expect(problem.title == nil && problem.status == nil && problem.detail == nil && problem.instance == nil)
        #expect(problem.member("x", as: [Int].self) == [1])
    }

    @Test(
        "Rejects another content type and a body that isn't a JSON object",
        arguments: [
            ("application/json", "{}"), ("application/problem+xml", "{}"), ("", "{}"),
            ("application/problem+json", "[]"),
            ("application/problem+json", ""), ("application/problem+json", "{"),
        ]
    )
    func noProblem(_ type: String, _ body: String) {
        #expect(ProblemDetails(response(body, type: type)) == nil)
    }

    @Test("Doesn't decode JSON with a long name that isn't ASCII")
    func longNames() async throws {
        let marks = String(repeating: "\u{301}", count: 128)
        for name in [marks + "a", String(repeating: #"\u0301"#, count: 43)] {
            let text = "{\"reason\":\"a\",\"\(name)\" :1}"
            #expect(ProblemDetails(json: Data(text.utf8)) == nil)
            #expect(ErrorDecoding.json(Failure.self).decode(response(text)) == nil)
            #expect(throws: DecodingError.self) { try ModelDecoding.json(Failure.self).decode(response(text)) }
            expectThrown(.decoding) { _ = try ServerSentEvent(data: text).decode(as: Failure.self) }
            var values = HTTPResponseBody(Data(text.utf8)).values(of: Failure.self).makeAsyncIterator()
            await expectFailure(.decoding) { try await values.next() }
        }
        let allowed = [marks: "b", String(repeating: "a", count: 9_999): marks + marks, "reason": "c"]
        let json = try JSONEncoder().encode(allowed)
        let decoding = ModelDecoding.json([String: String].self)
        let url = URL(filePath: "/")
        #expect(try decoding.decode(HTTPResponse(url: url, status: 200, body: json)) == allowed)
        let other = try #require(String(data: json, encoding: .utf8)?.data(using: .utf16))
        #expect(throws: DecodingError.self) {
            try decoding.decode(HTTPResponse(url: url, status: 200, body: other))
        }
    }

    @Test("Descriptions don't contain the server's texts")
    func description() throws {
        let problem = try #require(
            ProblemDetails(json: Data(#"{"title":"s3cret","detail":"s3cret","status":403,"x":"s3cret"}"#.utf8))
        )
        var dumped = ""
        dump(problem, to: &dumped)
        for text in ["\(problem)", String(reflecting: problem), problem.localizedDescription, dumped] {
            #expect(!text.contains("s3cret"))
            #expect(text.contains("403"))
        }
    }
}
