import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("DigestVerifier", .limitedConcurrency)
struct DigestVerifierTests {
    private static let content = Data("hello".utf8)
    private static let url = URL(string: "http://a.example/things")!

    private static func right(_ algorithm: HTTPDigest.Algorithm = .sha256) throws -> String {
        try HTTPDigest(of: content, by: algorithm).fieldValue
    }

    private static func wrong(_ algorithm: HTTPDigest.Algorithm = .sha256) throws -> String {
        try HTTPDigest(of: content + [0], by: algorithm).fieldValue
    }

    private func request(_ method: String = "GET", _ url: URL = url) -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = method
        return request
    }

    /// Returns the content of a response that's verified, in memory or as a stream.
    private func content(
        _ step: MockTransport.Step,
        to method: String = "GET",
        isStreamed: Bool = false,
        _ verifier: DigestVerifier = DigestVerifier()
    ) async throws -> Data {
        let client = NetworkClient(transport: MockTransport(step), interceptors: [verifier])
        guard isStreamed else { return try await client.response(for: request(method)).body }
        let response = try await client.stream(request(method))
        return try await response.stream.collect(upTo: 1 << 20)
    }

    private func step(_ headers: HTTPHeaders, status: Int = 200, _ body: Data = content) -> MockTransport.Step {
        .response(HTTPTransportResponse(status: status, headers: headers, body: body))
    }

    @Test("Asks for a digest of content without a coding, unless the request says otherwise", .shows("RFC 9530 §4"))
    func preferences() async throws {
        let transport = MockTransport(.status(204), .status(204), .status(204))
        _ = try await NetworkClient(transport: transport, interceptors: [DigestVerifier()]).makeRequest(request())
        var own = request()
        own.setValue("br", forHTTPHeaderField: "Accept-Encoding")
        own.setValue("sha-512=1", forHTTPHeaderField: "Want-Content-Digest")
        _ = try await NetworkClient(transport: transport, interceptors: [DigestVerifier()]).makeRequest(own)
        let silent = DigestVerifier(preferring: [])
        _ = try await NetworkClient(transport: transport, interceptors: [silent]).makeRequest(request())
        let fields = transport.requests.map { [$0.headers["Want-Content-Digest"], $0.headers["Accept-Encoding"]] }
        #expect(fields == [["sha-256=10, sha-512=9", "identity"], ["sha-512=1", "br"], [nil, "identity"]])
    }

    @Test(
        "Verifies the digests of a response, in memory or streamed",
        .shows("N12", "P37", "RFC 9530 §2, §3 (messages)"),
        arguments: TransportUnderTest.allCases,
        [false, true]
    )
    func loopback(_ transport: TransportUnderTest, isStreamed: Bool) async throws {
        let (right, wrong) = (try Self.right(), try Self.wrong())
        var cases: [(HTTPHeaders, NetworkError.Code?)] = [
            ([:], nil), (["Content-Digest": right], nil), (["Repr-Digest": right], nil),
            (["Content-Digest": right + ", " + (try Self.right(.sha512))], nil),
            (["Content-Digest": wrong], .digestMismatch), (["Repr-Digest": wrong], .digestMismatch),
            (["Content-Digest": right, "Repr-Digest": wrong], .digestMismatch),
            (["Content-Digest": right + ", " + (try Self.wrong(.sha512))], .digestMismatch),
            (["Content-Digest": right, "Content-Digest": try Self.wrong(.sha512)], .digestMismatch),
            (["Content-Digest": "md5=:AAAA:, sha-999=1"], nil), (["Digest": "SHA-256=AAAA"], nil),
            (["Content-Digest": "sha-256=1"], .invalidField), (["Content-Digest": "sha-256=:"], .invalidField),
        ]
        // Of fields whose names differ in case, URLSession keeps any one.
        if transport == .curl {
            cases.append((["Content-Digest": right, "content-digest": try Self.wrong(.sha512)], .digestMismatch))
        }
        try await withLoopbackServer { [cases] server async throws in
            try await transport.run { transport in
                let client = NetworkClient(transport: transport, interceptors: [DigestVerifier()])
                for (headers, code) in cases {
                    server.on(.get, "/", LoopbackResponse(headers: headers, body: Self.content))
                    var body: Data?
                    await expectFailure(code, comment: "\(headers)") {
                        if isStreamed {
                            let response = try await client.stream(request("GET", server.url(for: "/")))
                            body = try await response.stream.collect(upTo: 100)
                        } else {
                            body = try await client.makeRequest(request("GET", server.url(for: "/")))
                        }
                    }
                    #expect(body == (code == nil ? Self.content : nil))
                }
            }
        }
    }

    @Test("A stream delivers its parts and then throws, again and again", .shows("N12"))
    func stream() async throws {
        let wrong = try Self.wrong()
        try await withLoopbackServer { server async throws in
            server.on(.get, "/") { _ in
                .chunked([Data("he".utf8), Data("llo".utf8)], headers: ["Content-Digest": wrong])
            }
            let client = NetworkClient(interceptors: [DigestVerifier()])
            let response = try await client.stream(request("GET", server.url(for: "/")))
            var iterator = response.stream.makeAsyncIterator()
            var received = Data()
            var codes: [NetworkError.Code?] = []
            while codes.count < 3 {
                let error = await failure { while let part = try await iterator.next() { received.append(part) } }
                codes.append(error?.code)
            }
            #expect(received == Self.content)
            #expect(codes == [.digestMismatch, .digestMismatch, .digestMismatch])
        }
    }

    @Test("Large content is verified, in memory or streamed", arguments: [false, true])
    func large(isStreamed: Bool) async throws {
        let content = RangedResource.octets(3 << 20)
        let digest = try HTTPDigest(of: content, by: .sha512).fieldValue
        for (body, code) in [(content, nil), (content.dropLast() + [0], .digestMismatch)]
            as [(Data, NetworkError.Code?)]
        {
            try await withLoopbackServer { server async throws in
                server.on(.get, "/", LoopbackResponse(headers: ["Content-Digest": digest], body: body))
                let client = NetworkClient(interceptors: [DigestVerifier()])
                await expectFailure(code) {
                    let request = request("GET", server.url(for: "/"))
                    if isStreamed {
                        _ = try await client.stream(request).stream.collect(upTo: 4 << 20)
                    } else {
                        _ = try await client.makeRequest(request)
                    }
                }
            }
        }
    }

    @Test("Empty content has a digest, too", arguments: [false, true])
    func empty(isStreamed: Bool) async throws {
        let right = try HTTPDigest(of: Data()).fieldValue
        for field in HTTPDigest.Field.allCases {
            _ = try await content(step([field.rawValue: right], Data()), isStreamed: isStreamed)
            await expectFailure(.digestMismatch) {
                _ = try await content(step([field.rawValue: try Self.right()], Data()), isStreamed: isStreamed)
            }
        }
    }

    @Test("The digest of a part is about the part", arguments: [false, true])
    func part(isStreamed: Bool) async throws {
        let whole = try HTTPDigest(of: Data("hello, world".utf8)).fieldValue
        let headers: HTTPHeaders = ["Content-Range": "bytes 0-4/12", "Repr-Digest": whole]
        var right = headers
        right["Content-Digest"] = try Self.right()
        let required = DigestVerifier(isRequired: true)
        _ = try await content(step(right, status: 206), isStreamed: isStreamed, required)
        right["Content-Digest"] = whole
        await expectFailure(.digestMismatch) { _ = try await content(step(right, status: 206), isStreamed: isStreamed) }
        // The digest of the whole doesn't verify the part.
        let missing = await failure {
            _ = try await content(step(headers, status: 206), isStreamed: isStreamed, required)
        }
        #expect(missing?.code == .digestMissing)
    }

    @Test("Responses without content aren't verified", .shows("RFC 9530 §3.1"))
    func withoutContent() async throws {
        let wrong: HTTPHeaders = ["Content-Digest": try Self.wrong(), "Repr-Digest": try Self.wrong()]
        let required = DigestVerifier(isRequired: true)
        for isStreamed in [false, true] {
            _ = try await content(step(wrong, Data()), to: "HEAD", isStreamed: isStreamed, required)
            _ = try await content(step(wrong, status: 204, Data()), to: "PATCH", isStreamed: isStreamed, required)
            _ = try await content(step([:], status: 204, Data()), isStreamed: isStreamed, required)
        }
        // The representation of a created resource isn't in the response.
        let created: HTTPHeaders = ["Repr-Digest": try Self.wrong(), "Content-Length": "0", "Location": "/1"]
        for isStreamed in [false, true] {
            _ = try await content(step(created, status: 201, Data()), to: "POST", isStreamed: isStreamed)
        }
        await expectFailure(.digestMismatch) {
            _ = try await content(step(["Repr-Digest": try Self.wrong()], status: 201), to: "POST")
        }
    }

    @Test("A missing digest is an error if it's required", .shows("N13"), arguments: [false, true])
    func missing(isStreamed: Bool) async throws {
        let required = DigestVerifier(isRequired: true)
        for headers: HTTPHeaders in [[:], ["Content-Digest": "md5=:AAAA:"], ["Digest": "SHA-256=AAAA"]] {
            let error = await failure { _ = try await content(step(headers), isStreamed: isStreamed, required) }
            #expect(error?.code == .digestMissing && error?.errorCode == -1015)
            _ = try await content(step(headers), isStreamed: isStreamed)
        }
        for field in HTTPDigest.Field.allCases {
            _ = try await content(step([field.rawValue: try Self.right()]), isStreamed: isStreamed, required)
        }
    }

    @Test("An error response doesn't need a digest, but is verified if it has one", arguments: [false, true])
    func errors(isStreamed: Bool) async throws {
        let required = DigestVerifier(isRequired: true)
        await expectStatus(500) { _ = try await content(step([:], status: 500), isStreamed: isStreamed, required) }
        let wrong: HTTPHeaders = ["Content-Digest": try Self.wrong()]
        await expectFailure(.digestMismatch) { _ = try await content(step(wrong, status: 404), isStreamed: isStreamed) }
    }

    @Test(
        "Decoded content can't be verified, and coded content can",
        .shows("N14"),
        arguments: TransportUnderTest.allCases,
        [false, true]
    )
    func decoded(_ transport: TransportUnderTest, isStreamed: Bool) async throws {
        let coded = Data(GzipText.coded("hello"))
        let headers: HTTPHeaders = [
            "Content-Encoding": "gzip", "Content-Digest": try HTTPDigest(of: coded).fieldValue,
        ]
        try await withLoopbackServer { server async throws in
            server.on(.get, "/", LoopbackResponse(headers: headers, body: coded))
            try await transport.run { transport in
                let client = NetworkClient(transport: transport, interceptors: [DigestVerifier()])
                let error = await failure {
                    let request = request("GET", server.url(for: "/"))
                    if isStreamed {
                        _ = try await client.stream(request).stream.collect(upTo: 100)
                    } else {
                        _ = try await client.makeRequest(request)
                    }
                }
                #expect(error?.code == .digestUnverifiable && error?.errorCode == -1015)
            }
            var configuration = CurlTransport.Configuration(proxy: .none)
            configuration.decodesContent = false
            try await withCurl(configuration) { transport in
                let client = NetworkClient(transport: transport, interceptors: [DigestVerifier(isRequired: true)])
                let body = try await client.makeRequest(request("GET", server.url(for: "/")))
                #expect(body == coded)
            }
        }
    }

    @Test("A decoded response without a digest is accepted unless one is required")
    func decodedWithoutDigest() async throws {
        let coded = Data(GzipText.coded("hello"))
        try await withLoopbackServer { server async throws in
            server.on(.get, "/", LoopbackResponse(headers: ["Content-Encoding": "gzip"], body: coded))
            let request = request("GET", server.url(for: "/"))
            #expect(try await NetworkClient(interceptors: [DigestVerifier()]).makeRequest(request) == Self.content)
            await expectFailure(.digestMissing) {
                _ = try await NetworkClient(interceptors: [DigestVerifier(isRequired: true)]).makeRequest(request)
            }
        }
    }

    @Test(
        "Verifies digests in trailer fields",
        .shows("N13", "RFC 9530 §6.4"),
        arguments: [false, true],
        HTTPDigest.Field.allCases
    )
    func trailers(isStreamed: Bool, field: HTTPDigest.Field) async throws {
        let cases: [(String?, Bool, NetworkError.Code?)] = [
            (try Self.right(), false, nil), (try Self.right(.sha512), true, nil),
            (try Self.wrong(.sha512), false, .digestMismatch), (try Self.wrong(), true, .digestMismatch),
            (nil, false, nil), (nil, true, .digestMissing), ("md5=:AAAA:", true, .digestMissing),
            ("sha-256=1", true, .invalidField),
        ]
        try await withLoopbackServer { server async throws in
            for (value, isRequired, code) in cases {
                let trailers = HTTPHeaders(value.map { [HTTPHeaders.Field(name: field.rawValue, value: $0)] } ?? [])
                server.on(.get, "/") { _ in
                    .chunked([Self.content], headers: ["Trailer": "X, \(field.rawValue)"], trailers: trailers)
                }
                let client = NetworkClient(interceptors: [DigestVerifier(isRequired: isRequired)])
                await expectFailure(code, comment: "\(value ?? "none"), \(isRequired)") {
                    let request = request("GET", server.url(for: "/"))
                    if isStreamed {
                        let response = try await client.stream(request)
                        #expect(try await response.stream.collect(upTo: 100) == Self.content)
                    } else {
                        #expect(try await client.makeRequest(request) == Self.content)
                    }
                }
            }
        }
    }

    @Test("Before a cache, it prevents the storage of wrong content", .shows("N16"))
    func cache() async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=60", "Content-Digest": try Self.right()]
        let transport = MockTransport(step(headers, Data("wrong".utf8)), step(headers))
        let client = NetworkClient(
            transport: transport,
            interceptors: [DigestVerifier(isRequired: true), CacheInterceptor()]
        )
        await expectFailure(.digestMismatch) { _ = try await client.makeRequest(request()) }
        for _ in 0..<2 { #expect(try await client.makeRequest(request()) == Self.content) }
        #expect(transport.requests.count == 2)
    }

    @Test("A 304 doesn't replace the digest of stored content")
    func revalidation() async throws {
        let headers: HTTPHeaders = ["Cache-Control": "no-cache", "ETag": "\"1\"", "Content-Digest": try Self.right()]
        let notModified: HTTPHeaders = ["ETag": "\"1\"", "Content-Digest": try HTTPDigest(of: Data()).fieldValue]
        let transport = MockTransport(step(headers), step(notModified, status: 304, Data()))
        let client = NetworkClient(
            transport: transport,
            interceptors: [CacheInterceptor(), DigestVerifier(isRequired: true)]
        )
        for _ in 0..<2 { #expect(try await client.makeRequest(request()) == Self.content) }
        #expect(transport.requests.count == 2)
    }
}
