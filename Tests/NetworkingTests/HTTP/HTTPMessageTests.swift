import Foundation
import FoundationNetworking
import MockNetworking
import Testing

@testable import Networking

@Suite("HTTP messages")
struct HTTPMessageTests {
    @Test("Only 200…299 is successful")
    func isSuccessful() throws {
        let url = try #require(URL(string: "http://a.example/"))
        for status in 0...500 {
            #expect(HTTPURLResponse(statusCode: status).isSuccessful == (200...299).contains(status))
            #expect(HTTPResponse(url: url, status: status).isSuccessful == (200...299).contains(status))
        }
    }

    @Test("Header fields keep order and repetition and ignore case")
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

    @Test("Converts a response to Foundation's type with repeated fields joined")
    func urlResponse() throws {
        let url = try #require(URL(string: "http://a.example/x"))
        let response = HTTPResponse(url: url, status: 201, version: "HTTP/2", headers: ["X-A": "1", "X-A": "2"])
        #expect(response.urlResponse.statusCode == 201)
        #expect(response.urlResponse.value(forHTTPHeaderField: "x-a") == "1, 2")
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

    @Test("Rejects a method that isn't a token", arguments: ["", " ", "GE T", "GET\r\n", "é", "a:b"])
    func badMethod(_ name: String) {
        #expect(HTTPMethod(name) == nil)
    }

    @Test("Knows which methods are idempotent")
    func idempotency() {
        #expect(HTTPMethod("GET") == .get && HTTPMethod("get") != .get)
        let harmless: [HTTPMethod] = [.get, .head, .put, .delete, .options, .trace]
        for method in harmless { #expect(method.isIdempotent) }
        #expect(!HTTPMethod.post.isIdempotent && !HTTPMethod.patch.isIdempotent && !HTTPMethod.connect.isIdempotent)
    }

    @Test(
        "Rejects a request that would change on the wire",
        arguments: [
            ("ftp://a.example/", "X", "1"), ("/relative", "X", "1"), ("http:///path", "X", "1"),
            ("http://a.example/", "X\r\nY", "1"), ("http://a.example/", "", "1"),
            ("http://a.example/", "X", "1\r\nY: 2"), ("http://a.example/", "X", "1\u{0}"),
        ]
    )
    func validation(_ url: String, _ name: String, _ value: String) throws {
        let headers = HTTPHeaders([.init(name: name, value: value)])
        let request = HTTPTransportRequest(url: try #require(URL(string: url)), headers: headers)
        #expect(throws: NetworkError(.invalidRequest, "")) { try request.validate() }
    }
}
