import Foundation
import Testing

@testable import Networking

@Suite("RedirectRules")
struct RedirectRulesTests {
    private let source = URL(string: "https://a.example/x?q=1")!
    private let fields: HTTPHeaders = [
        "Authorization": "Bearer t", "cookie": "a=b", "Proxy-Authorization": "p", "DPoP": "d", "X-Api-Key": "k",
        "Accept": "*/*", "Host": "a.example", "Content-Type": "text/plain", "content-language": "en",
        "Content-Length": "4",
        "Digest": "d", "Repr-Digest": "r", "Last-Modified": "l", "Expect": "100-continue", "X-Content-Y": "y",
    ]

    private func request(_ method: HTTPMethod, _ body: HTTPBody = .none) -> HTTPTransportRequest {
        HTTPTransportRequest(method: method, url: source, headers: fields, body: body)
    }

    private func proposal(
        _ status: Int,
        _ request: HTTPTransportRequest,
        to target: String = "https://a.example/z",
        marking marked: Set<String> = []
    ) throws -> HTTPTransportRequest? {
        RedirectRules(request: request, status: status)?
            .proposal(for: try #require(URL(string: target)), sensitiveHeaders: marked)
    }

    private static let all: [HTTPMethod] = [.get, .head, .post, .put, .patch, .delete, .options]

    @Test("301 and 302 change POST to GET and keep other methods", arguments: [301, 302], all)
    func found(_ status: Int, _ method: HTTPMethod) throws {
        let next = try #require(try proposal(status, request(method)))
        #expect(next.method == (method == .post ? .get : method))
    }

    @Test("303 changes all methods except HEAD to GET", arguments: all)
    func seeOther(_ method: HTTPMethod) throws {
        #expect(try proposal(303, request(method))?.method == (method == .head ? .head : .get))
    }

    @Test("307 and 308 keep the method, body and fields", arguments: [307, 308], all)
    func temporary(_ status: Int, _ method: HTTPMethod) throws {
        let body = HTTPBody.data(Data("body".utf8))
        let next = try #require(try proposal(status, request(method, body)))
        #expect(next.method == method)
        #expect(next.body.contentLength == 4)
        #expect(next.headers["Content-Type"] == "text/plain")
        #expect(next.headers["Digest"] == "d")
    }

    @Test("Follows a 300 only for GET and HEAD", arguments: all)
    func choices(_ method: HTTPMethod) throws {
        #expect(try proposal(300, request(method))?.method == (method == .get || method == .head ? method : nil))
    }

    @Test("Ignores other statuses", arguments: [200, 201, 299, 304, 305, 306, 309, 310, 399, 400, 401, 500])
    func others(_ status: Int) throws {
        #expect(try proposal(status, request(.get)) == nil)
    }

    @Test("Drops the fields that describe a dropped body", arguments: [(301, HTTPMethod.post), (303, .put)])
    func droppedBody(_ status: Int, _ method: HTTPMethod) throws {
        let next = try #require(try proposal(status, request(method, .data(Data("body".utf8)))))
        #expect(next.body.contentLength == 0)
        #expect(
            next.headers.map(\.name) == [
                "Authorization", "cookie", "Proxy-Authorization", "DPoP", "X-Api-Key", "Accept", "X-Content-Y",
            ]
        )
    }

    @Test("Always removes Host and Content-Length")
    func hostField() throws {
        let next = try #require(try proposal(307, request(.put, .data(Data("body".utf8)))))
        #expect(next.headers["Host"] == nil)
        #expect(next.headers["Content-Length"] == nil)
        #expect(next.headers["Referer"] == nil)
    }

    @Test(
        "Keeps credentials only for the same scheme, host and port",
        arguments: [
            ("https://a.example/z", true), ("https://A.EXAMPLE:443/z", true), ("http://a.example/z", false),
            ("https://a.example:444/z", false), ("https://b.example/z", false), ("https://x.a.example/z", false),
            ("https://a.example./z", false), ("https://example/z", false), ("http://a.example:443/z", false),
        ]
    )
    func credentials(_ target: String, _ areKept: Bool) throws {
        let next = try #require(try proposal(302, request(.get), to: target, marking: ["x-aPI-key"]))
        for name in ["Authorization", "Cookie", "Proxy-Authorization", "DPoP", "X-Api-Key"] {
            #expect((next.headers[name] != nil) == areKept, "\(name)")
        }
        #expect(next.headers["Accept"] == "*/*")
    }

    @Test("Keeps fields that aren't protected")
    func unmarked() throws {
        #expect(try proposal(302, request(.get), to: "https://b.example/")?.headers["X-Api-Key"] == "k")
    }

    private func refusal(
        _ from: HTTPTransportRequest,
        _ change: (inout HTTPTransportRequest) -> Void
    ) throws -> NetworkError? {
        var next = from
        change(&next)
        let rules = try #require(RedirectRules(request: from, status: 307))
        do {
            try rules.check(next)
            return nil
        } catch {
            return error
        }
    }

    @Test("Rejects https to http, and follows http to https")
    func downgrade() throws {
        var plain = request(.get)
        plain.headers["DPoP"] = nil
        let error = try refusal(plain) { $0.url = URL(string: "http://a.example/z")! }
        #expect(error?.code == .redirectRefused)
        plain.url = URL(string: "http://a.example/x")!
        #expect(try refusal(plain) { $0.url = URL(string: "https://a.example/z")! } == nil)
        #expect(try refusal(plain) { $0.url = URL(string: "ftp://a.example/z")! }?.code == .redirectRefused)
    }

    @Test("Rejects a body that can be sent only once, and accepts a replayable one")
    func replay() throws {
        let once = HTTPBody.once(AsyncStream<Data> { $0.finish() })
        #expect(try refusal(request(.put, once)) { _ in }?.code == .redirectRefused)
        #expect(try refusal(request(.put, .stream { AsyncStream<Data> { $0.finish() } })) { _ in } == nil)
    }

    @Test("Sends a DPoP proof only with its URL and method")
    func proofs() throws {
        #expect(try refusal(request(.get)) { $0.url = URL(string: "https://a.example/x?q=2#f")! } == nil)
        #expect(try refusal(request(.get)) { $0.url = URL(string: "https://a.example/z")! }?.code == .redirectRefused)
        #expect(try refusal(request(.get)) { $0.method = .put }?.code == .redirectRefused)
        let renewed = try refusal(request(.get)) { next in
            next.url = URL(string: "https://a.example/z")!
            next.headers["DPoP"] = "another proof"
        }
        #expect(renewed == nil)
    }
}
