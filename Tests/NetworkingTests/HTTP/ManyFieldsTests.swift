import Foundation
import FoundationNetworking
import TestSupport
import Testing

@testable import Networking

@Suite("Messages with thousands of header fields", .computing)
struct ManyFieldsTests {
    private static let count = 4_900

    private static func fields(_ prefix: String, _ value: String) -> [HTTPHeaders.Field] {
        (0..<count).map { HTTPHeaders.Field(name: "\(prefix)\($0)", value: "\(value)\($0)") }
    }

    private static func response(_ fields: [HTTPHeaders.Field]) throws -> HTTPResponse {
        HTTPResponse(url: try #require(URL(string: "https://api.example/")), status: 200, headers: HTTPHeaders(fields))
    }

    @Test("Removes fields by names in any case, and keeps the order of the others")
    func without() {
        let headers: HTTPHeaders = ["A": "1", "b": "2", "a": "3", "C": "4", "B": "5", "\u{212A}": "6"]
        #expect(headers.without(["b", "k", "X"]).map(\.value) == ["1", "3", "4", "6"])
        #expect(headers.without([Substring("A"), Substring("c")]).map(\.value) == ["2", "5", "6"])
        #expect(headers.without([String]()) == headers)
    }

    @Test("A 304 replaces all fields of a stored response that it has")
    func notModified() throws {
        var stored = try Self.response(Self.fields("X-A", "old") + Self.fields("X-B", "old"))
        stored.headers["Date"] = "Thu, 01 Jan 2026 00:00:00 GMT"
        stored.headers["Content-Type"] = "text/plain"
        let nominated = [HTTPHeaders.Field(name: "Connection", value: "x-c1, X-C2")]
        let described = [HTTPHeaders.Field(name: "content-type", value: "text/html")]
        let answer = try Self.response(nominated + Self.fields("x-a", "new") + Self.fields("x-c", "new") + described)
        stored.update(with: answer)
        #expect(stored.headers.count == 3 * Self.count - 2 + 1)
        #expect(stored.headers["X-A4899"] == "new4899")
        #expect(stored.headers.values(for: "X-A0") == ["new0"])
        #expect(stored.headers["X-B0"] == "old0")
        #expect(stored.headers["X-C1"] == nil)
        #expect(stored.headers["X-C3"] == "new3")
        #expect(stored.headers["Date"] == nil)
        #expect(stored.headers["Content-Type"] == "text/plain")
    }

    @Test("Foundation's response has no field that takes quadratic time")
    func expensive() throws {
        let long = String(repeating: "a", count: 8_193)
        let fields = ["Content-Type", "content-disposition", "X-A"].map { HTTPHeaders.Field(name: $0, value: long) }
        let other = [HTTPHeaders.Field(name: "\u{E9}", value: "b"), HTTPHeaders.Field(name: "a b", value: "c")]
        let response = try Self.response(fields + other).urlResponse
        #expect(response.allHeaderFields.count == 1 && response.value(forHTTPHeaderField: "X-A") == long)
        let short = HTTPHeaders.Field(name: "Content-Type", value: "text/plain; charset=utf-8")
        #expect(try Self.response([short]).urlResponse.textEncodingName == "utf-8")
    }

    @Test("Foundation's response joins repeated fields in their order")
    func repeated() throws {
        let fields = (0..<Self.count).map { HTTPHeaders.Field(name: "X-A", value: "\($0)") }
        let joined = try Self.response(fields).urlResponse.value(forHTTPHeaderField: "X-A")
        #expect(joined == (0..<Self.count).map(String.init).joined(separator: ", "))
    }
}
