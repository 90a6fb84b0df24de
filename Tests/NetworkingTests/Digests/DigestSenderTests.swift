import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("DigestSender", .limitedConcurrency)
struct DigestSenderTests {
    private static let small = Data("hello".utf8)
    private static let bytes = [UInt8](RangedResource.octets(3 << 20))
    // LeakSanitizer can't see the storage of a static `Data` of this size.
    private static var large: Data { Data(bytes) }
    private static let url = URL(string: "http://a.example/things")!

    private func request(_ body: Data? = nil, _ method: String = "POST", _ headers: HTTPHeaders = [:]) -> URLRequest {
        var request = URLRequest(url: Self.url)
        request.httpMethod = method
        request.httpBody = body
        for field in headers { request.setValue(field.value, forHTTPHeaderField: field.name) }
        return request
    }

    private func sent(
        _ request: URLRequest,
        body: HTTPBody? = nil,
        _ interceptors: [any Interceptor] = [DigestSender()]
    ) async throws -> MockTransport.RecordedRequest {
        let transport = MockTransport(.status(204))
        let client = NetworkClient(transport: transport, interceptors: interceptors)
        _ = try await client.makeRequest(request, options: RequestOptions(body: body))
        return try #require(transport.requests.first)
    }

    @Test("Adds the digest of the body in memory", arguments: [small, large, Data()])
    func data(_ content: Data) async throws {
        let sent = try await sent(request(content))
        #expect(sent.headers.values(for: "Content-Digest") == [try HTTPDigest(of: content).fieldValue])
        #expect(sent.headers["Repr-Digest"] == nil && sent.body == content)
    }

    @Test("Adds the chosen fields with the chosen algorithm")
    func options() async throws {
        let expected = try HTTPDigest(of: Self.small, by: .sha512).fieldValue
        let both = DigestSender([.content, .representation], algorithm: .sha512)
        var sent = try await sent(request(Self.small), [both])
        #expect(sent.headers["Content-Digest"] == expected && sent.headers["Repr-Digest"] == expected)
        sent = try await self.sent(request(Self.small, "PUT", ["Content-Range": "bytes 0-4/10"]), [both])
        #expect(sent.headers["Content-Digest"] == expected && sent.headers["Repr-Digest"] == nil)
        sent = try await self.sent(request(Self.small), [DigestSender([.representation])])
        #expect(sent.headers["Content-Digest"] == nil)
        #expect(sent.headers["Repr-Digest"] == (try HTTPDigest(of: Self.small).fieldValue))
    }

    @Test("Without content, only methods that anticipate it send a digest")
    func empty() async throws {
        for (method, hasDigest) in [("GET", false), ("HEAD", false), ("DELETE", false), ("POST", true), ("PUT", true)] {
            let sent = try await sent(request(nil, method))
            #expect((sent.headers["Content-Digest"] != nil) == hasDigest, "\(method)")
        }
        #expect(try await sent(request(Data(), "DELETE")).headers["Content-Digest"] == nil)
        #expect(try await sent(request(Self.small, "DELETE")).headers["Content-Digest"] != nil)
    }

    @Test("The digest is of the compressed body")
    func compression() async throws {
        let transport = MockTransport(.status(204))
        let client = NetworkClient(
            transport: transport,
            interceptors: [DigestSender()],
            options: NetworkClient.Options(requestCompression: .gzip(minimumSize: 0))
        )
        let text = Data("[\(String(repeating: "1,", count: 2000))1]".utf8)
        _ = try await client.makeRequest(request(text, "POST", ["Content-Type": "application/json"]))
        let sent = try #require(transport.requests.first)
        #expect(sent.headers["Content-Encoding"] == "gzip" && sent.body.count < text.count)
        #expect(sent.headers["Content-Digest"] == (try HTTPDigest(of: sent.body).fieldValue))
    }

    @Test("Each attempt has the digest of its own body")
    func retries() async throws {
        let transport = MockTransport(.status(503), .status(204))
        let client = NetworkClient(transport: transport, interceptors: [Retry.Policy.maxRetries(1), DigestSender()])
        let body = Mutex([Self.large, Self.small])
        let resource = Resource(traits: RequestTraits(isIdempotent: true)) {
            request(body.withLock { $0.removeLast() })
        }
        _ = try await client.response(for: resource)
        let expected = [try HTTPDigest(of: Self.small).fieldValue, try HTTPDigest(of: Self.large).fieldValue]
        #expect(transport.requests.map { $0.headers["Content-Digest"] } == expected)
    }

