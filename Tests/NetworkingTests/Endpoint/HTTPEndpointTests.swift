import Foundation
import FoundationNetworking
import Networking
import Testing

@Suite("HTTPEndpoint")
struct HTTPEndpointTests {
    private struct Bare: HTTPEndpoint {
        let baseURL: URL
    }

    @Test("Defaults keep the URL and add no headers or body")
    func defaults() throws {
        for text in [
            "https://mindera.com/somepath", "https://mindera.com/somepath/?a=b&a=c", "http://a.example?",
            "http://a.example",
        ] {
            let endpoint = Bare(baseURL: try #require(URL(string: text)))
            let request = try endpoint.urlRequest()
            #expect(request.url?.absoluteString == text)
            #expect(request.httpMethod == "GET")
            #expect(request.allHTTPHeaderFields ?? [:] == [:])
            #expect(request.httpBody == nil && request.httpBodyStream == nil)
            #expect(request.timeoutInterval == 60)
            #expect(request.cachePolicy == .useProtocolCachePolicy)
            #expect(endpoint.requiresAuthentication && endpoint.isIdempotent)
            #expect(endpoint.acceptedStatuses == .successful)
        }
    }

    @Test("Puts the path, query, headers, method and body into the request")
    func everything() throws {
        var endpoint = SampleEndpoint(
            "https://mindera.com",
            path: "/somepath/another",
            query: ["item1": "one", "item2": "two"]
        )
        endpoint.method = .put
        endpoint.headers = ["header1": "one", "header2": "two"]
        endpoint.making = { .data(Data("🚀".utf8), contentType: nil) }
        endpoint.timeout = .milliseconds(1_500)
        let request = try endpoint.urlRequest()
        #expect(request.url?.absoluteString == "https://mindera.com/somepath/another?item1=one&item2=two")
        #expect(request.value(forHTTPHeaderField: "header1") == "one")
        #expect(request.value(forHTTPHeaderField: "header2") == "two")
        #expect(request.allHTTPHeaderFields?.count == 2)
        #expect(request.httpBody == Data("🚀".utf8))
        #expect(request.httpMethod == "PUT")
        #expect(request.timeoutInterval == 1.5)
    }

    @Test("Rethrows the body's error")
    func throwingBody() {
        struct Refusal: Error {}
        var endpoint = SampleEndpoint("https://a.example")
        endpoint.making = { throw Refusal() }
        #expect(throws: Refusal.self) { try endpoint.urlRequest() }
    }

    @Test("Joins repeated header fields")
    func repeatedHeaders() throws {
        var endpoint = SampleEndpoint("https://a.example")
        endpoint.headers = ["Accept": "a/b", "accept": "c/d"]
        #expect(try endpoint.urlRequest().value(forHTTPHeaderField: "Accept") == "a/b,c/d")
    }

    @Test(
        "Rejects an invalid base URL",
        arguments: [
            "relative/path", "/absolute", "ftp://a.example", "file:///etc/passwd", "https:///x", "https:a.example",
            "https://user@a.example", "https://user:secret@a.example/", "https://a.example/#fragment",
            "mailto:a@b.example",
        ]
    )
    func badBase(_ base: String) throws {
        let endpoint = Bare(baseURL: try #require(URL(string: base)))
        let error = #expect(throws: NetworkError.self) { try endpoint.urlRequest() }
        #expect(error?.code == .invalidRequest)
        #expect(error?.description.contains("secret") == false)
    }

    @Test("Resolves a relative URL")
    func relativeBase() throws {
        let base = try #require(URL(string: "v2/", relativeTo: URL(string: "https://a.example/api/")))
        #expect(try Bare(baseURL: base).makeURL().absoluteString == "https://a.example/api/v2/")
    }

    @Test("Rejects a timeout of zero or less", arguments: [Duration.zero, .seconds(-1)])
    func timeout(_ timeout: Duration) {
        var endpoint = SampleEndpoint("https://a.example")
        endpoint.timeout = timeout
        let error = #expect(throws: NetworkError.self) { try endpoint.urlRequest() }
        #expect(error?.code == .invalidRequest)
    }

    @Test("An Idempotency-Key makes a POST idempotent")
    func idempotency() {
        var endpoint = SampleEndpoint("https://a.example")
        endpoint.method = .post
        #expect(!endpoint.isIdempotent)
        endpoint.headers = ["idempotency-key": "1"]
        #expect(endpoint.isIdempotent)
    }
}

@Suite("EndpointBody")
struct EndpointBodyTests {
    private struct User: Codable, Equatable {
        var name: String
        var joined: Date
        var home = "https://a.example/b"
    }

    private func request(_ body: @escaping @Sendable () throws -> EndpointBody) throws -> URLRequest {
        var endpoint = SampleEndpoint("https://a.example")
        endpoint.method = .post
        endpoint.making = body
        return try endpoint.urlRequest()
    }

    @Test("JSON has sorted keys and its media type, and accepts a custom encoder")
    func json() throws {
        let user = User(name: "é", joined: Date(timeIntervalSinceReferenceDate: 1))
        let plain = try request { try .json(user) }
        #expect(plain.value(forHTTPHeaderField: "Content-Type") == "application/json")
        #expect(plain.httpBody == Data(#"{"home":"https://a.example/b","joined":1,"name":"é"}"#.utf8))
        let custom = try request {
            let encoder = JSONEncoder()
            encoder.dateEncodingStrategy = .iso8601
            return try .json(user, encoder: encoder, contentType: "application/vnd.a+json")
        }
        #expect(custom.value(forHTTPHeaderField: "Content-Type") == "application/vnd.a+json")
        #expect(try #require(custom.httpBody).firstRange(of: Data("2001-01-01T00:00:01Z".utf8)) != nil)
    }

    @Test("Throws for a value that can't be encoded")
    func unencodable() {
        #expect(throws: EncodingError.self) { try request { try .json(["a": Double.nan]) } }
    }

    @Test("Encodes a form strictly")
    func form() throws {
        let request = try request { try .form(["a": "x+y z&=", "b": [1, 2], "c": nil, "é": "*"]) }
        #expect(request.value(forHTTPHeaderField: "Content-Type") == "application/x-www-form-urlencoded")
        #expect(request.httpBody == Data("a=x%2By+z%26%3D&b=1&b=2&%C3%A9=*".utf8))
    }

    @Test("Data is application/octet-stream unless a type or header field overrides it")
    func data() throws {
        #expect(
            try request { .data(Data([1])) }.value(forHTTPHeaderField: "Content-Type") == "application/octet-stream"
        )
        var endpoint = SampleEndpoint("https://a.example")
        endpoint.headers = ["content-type": "image/png"]
        endpoint.making = { .data(Data([1]), contentType: "image/jpeg") }
        #expect(try endpoint.urlRequest().value(forHTTPHeaderField: "Content-Type") == "image/png")
    }

    @Test("Rejects a file that can't be read")
    func missingFile() {
        let error = #expect(throws: NetworkError.self) {
            try request { try .file(URL(filePath: "/nonexistent/file")) }
        }
        #expect(error?.code == .invalidRequest)
    }
}

