import Foundation
import FoundationNetworking
import Glibc
import MockNetworking
import TestSupport
import Testing

@testable import Networking

@Suite("RedirectRules", .computing)
struct RedirectRulesTests {
    private let source = URL(string: "https://a.example/x?q=1")!
    private let fields: HTTPHeaders = [
        "Authorization": "Bearer t", "cookie": "a=b", "Proxy-Authorization": "p", "DPoP": "d", "X-Api-Key": "k",
        "Accept": "*/*", "Host": "a.example", "Content-Type": "text/plain", "content-language": "en",
        "Content-Length": "4",
        "Digest": "d", "Repr-Digest": "r", "Last-Modified": "l", "Expect": "100-continue", "X-Content-Y": "y",
    ]

    private func request(_ method: HTTPMethod, _ body: HTTPBody = .none) -> HTTPRequest {
        HTTPRequest(method: method, url: source, headers: fields, body: body)
    }

    private func proposal(
        _ status: Int,
        _ request: HTTPRequest,
        to target: String = "https://a.example/z",
        marking marked: Set<String> = []
    ) throws -> HTTPRequest? {
        RedirectRules(request: request, status: status)?
            .proposal(for: try #require(URL(string: target)), sensitiveHeaders: marked)
    }

    private static let all = Dictionary(
        uniqueKeysWithValues: [.get, .head, .post, .put, .patch, .delete, .options].map { ($0, $0) as (HTTPMethod, _) }
    )

    @Test(
        "Changes a method as the status requires, or doesn't follow",
        .shows("RFC 9110 §15.4"),
        arguments: [
            (300, [.get: .get, .head: .head]), (301, all.merging([.post: .get]) { $1 }),
            (302, all.merging([.post: .get]) { $1 }), (303, all.mapValues { $0 == .head ? .head : .get }),
            (307, all), (308, all),
        ] as [(Int, [HTTPMethod: HTTPMethod])]
    )
    func found(_ status: Int, _ methods: [HTTPMethod: HTTPMethod]) throws {
        for method in Self.all.keys {
            #expect(try proposal(status, request(method))?.method == methods[method], "\(method)")
        }
    }

    @Test(
        "307 and 308 keep the method, body and fields, except Host and Content-Length",
        .shows("RFC 9110 §15.4"),
        arguments: [307, 308]
    )
    func temporary(_ status: Int) throws {
        for method in Self.all.keys {
            let next = try #require(try proposal(status, request(method, .data(Data("body".utf8)))))
            #expect(next.method == method && next.body.contentLength == 4)
            #expect(next.headers["Content-Type"] == "text/plain" && next.headers["Digest"] == "d")
            for name in ["Host", "Content-Length", "Referer"] { #expect(next.headers[name] == nil, "\(name)") }
        }
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

    @Test(
        "Keeps credentials only for the same scheme, host and port",
        .shows("G1"),
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
        #expect(try proposal(302, request(.get), to: target)?.headers["X-Api-Key"] == "k", "it isn't protected")
    }

    private func refusal(
        _ from: HTTPRequest,
        _ change: (inout HTTPRequest) -> Void
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

    @Test("Sends a DPoP proof only with its URL and method", .shows("G1"))
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

@Suite("RedirectTarget", .computing)
struct RedirectTargetTests {
    private let source = URL(string: "https://a.example:8443/x/y?secret=1#part")!

    private func target(_ locations: String...) throws -> String? {
        var headers = HTTPHeaders()
        for location in locations { headers.append(name: "location", value: location) }
        return try RedirectTarget.url(in: headers, from: source)?.absoluteString
    }

    @Test(
        "Resolves a Location against the source URL, whose fragment it inherits",
        arguments: [
            ("/z", "https://a.example:8443/z#part"), ("z", "https://a.example:8443/x/z#part"),
            ("../z?q=1", "https://a.example:8443/z?q=1#part"), ("?q", "https://a.example:8443/x/y?q#part"),
            ("#own", "https://a.example:8443/x/y?secret=1#own"), ("//b.example/z", "https://b.example/z#part"),
            ("https://b.example/z#own", "https://b.example/z#own"), ("HTTP://B.example", "http://B.example#part"),
            ("https://[::1]:1/z", "https://[::1]:1/z#part"), ("/z#", "https://a.example:8443/z#"),
        ]
    )
    func resolved(_ location: String, _ expected: String) throws {
        #expect(try target(location) == expected)
    }

    @Test(
        "Encodes what servers forgot to encode, and keeps existing escapes",
        arguments: [
            ("/a b", "/a%20b"), ("/ü", "/%C3%BC"), ("/a%20b", "/a%20b"), ("/100%", "/100%25"), ("/%zz", "/%25zz"),
            ("/a\"<>^`{|}", "/a%22%3C%3E%5E%60%7B%7C%7D"), ("/a?b[]=1", "/a?b%5B%5D=1"), ("/a?b=ü", "/a?b=%C3%BC"),
        ]
    )
    func encoded(_ location: String, _ expected: String) throws {
        #expect(try target(location) == "https://a.example:8443\(expected)#part")
    }

    @Test("Returns nil for a missing or empty Location, and accepts an identical repetition")
    func none() throws {
        #expect(try target() == nil)
        #expect(try target("") == nil)
        #expect(try target("/z", "/z") == "https://a.example:8443/z#part")
    }

    @Test(
        "Rejects a forbidden Location",
        arguments: [
            ["ftp://b.example/"], ["file:///etc/passwd"], ["javascript:alert(1)"], ["data:,x"], ["app:callback"],
            ["https:z"], ["https://u:p@b.example/"], ["https://u@b.example/"], ["https://@b.example/"],
            ["//u@b.example"],
            ["https:///z"], ["https://"], ["//"], ["https://b.example:99999/"], ["https://b.example:0/"],
            ["https://b.example:x/"], ["https://bü.example/"], ["https://b .example/"], ["/z\\x"],
            ["https:\\\\b.example"], ["/z\u{7F}"], ["/z\tx"], ["https://b%2Fexample/"], ["/z", "/other"], ["/z", ""],
        ]
    )
    func refused(_ locations: [String]) throws {
        var headers = HTTPHeaders()
        for location in locations { headers.append(name: "Location", value: location) }
        let error = expectThrown(.redirectRefused, mentioning: "a.example:8443") {
            try RedirectTarget.url(in: headers, from: source)
        }
        #expect(error?.message.contains("secret") == false)
    }

    // RFC 3986 §5.2.2: a reference with a scheme takes nothing from the base, so these have no
    // host.
    @Test(
        "Rejects a Location that has a scheme but no host",
        .shows("N6"),
        arguments: ["http:b/x", "https:/z", "https:///z", "HTTPS:?q"]
    )
    func withoutHost(_ location: String) {
        expectThrown(.redirectRefused, mentioning: "a scheme but no host") { try target(location) }
    }
}

/// Tests that reading a redirect's body is limited in bytes and time.
///
/// The operation's deadline is an hour, so a client that waits for the deadline exceeds the suite's
/// time limit.
@Suite("Bodies of redirects", .limitedConcurrency)
struct RedirectBodyTests {
    enum Body: String, CaseIterable {
        case announced, endless, huge, dripping, compressed

        func send(on connection: TCPPeer.Connection) throws {
            switch self {
            case .announced: try connection.send("Content-Length: 5\r\n\r\n")
            case .huge: try connection.send("Content-Length: 1000000000000\r\n\r\nx")
            case .dripping:
                try connection.send("Transfer-Encoding: chunked\r\n\r\n")
                while true {
                    try connection.send("1\r\nx\r\n")
                    usleep(2000)
                }
            case .endless, .compressed:
                if self == .compressed { try connection.send("Content-Encoding: gzip\r\n") }
                try connection.send("Transfer-Encoding: chunked\r\n\r\n")
                while true { try connection.send("1000\r\n" + String(repeating: "x", count: 4096) + "\r\n") }
            }
        }
    }

    /// A server that redirects with a body of one kind, and responds normally to everything else.
    private func withServer(_ body: Body, _ test: (TCPPeer, NetworkClient) async throws -> Void) async throws {
        try await withCurl { connection in
            while true {
                guard try connection.readRequest().hasPrefix("GET /from") else {
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthere")
                    continue
                }
                try connection.send("HTTP/1.1 302 Found\r\nLocation: /there\r\n")
                try body.send(on: connection)
                try connection.waitForClose()
            }
        } _: { transport, peer in
            var options = NetworkClient.Options(timeout: .seconds(3600))
            options.maximumBodySize = .max
            try await test(peer, NetworkClient(transport: transport, options: options))
        }
    }

    private func request(_ url: URL) -> URLRequest { URLRequest(url: url, timeoutInterval: 3600) }

    @Test("Follows a redirect regardless of its body", .shows("N5"), arguments: Body.allCases)
    func followed(_ body: Body) async throws {
        try await withServer(body) { peer, client in
            #expect(try await client.makeRequest(request(peer.url("/from"))) == Data("there".utf8))
            let stream = try await client.stream(Resource { request(peer.url("/from")) })
            #expect(try await stream.stream.collect(upTo: 10) == Data("there".utf8))
        }
    }

    @Test("A policy can't deliver a redirect whose body was cancelled", arguments: [Body.announced, .endless])
    func delivered(_ body: Body) async throws {
        try await withServer(body) { peer, client in
            await expectFailure(.bodyTooLarge) {
                _ = try await client.response(
                    for: request(peer.url("/from")),
                    options: RequestOptions(redirects: .custom { _ in .deliver })
                )
            }
        }
    }

    @Test("The policy never delivers a redirect with its whole body")
    func never() async throws {
        let body = String(repeating: "x", count: 300 << 10)
        try await withCurl { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 302 Found\r\nLocation: /there\r\n")
            try connection.send("Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            try connection.waitForClose()
        } _: { transport, peer in
            let client = NetworkClient(transport: transport)
            let error = await #expect(throws: ServerError.self) {
                _ = try await client.response(for: request(peer.url), options: RequestOptions(redirects: .never))
            }
            #expect(error?.httpResponse?.body.count == body.utf8.count)
        }
    }
}