    @Test("A redirect keeps the digest with the body, and loses it without", arguments: [307, 308, 303, 302])
    func redirects(status: Int) async throws {
        let transport = MockTransport(.status(status, headers: ["Location": "/other"]), .status(204))
        let client = NetworkClient(transport: transport, interceptors: [DigestSender([.content, .representation])])
        _ = try await client.makeRequest(request(Self.small))
        let last = try #require(transport.requests.last)
        #expect(transport.requests.count == 2)
        for field in HTTPDigest.Field.allCases {
            #expect((last.headers[field.rawValue] != nil) == (status > 303))
        }
    }

    @Test("A given digest is kept if it's right", arguments: [HTTPDigest.Algorithm.sha256, .sha512])
    func given(algorithm: HTTPDigest.Algorithm) async throws {
        let value = try HTTPDigest(of: Self.small, by: algorithm).fieldValue + ", md5=:AAAA:"
        #expect(
            try await sent(request(Self.small, "POST", ["Content-Digest": value])).headers["Content-Digest"] == value
        )
        // Without an interceptor, too.
        #expect(
            try await sent(request(Self.small, "POST", ["Content-Digest": value]), []).headers["Content-Digest"]
                == value
        )
    }

    @Test("A stale digest is never sent", .shows("N15"), arguments: [true, false], HTTPDigest.Field.allCases)
    func stale(hasSender: Bool, field: HTTPDigest.Field) async throws {
        let transport = MockTransport(.status(204))
        let change = Changing.request { $0.body = .data(Data("changed".utf8)) }
        let sender = DigestSender([field])
        let client = NetworkClient(transport: transport, interceptors: hasSender ? [sender, change] : [change])
        let value = try HTTPDigest(of: Self.small).fieldValue
        let error = await failure {
            _ = try await client.makeRequest(request(Self.small, "POST", [field.rawValue: value]))
        }
        #expect(error?.code == .digestMismatch && error?.errorCode == -1015)
        #expect(transport.requests.isEmpty)
    }

    @Test("Each algorithm of a given digest has to match")
    func oneWrong() async throws {
        let wrong = try HTTPDigest(of: Self.large, by: .sha512).fieldValue
        let value = try HTTPDigest(of: Self.small).fieldValue + ", \(wrong)"
        let error = await failure { _ = try await sent(request(Self.small, "POST", ["Content-Digest": value])) }
        #expect(error?.code == .digestMismatch)
    }

    @Test("A digest of deprecated algorithms is replaced")
    func deprecated() async throws {
        let sent = try await sent(request(Self.small, "POST", ["Content-Digest": "md5=:AAAA:"]))
        #expect(sent.headers.values(for: "Content-Digest") == [try HTTPDigest(of: Self.small).fieldValue])
        let kept = try await self.sent(request(Self.small, "POST", ["Content-Digest": "md5=:AAAA:"]), [])
        #expect(kept.headers["Content-Digest"] == "md5=:AAAA:")
    }

    @Test("A malformed digest isn't sent", arguments: [true, false])
    func malformed(hasSender: Bool) async throws {
        await expectFailure(.invalidField) {
            _ = try await sent(
                request(Self.small, "POST", ["Content-Digest": "sha-256=x"]),
                hasSender ? [DigestSender()] : []
            )
        }
    }

    @Test(
        "Repr-Digest of a partial body is about other bytes",
        .shows("RFC 9530 §3.1"),
        arguments: ["Content-Range", "Upload-Complete", "Upload-Offset"]
    )
    func partial(field: String) async throws {
        let value = try HTTPDigest(of: Self.large).fieldValue
        let sent = try await sent(request(Self.small, "PUT", [field: "?0", "Repr-Digest": value]), [])
        #expect(sent.headers["Repr-Digest"] == value)
    }

    @Test("A redirect policy's request is checked, too", .shows("N15"))
    func customRedirect() async throws {
        let transport = MockTransport(.status(307, headers: ["Location": "/other"]), .status(204))
        let client = NetworkClient(transport: transport, interceptors: [DigestSender()])
        let options = RequestOptions(
            redirects: .custom { redirect in
                var next = redirect.request
                next.body = .data(Data("changed".utf8))
                return .follow(next)
            }
        )
        let fields: HTTPHeaders = ["Content-Digest": try HTTPDigest(of: Self.small).fieldValue]
        await expectFailure(.digestMismatch) {
            _ = try await client.makeRequest(request(Self.small, "POST", fields), options: options)
        }
        #expect(transport.requests.count == 1)
    }

    @Test(
        "Adds the digest of files, replayable streams and forms",
        .shows("RFC 9530 §2, §3 (messages)"),
        arguments: TransportUnderTest.allCases,
        ["file", "stream", "form"]
    )
    func sources(_ transport: TransportUnderTest, _ kind: String) async throws {
        try await withTemporaryFile(Self.large) { file in
            try await withLoopbackServer { server async throws in
                server.on(.post, "/files", .status(204))
                var form = MultipartFormData()
                try form.append(file: file, name: "file")
                let source: EndpointBody =
                    switch kind {
                    case "file": try .file(file)
                    case "stream": EndpointBody(.stream { AsyncStream.of(Self.large) }, contentType: nil)
                    default: .multipart(form)
                    }
                try await transport.run { transport in
                    let client = NetworkClient(transport: transport)
                    let digest = DigestSender([.content, .representation])
                    _ = try await client.upload(source, to: server.url(for: "/files"), digest: digest).value
                }
                let received = try #require(server.requests.first)
                for field in HTTPDigest.Field.allCases {
                    #expect(try HTTPDigest(field, in: received.headers)?.matches(received.body) == true)
                }
                #expect(kind == "form" || received.body == Self.large)
            }
        }
    }

    @Test(
        "A given digest of a stream is checked while it's sent",
        .shows("N15", "P37", "RFC 9530 §2, §3 (messages)"),
        arguments: TransportUnderTest.allCases,
        [small, large]
    )
    func streams(_ transport: TransportUnderTest, _ content: Data) async throws {
        try await withLoopbackServer { server async throws in
            server.on(.put, "/files", .status(204))
            try await transport.run { transport in
                let client = NetworkClient(transport: transport)
                for (length, field, digested) in [
                    (content.count, "Content-Digest", content), (nil, "Repr-Digest", content),
                    (content.count, "Content-Digest", content + [0]), (nil, "Content-Digest", content.dropLast()),
                    (nil, "Repr-Digest", Data("other".utf8)),
                ] as [(Int?, String, Data)] {
                    let before = server.requests.count
                    let upload = client.upload(
                        EndpointBody(.once(AsyncStream.of(content), length: length), contentType: nil),
                        to: server.url(for: "/files"),
                        method: .put,
                        headers: [field: try HTTPDigest(of: digested).fieldValue],
                        digest: field == "Content-Digest" ? DigestSender() : nil
                    )
                    let isRight = digested == content
                    let error = await failure { _ = try await upload.value }
                    #expect(error?.code == (isRight ? nil : .digestMismatch), "\(field), \(String(describing: length))")
                    // The server never gets a complete request with a wrong digest.
                    #expect(server.requests.count == before + (isRight ? 1 : 0))
                }
            }
        }
    }

    @Test("A body that can be read only once needs a given digest")
    func once() async throws {
        let transport = MockTransport(.status(204))
        let client = NetworkClient(transport: transport, interceptors: [DigestSender()])
        await expectFailure(.bodyNotReplayable) {
            let body = HTTPBody.once(AsyncStream.of(Self.small))
            _ = try await client.makeRequest(request(), options: RequestOptions(body: body))
        }
        #expect(transport.requests.isEmpty)
    }

    @Test("A file that changes after its digest was computed isn't sent completely", .shows("N15"))
    func changedFile() async throws {
        try await withTemporaryFile(Self.large) { file in
            try await withLoopbackServer { server async throws in
                server.on(.post, "/files", .status(204))
                let change = Changing.wire { _ in
                    try (Self.large.dropLast() + [0]).write(to: file)
                }
                let client = NetworkClient(interceptors: [DigestSender(), change])
                await expectFailure(.digestMismatch) {
                    _ = try await client.upload(try .file(file), to: server.url(for: "/files")).value
                }
                #expect(server.requests.isEmpty)
            }
        }
    }

    @Test("An empty file or stream has the digest of zero bytes")
    func emptySources() async throws {
        try await withTemporaryFile(Data()) { file in
            let wrong: HTTPHeaders = ["Content-Digest": try HTTPDigest(of: Self.small).fieldValue]
            for body in [try HTTPBody.file(file), .stream(length: 0) { AsyncStream.of(Data()) }] {
                let sent = try await sent(request(), body: body)
                #expect(sent.headers["Content-Digest"] == (try HTTPDigest(of: Data()).fieldValue))
                let error = await failure { _ = try await self.sent(request(nil, "POST", wrong), body: body) }
                #expect(error?.code == .digestMismatch)
            }
            await expectFailure(.digestMismatch) { _ = try await sent(request(nil, "GET", wrong)) }
        }
    }
}