@Suite("AcceptedStatuses and HTTPStatusClass")
struct StatusTests {
    @Test("Accepts ranges, single statuses and all statuses")
    func accepted() {
        #expect([200, 299].allSatisfy(AcceptedStatuses.successful.contains))
        #expect(![199, 300, 404].contains(where: AcceptedStatuses.successful.contains))
        #expect([404, 400, 200, Int.max].allSatisfy(AcceptedStatuses.all.contains))
        let strv: AcceptedStatuses = 200..<400
        #expect(strv.contains(399) && !strv.contains(404) && strv.description == "200…399")
        #expect(!(400..<500 as AcceptedStatuses).contains(200))
        let some: AcceptedStatuses = [200, 404]
        #expect(some.contains(404) && !some.contains(201) && some.description == "200, 404")
        #expect(AcceptedStatuses.successful.union([304]).description == "200…299, 304")
        #expect((5..<5 as AcceptedStatuses).description == "none" && AcceptedStatuses.all.description == "all")
    }

    @Test(
        "Classifies statuses",
        arguments: [
            (Int.min, HTTPStatusClass.unknown), (99, .unknown), (600, .unknown), (Int.max, .unknown),
            (100, .informational), (199, .informational), (200, .successful), (299, .successful), (300, .redirection),
            (399, .redirection), (400, .clientError), (499, .clientError), (500, .serverError), (599, .serverError),
        ]
    )
    func statusClass(_ status: Int, _ expected: HTTPStatusClass) {
        #expect(HTTPStatusClass(status: status) == expected)
        #expect(HTTPResponse(url: URL(filePath: "/"), status: status).statusClass == expected)
    }
}
