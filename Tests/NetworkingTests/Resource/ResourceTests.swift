import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("Resource", .limitedConcurrency)
struct ResourceTests {
    private typealias Foo = ModelDecodingTests.Foo

    private let endpoint = SampleEndpoint("http://a.example/things/42")
    private let time = ManualTime(advancesWhenSleeping: true)

    private func client(
        _ transport: MockTransport,
        _ interceptors: [any Interceptor] = [],
        errorDecoding: ErrorDecoding = .problemDetails
    ) -> NetworkClient {
        NetworkClient(
            transport: transport,
            interceptors: interceptors,
            options: .init(timeSource: time.timeSource, errorDecoding: errorDecoding)
        )
    }

    @Test("Fetches a response, and decodes its model", .shows("0.2", "0.3", "2.2", "2.3"))
    func fetching() async throws {
        let transport = MockTransport { _ in
            HTTPTransportResponse(status: 200, headers: ["X-A": "b"], body: Data(#"{"foo":"bar"}"#.utf8))
        }
        let client = client(transport)
        let response = try await client.response(for: Resource(endpoint))
        #expect(response.status == 200 && response.headers["X-A"] == "b")
        #expect(try await client.fetch(Resource(endpoint), decoding: .json(Foo.self)) == Foo(foo: "bar"))
        let fetched: Foo = try await client.fetch(Resource(endpoint))
        #expect(fetched == Foo(foo: "bar"))
        #expect(try await client.fetch(Resource(endpoint), as: Foo.self) == fetched)
        #expect(try await client.response(for: endpoint).body == response.body)
        let inferred: Foo = try await client.fetch(endpoint)
        #expect(inferred == Foo(foo: "bar"))
        #expect(try await client.fetch(endpoint, as: Foo.self) == inferred)
        #expect(try await client.fetch(endpoint, decoding: .string) == #"{"foo":"bar"}"#)
        try await client.response(for: endpoint)
        #expect(transport.requests.count == 9)
    }

    @Test("Infers the model from a model endpoint", .shows("0.6"))
    func modelEndpoint() async throws {
        struct GetFoo: ModelEndpoint {
            typealias Model = ModelDecodingTests.Foo
            let id: Int
            var baseURL: URL { URL(string: "http://a.example/api") ?? URL(filePath: "/") }
            var path: URLPath { "/foos/\(id)" }
        }
        struct Touch: ModelEndpoint {
            typealias Model = Void
            var baseURL: URL { URL(string: "http://a.example/api") ?? URL(filePath: "/") }
            var method: HTTPMethod { .post }
        }
        let transport = MockTransport(.json(#"{"foo":"a"}"#), .status(204))
        let foo = try await client(transport).fetch(GetFoo(id: 7))
        #expect(foo == Foo(foo: "a"))
        try await client(transport).fetch(Touch())
        #expect(transport.requests.map(\.url.path) == ["/api/foos/7", "/api"])
        #expect(transport.requests.map(\.method) == [.get, .post])
    }

    @Test("204 and 205 succeed, and decode to Void or an optional", .shows("0.10", "2.11"), arguments: [204, 205])
    func noContent(_ status: Int) async throws {
        let transport = MockTransport { _ in HTTPTransportResponse(status: status) }
        #expect(try await client(transport).response(for: Resource(endpoint)).body.isEmpty)
        #expect(try await client(transport).fetch(endpoint, as: Foo?.self) == nil)
        #expect(try await client(transport).fetch(endpoint, decoding: .data).isEmpty)
        try await client(transport).fetch(endpoint, decoding: .void)
    }

    @Test("Throws noData with the response for a model without content", .shows("1.27", "2.11", "2.16"))
    func noData() async throws {
        let client = client(MockTransport(.status(200, headers: ["X-A": "b"])))
        let error = await expectFailure(.noData) { try await client.fetch(endpoint, as: Foo.self) }
        #expect(error?.response?.status == 200 && error?.response?.headers["X-A"] == "b")
        #expect(error?.endpoint == "42")
    }

    @Test("Decodes the response to HEAD as an optional")
    func head() async throws {
        var endpoint = endpoint
        endpoint.method = .head
        let transport = MockTransport(
            .status(200, headers: ["Content-Type": "application/json", "Content-Length": "9"])
        )
        #expect(try await client(transport).fetch(endpoint, as: Foo?.self) == nil)
    }

    @Test("Doesn't decode a failed fetch", .shows("1.2"))
    func failedFetch() async throws {
        let log = EventLog()
        let decoding = ModelDecoding<Void> { _ in log.append("decoded") }
        let client = client(MockTransport(.status(500)))
        await #expect(throws: ServerError.self) { try await client.fetch(endpoint, decoding: decoding) }
        #expect(log.all.isEmpty)
    }

    @Test("A decoding error names the coding path without quoting the response", .shows("1.2", "2.3"))
    func undecodable() async throws {
        struct Page: Decodable, Sendable {
            struct Item: Decodable, Sendable { var owner: Int }
            var items: [Item]
        }
        let body = #"{"items":[{"owner":1},{"owner":"s3cret"}]}"#
        let log = EventLog()
        let client = client(MockTransport(.json(body)), [RecordingInterceptor("a", log: log)])
        let error = try #require(
            await #expect(throws: NetworkError.self) { try await client.fetch(endpoint, as: Page.self) }
        )
        #expect(error.code == .decoding && error.errorCode == -1017)
        #expect(error.response?.body == Data(body.utf8))
        let failure = try #require(error.cause as? DecodingFailure)
        #expect(failure.kind == .typeMismatch)
        #expect(failure.codingPath == "items[1].owner")
        #expect(failure.underlying is DecodingError)
        var dumped = ""
        dump(failure, to: &dumped)
        for text in ["\(error)", error.localizedDescription, String(reflecting: failure), dumped] {
            #expect(!text.contains("s3cret"))
        }
        #expect("\(error)".contains("items[1].owner"))
        // The retry policy isn't asked.
        #expect(!log.all.contains { $0.contains("failure") })
    }

    @Test(
        "Describes each kind of decoding failure",
        .shows("4.10"),
        arguments: [
            (#"{}"#, DecodingFailure.Kind.missingMember, "“foo” is missing"),
            (#"{"foo":null}"#, .missingValue, "“foo” is null"),
            (#"{"foo":1}"#, .typeMismatch, "“foo” has the wrong type"),
            (#"{"#, .dataCorrupted, "the top-level value is invalid"),
        ]
    )
    func decodingFailures(_ body: String, _ kind: DecodingFailure.Kind, _ text: String) async throws {
        let client = client(MockTransport(.json(body)))
        let error = await #expect(throws: NetworkError.self) { try await client.fetch(endpoint, as: Foo.self) }
        #expect((error?.cause as? DecodingFailure)?.kind == kind)
        #expect((error?.cause as? DecodingFailure)?.description == text)
    }

    @Test("A custom decoding error is the cause, but isn't described")
    func ownError() async throws {
        struct Odd: Error { let secret = "s3cret" }
        let client = client(MockTransport(.text("x")))
        let error = await expectFailure(.decoding) {
            try await client.fetch(endpoint, decoding: ModelDecoding<Int> { _ in throw Odd() })
        }
        #expect((error?.cause as? DecodingFailure)?.underlying is Odd)
        #expect("\(try #require(error))".contains("s3cret") == false)
    }

    @Test("A server error has the decoded API error and the response", .shows("P6", "2.15"))
    func apiError() async throws {
        let transport = MockTransport(.json(#"{"reason":"full"}"#, status: 500, headers: ["X-A": "b"]))
        let resource = Resource(endpoint, errorDecoding: .json(ErrorDecodingTests.Failure.self))
        let error = await #expect(throws: ServerError.self) { try await client(transport).response(for: resource) }
        #expect(error?.apiError as? ErrorDecodingTests.Failure == .init(reason: "full"))
        #expect(error?.errorCode == 500 && error?.endpoint == "42")
        #expect(error?.httpResponse?.headers["X-A"] == "b")
        #expect(error?.response == Data(#"{"reason":"full"}"#.utf8))
        #expect("\(try #require(error))".contains("full") == false)
    }

    @Test("Has no API error without a decoding", .shows("1.10"))
    func noAPIError() async throws {
        let transport = MockTransport(.json(#"{"reason":"full"}"#, status: 500))
        let resource = Resource(endpoint, errorDecoding: ErrorDecoding.none)
        let error = await #expect(throws: ServerError.self) { try await client(transport).response(for: resource) }
        #expect(error?.apiError == nil && error?.errorCode == 500)
    }

    @Test("Decodes problem details by default, also for a plain request", .shows("1.10"))
    func problem() async throws {
        let transport = MockTransport { _ in
            HTTPTransportResponse(
                status: 403,
                headers: ["Content-Type": "application/problem+json"],
                body: Data(#"{"title":"No credit","balance":30}"#.utf8)
            )
        }
        let fetched = await #expect(throws: ServerError.self) { try await client(transport).response(for: endpoint) }
        #expect(fetched?.problem?.title == "No credit")
        #expect(fetched?.problem?.member("balance") == 30)
        let plain = await #expect(throws: ServerError.self) {
            try await client(transport).makeRequest(try endpoint.urlRequest())
        }
        #expect(plain?.problem?.title == "No credit")
    }

    @Test("Uses the client's error decoding if the resource has none", .shows("0.11"))
    func clientErrorDecoding() async throws {
        let transport = MockTransport(.json(#"{"reason":"full"}"#, status: 500))
        let client = client(transport, errorDecoding: .json(ErrorDecodingTests.Failure.self))
        let error = await #expect(throws: ServerError.self) { try await client.response(for: endpoint) }
        #expect(error?.apiError as? ErrorDecodingTests.Failure == .init(reason: "full"))
    }

    @Test("Accepts the endpoint's statuses, and lists them in the error", .shows("4.26"))
    func acceptedStatuses() async throws {
        var endpoint = endpoint
        endpoint.acceptedStatuses = .all
        for status in [200, 400, 404] {
            #expect(try await client(MockTransport(.status(status))).response(for: endpoint).status == status)
        }
        endpoint.acceptedStatuses = 400..<500
        #expect(try await client(MockTransport(.status(404))).response(for: endpoint).status == 404)
        let error = await expectStatus(200) { try await client(MockTransport(.status(200))).response(for: endpoint) }
        #expect(error?.description == "the server answered 200 to “42”; accepted statuses: 400…499")
        endpoint.acceptedStatuses = 200..<400
        #expect(try await client(MockTransport(.status(304))).response(for: endpoint).status == 304)
        let outside = await #expect(throws: ServerError.self) {
            try await client(MockTransport(.status(404))).response(for: endpoint)
        }
        let accepted: AcceptedStatuses = 200..<400
        #expect(outside?.acceptedStatuses == accepted)
    }

    @Test("The client's interceptors are around the resource's", .shows("1.6"))
    func order() async throws {
        let log = EventLog()
        let client = client(MockTransport(.text("ok")), [RecordingInterceptor("client", log: log)])
        _ = try await client.response(
            for: Resource(endpoint, interceptors: [RecordingInterceptor("resource", log: log)])
        )
        #expect(
            log.all == ["client request", "resource request", "resource response 200", "client response 200"]
        )
    }

    @Test("Runs a resource's interceptors and retry policy only for its own requests", .shows("0.20"))
    func ownInterceptors() async throws {
        let transport = MockTransport(.status(503), .text("ok"), .status(503))
        let client = client(transport)
        _ = try await client.response(for: Resource(endpoint, interceptors: [Retry.Policy.maxRetries(1)]))
        await #expect(throws: ServerError.self) { try await client.response(for: Resource(endpoint)) }
        #expect(transport.requests.count == 3)
    }

    @Test("Adds credentials only for endpoints that require authentication")
    func authentication() async throws {
        let transport = MockTransport(.text("ok"), .text("ok"))
        let client = client(transport, [CountingAuthenticator { _, _ in .none }])
        var open = endpoint
        open.requiresAuthentication = false
        _ = try await client.response(for: open)
        _ = try await client.response(for: endpoint)
        #expect(transport.requests.map { $0.headers["Authorization"] } == [nil, "Bearer 1"])
    }

    @Test("Asks the endpoint for a new request for each attempt", .shows("0.9", "1.9"))
    func anew() async throws {
        let (transport, log) = (MockTransport(.status(503), .text("ok")), EventLog())
        var endpoint = endpoint
        endpoint.method = .put
        endpoint.making = {
            log.append("made")
            return .data(Data("\(log.all.count)".utf8))
        }
        _ = try await client(transport, [Retry.Policy.maxRetries(1)]).response(for: endpoint)
        #expect(transport.requests.map(\.body) == [Data("1".utf8), Data("2".utf8)])
    }

    @Test("Makes a resource from a closure, whose error is the cause of requestNotMade", .shows("0.7"))
    func requestMaker() async throws {
        struct Refusal: Error {}
        let url = try endpoint.makeURL()
        let transport = MockTransport(.text("ok"))
        let made = Resource(traits: RequestTraits(acceptedStatuses: [200])) { URLRequest(url: url) }
        #expect(try await client(transport).fetch(made, decoding: .string) == "ok")
        let refused = Resource { throw Refusal() }
        let error = await #expect(throws: NetworkError.self) { try await client(transport).response(for: refused) }
        #expect(error?.code == .requestNotMade && error?.cause is Refusal)
        #expect(transport.requests.count == 1)
    }

    @Test("An endpoint without a URL fails with invalidRequest, and nothing is sent")
    func invalidEndpoint() async throws {
        let transport = MockTransport()
        let bad = SampleEndpoint("https://a.example", path: "/a/\("..")/b")
        await expectFailure(.invalidRequest) { try await client(transport).response(for: bad) }
        #expect(transport.requests.isEmpty)
    }

    @Test("Policies follow the endpoint's isIdempotent, regardless of the method", arguments: [true, false])
    func idempotency(_ isIdempotent: Bool) async throws {
        let transport = MockTransport(.status(503), .text("ok"))
        let url = try endpoint.makeURL()
        let method = isIdempotent ? "POST" : "GET"
        let resource = Resource(
            interceptors: [Retry.Policy.maxRetries(1)],
            traits: RequestTraits(isIdempotent: isIdempotent)
        ) {
            var request = URLRequest(url: url)
            request.httpMethod = method
            return request
        }
        if isIdempotent {
            _ = try await client(transport).response(for: resource)
        } else {
            await #expect(throws: ServerError.self) { try await client(transport).response(for: resource) }
        }
        #expect(transport.requests.count == (isIdempotent ? 2 : 1))
    }

    @Test("Sends a file directly from the disk")
    func file() async throws {
        try await withTemporaryFile(Data("content".utf8)) { url in
            try await withLoopbackServer { server async throws in
                server.on(.put, "/file") { request in .text(String(decoding: request.body, as: UTF8.self)) }
                var endpoint = SampleEndpoint(server.url(for: "/file").absoluteString)
                endpoint.method = .put
                endpoint.making = { try .file(url, contentType: "text/plain") }
                #expect(try await NetworkClient().fetch(endpoint, decoding: .string) == "content")
            }
        }
    }

    @Test("Streams a resource")
    func streaming() async throws {
        let stream = try await client(MockTransport(.text("ok"))).stream(Resource(endpoint))
        #expect(stream.status == 200)
        #expect(try await stream.stream.collect(upTo: 10) == Data("ok".utf8))
        var accepting = endpoint
        accepting.acceptedStatuses = [404]
        let missing = try await client(MockTransport(.text("no", status: 404))).stream(Resource(accepting))
        #expect(try await missing.stream.collect(upTo: 10) == Data("no".utf8))
    }
}
