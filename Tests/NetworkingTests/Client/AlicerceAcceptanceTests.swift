import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

/// The cases of Alicerce's own tests that no other suite covers.
///
/// Docs/Migrating.md explains the outcomes that differ on purpose.
@Suite("Acceptance: Alicerce", .limitedConcurrency, .tags(.concurrency))
struct AlicerceAcceptanceTests {
    private struct Odd: Error, Equatable {}

    private let request = URLRequest(url: URL(string: "https://api.example/things/1?q=1")!, timeoutInterval: .infinity)
    private let time = ManualTime(advancesWhenSleeping: true)

    private func client(_ transport: MockTransport, _ interceptors: any Interceptor...) -> NetworkClient {
        NetworkClient(
            transport: transport,
            interceptors: interceptors,
            options: .init(timeout: nil, timeSource: time.timeSource)
        )
    }

    @Test("Appends to the query of an absolute endpoint, in order", .shows("2.13"))
    func absoluteEndpoints() {
        let plain = "https://api.example/a/"
        #expect(SampleEndpoint(plain).url == plain)
        #expect(SampleEndpoint(plain, query: ["b": 2, "a": 1]).url == "\(plain)?b=2&a=1")
        #expect(SampleEndpoint("\(plain)?x=1&y=2").url == "\(plain)?x=1&y=2")
        #expect(SampleEndpoint("\(plain)?x=1&y=2", query: ["b": 2, "a": 1]).url == "\(plain)?x=1&y=2&b=2&a=1")
    }

    @Test("A resource makes the endpoint's request and fails with the endpoint's error", .shows("0.7", "0.8", "1.8"))
    func requestMaking() async throws {
        var endpoint = SampleEndpoint("https://api.example/a")
        let transport = MockTransport(.status(204))
        let client = NetworkClient(transport: transport)
        _ = try await client.response(for: Resource(endpoint))
        #expect(transport.requests.map(\.url) == [try endpoint.urlRequest().url])
        endpoint.making = { throw Odd() }
        let failing = Resource(endpoint)
        let error = await expectFailure(.requestNotMade) { _ = try await client.response(for: failing) }
        #expect(error?.cause is Odd)
    }

    @Test("A mapped decoding maps the model of the same response and fails with the mapping's error", .shows("1.31"))
    func mapping() throws {
        let url = try #require(request.url)
        let response = HTTPResponse(url: url, status: 200, headers: ["X-A": "1"], body: Data("hello".utf8))
        let length = ModelDecoding<String>.string.map { $0.count }
        #expect(try length.decode(response) == 5)
        let failing = ModelDecoding<String>.string.map { _ -> Int in throw Odd() }
        #expect(throws: Odd()) { _ = try failing.decode(response) }
        #expect(try ModelDecoding<HTTPResponse>.response.decode(response).headers == response.headers)
    }

    @Test(
        "Throws the transport's failure",
        .shows("2.17"),
        arguments: [NetworkError.Code.connectionLost, .tls, .timedOut]
    )
    func transportFailure(code: NetworkError.Code) async throws {
        let error = await expectFailure(code) {
            _ = try await client(MockTransport(.failure(NetworkError(code, "scripted")))).response(for: request)
        }
        #expect(error?.message == "scripted")
        #expect(error?.endpoint == "1")
    }

    @Test("Rejects a response that isn't HTTP", .shows("2.18"))
    func notHTTP() async throws {
        try await withLoopbackServer { server in
            server.fallback { _ in .raw("220 mail.example ESMTP\r\n") }
            await expectFailure(.invalidResponse) {
                _ = try await NetworkClient().response(for: URLRequest(url: server.url(for: "/")))
            }
        }
    }

    @Test("A rule sees each failure with the history until the request succeeds", .shows("1.24"))
    func rules() async throws {
        let seen = Mutex<[String]>([])
        let rule = Retry.Policy.custom { failure in
            let state = failure.context.retryState
            let code = (failure.error as? NetworkError)?.code.description ?? "\(failure.error)"
            seen.withLock {
                $0.append("\(code) \(state.errors.count) \(state.totalDelay == .zero) \(failure.response == nil)")
            }
            return .retry
        }
        let lost = NetworkError(.connectionLost, "scripted")
        let transport = MockTransport(.failure(lost), .failure(lost), .text("ok"))
        #expect(try await client(transport, rule).makeRequest(request) == Data("ok".utf8))
        #expect(seen.withLock { $0 } == ["connectionLost 0 true true", "connectionLost 1 true true"])
    }

    @Test(
        "A throwing authenticator ends the operation before sending; a retrying one is asked again",
        .shows("2.6", "2.8")
    )
    func authenticators() async throws {
        let transport = MockTransport(.status(401), .text("ok"))
        let failing = Changing.request { _ in throw Odd() }
        let error = await expectFailure(.requestNotMade) {
            _ = try await client(transport, failing).response(for: request)
        }
        #expect(error?.cause as? Odd == Odd())
        #expect(transport.requests.isEmpty)
        let authenticator = CountingAuthenticator { status, _ in status == 401 ? .retry : .none }
        #expect(try await client(transport, authenticator).makeRequest(request) == Data("ok".utf8))
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer 1", "Bearer 2"])
    }

    @Test("An authenticator in the chain is only asked about requests that were made", .shows("0.17", "0.19", "1.16"))
    func authenticatorAsInterceptor() async throws {
        let authenticator = CountingAuthenticator { status, _ in status == 401 ? .retryAfter(.seconds(3)) : .none }
        let refusing = Changing.request { _ in throw Odd() }
        await expectFailure(.requestNotMade) {
            try await client(MockTransport(), refusing, authenticator).makeRequest(request)
        }
        let transport = MockTransport(.status(401), .text("ok"))
        #expect(try await client(transport, authenticator).makeRequest(request) == Data("ok".utf8))
        // The request that wasn't made didn't use up a credential.
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer 1", "Bearer 2"])
        #expect(time.sleeps == [.seconds(3)])
    }

    @Test("A policy in the chain gets the failed request and response", .shows("0.14"))
    func policyAsInterceptor() async throws {
        let seen = Mutex<[String]>([])
        let policy = Retry.Policy.custom { failure in
            let body = failure.response.map { String(decoding: $0.body, as: UTF8.self) } ?? ""
            seen.withLock { $0.append("\(failure.request.url.path) \(failure.response?.status ?? 0) \(body)") }
            return .none
        }
        await #expect(throws: ServerError.self) {
            _ = try await client(MockTransport(.text("why", status: 500)), policy).response(for: request)
        }
        #expect(seen.withLock { $0 } == ["/things/1 500 why"])
    }

    @Test("An error about a response has that response; other errors have none", .shows("1.28"))
    func responses() async throws {
        let failed = await #expect(throws: ServerError.self) {
            _ = try await client(MockTransport(.text("no", status: 500))).response(for: request)
        }
        #expect(failed?.httpResponse?.body == Data("no".utf8))
        let endpoint = SampleEndpoint("https://api.example")
        for (step, code) in [(MockTransport.Step.status(200), NetworkError.Code.noData), (.text("no JSON"), .decoding)]
        {
            let error = await expectFailure(code) {
                _ = try await client(MockTransport(step)).fetch(endpoint, as: Int.self)
            }
            #expect(error?.response?.status == 200)
        }
        let lost = await #expect(throws: NetworkError.self) {
            _ = try await client(MockTransport(.failure(NetworkError(.connectionLost, "")))).response(for: request)
        }
        #expect(lost?.response == nil)
    }

    @Test("Exhausted retries throw the last error, with its status and the history", .shows("1.26", "1.28"))
    func lastErrors() async throws {
        let transport = MockTransport(.failure(NetworkError(.connectionLost, "first")), .status(503))
        let error = await expectStatus(503) {
            _ = try await client(transport, Retry.Policy.maxRetries(1)).response(for: request)
        }
        #expect(error?.retry?.state.errors.compactMap { ($0 as? NetworkError)?.code } == [.connectionLost])
        let lost = MockTransport(.status(503), .failure(NetworkError(.connectionLost, "last")))
        let last = await #expect(throws: NetworkError.self) {
            _ = try await client(lost, Retry.Policy.maxRetries(1)).response(for: request)
        }
        #expect(last?.code == .connectionLost)
        #expect(last?.retry?.state.errors.compactMap { ($0 as? ServerError)?.errorCode } == [503])
    }

    @Test("Every policy is asked; a delay wins over none and the longest delay wins", .shows("0.13"))
    func severalPolicies() async throws {
        let asked = EventLog()
        func policy(_ name: String, _ action: Retry.Action) -> Retry.Policy {
            .custom { failure in
                asked.append(name)
                return failure.context.retryState.retryCount == 0 ? action : .none
            }
        }
        let transport = MockTransport(.status(500), .text("ok"))
        _ = try await client(
            transport,
            policy("a", .retryAfter(.seconds(1))),
            policy("b", .retry),
            policy("c", .retryAfter(.seconds(3))),
            policy("d", .retryAfter(.seconds(2)))
        ).response(for: request)
        #expect(time.sleeps == [.seconds(3)])
        let ended = MockTransport(.status(500))
        let error = await #expect(throws: ServerError.self) {
            _ = try await client(ended, policy("e", .noRetry(.retries(0))), policy("f", .retry)).response(for: request)
        }
        // Alicerce's second generation doesn't ask the policies after one that says no.
        #expect(asked.all == ["a", "b", "c", "d", "e", "f"])
        expectReason(.retries(0), error?.retry)
    }

    @Test("Tasks replace cancelables: cancelling twice, all at once, late and too early", .shows("1.43", "2.21"))
    func cancelables() async throws {
        let transport = MockTransport(.text("done"), .never, .never, .never)
        let (client, request) = (client(transport), request)
        let done = Task { try await client.makeRequest(request) }
        #expect(try await done.value == Data("done".utf8))
        done.cancel()
        #expect(try await done.value == Data("done".utf8))
        let errors = await withTaskGroup(of: (any Error)?.self) { group in
            for _ in 0..<3 {
                group.addTask { await thrownError { try await client.makeRequest(request) } }
            }
            try? await transport.waitForRequests(count: 4)
            group.cancelAll()
            group.cancelAll()
            // A task added to a cancelled group is cancelled from the start.
            group.addTask { await thrownError { try await client.makeRequest(request) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors.count == 4 && errors.allSatisfy { $0 is CancellationError })
        #expect(transport.requests.count == 4)
    }
}

/// The cases of STRV's own tests, and the migration scripts of all three systems, that no other
/// suite covers.
@Suite("Acceptance: STRV and scripts", .limitedConcurrency, .tags(.concurrency))
struct STRVAcceptanceTests {
    private struct APIError: Error, Decodable, Equatable { let code: Int }

    private let request = URLRequest(url: URL(string: "https://api.example/things/1")!, timeoutInterval: .infinity)
    private let time = ManualTime(advancesWhenSleeping: true)

    private func client(
        _ transport: any HTTPTransport,
        _ interceptors: [any Interceptor] = [],
        errorDecoding: ErrorDecoding = .problemDetails
    ) -> NetworkClient {
        NetworkClient(
            transport: transport,
            interceptors: interceptors,
            options: .init(timeout: nil, timeSource: time.timeSource, errorDecoding: errorDecoding)
        )
    }

    @Test("Identifies requests by method and URL, ignoring the order of parameters", .shows("4.17"))
    func identity() async throws {
        func endpoint(_ path: URLPath, _ query: URLQuery) -> SampleEndpoint {
            SampleEndpoint("https://reqres.in/api", path: path, query: query)
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "identity-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let recorder = try ExchangeRecorder(
            MockTransport { .init(status: 200, body: Data("\($0.method) \($0.url.path)".utf8)) },
            folder: folder,
            opaqueBodies: .recorded
        )
        let recording = client(recorder)
        _ = try await recording.response(for: Resource(endpoint("users", ["page": 2, "empty": "", "isNew": true])))
        var delete = endpoint("users", [:])
        delete.method = .delete
        _ = try await recording.response(for: Resource(delete))

        let replay = try ReplayTransport(Data(contentsOf: recorder.file))
        let played = client(replay)
        // A plain request, also with its parameters in another order.
        for url in ["page=2&empty=&isNew=true", "isNew=true&page=2&empty="] {
            let request = URLRequest(url: try #require(URL(string: "https://reqres.in/api/users?\(url)")))
            #expect(try await played.makeRequest(request) == Data("GET /api/users".utf8))
        }
        _ = try await played.response(for: Resource(delete))
        for other in [
            endpoint("users", ["page": 3, "empty": "", "isNew": true]), endpoint("users", ["page": 2, "isNew": true]),
            endpoint("things", ["page": 2, "empty": "", "isNew": true]), endpoint("users", [:]),
        ] {
            await expectFailure(.notRecorded) { _ = try await played.response(for: Resource(other)) }
        }
    }

    @Test("Respects the order of repeated parameters", .shows("4.17"))
    func repeated() async throws {
        let har = Data(
            #"""
            {"log":{"version":"1.2","creator":{"name":"t","version":"1"},"entries":[{"startedDateTime":"2026-01-01T00:00:00.000Z",
            "time":1,"request":{"method":"GET","url":"https://a.example/?sort=a&x=1&sort=b","httpVersion":"HTTP/1.1","cookies":[],
            "headers":[],"queryString":[],"headersSize":-1,"bodySize":0},"response":{"status":200,"statusText":"",
            "httpVersion":"HTTP/1.1","cookies":[],"headers":[],"content":{"size":2,"mimeType":"text/plain","text":"ok"},
            "redirectURL":"","headersSize":-1,"bodySize":2},"cache":{},"timings":{"send":0,"wait":1,"receive":0}}]}}
            """#.utf8
        )
        let replay = try ReplayTransport(har)
        func status(_ query: String) async throws -> Int {
            let url = try #require(URL(string: "https://a.example/?\(query)"))
            return try await replay.send(HTTPRequest(url: url), limits: .init()).status
        }
        #expect(try await status("x=1&sort=a&sort=b") == 200)
        await expectFailure(.notRecorded) { _ = try await status("x=1&sort=b&sort=a") }
    }

    @Test("Decodes an API's error once per failure, with the first decoding that applies", .shows("4.14"))
    func errorDecoding() async throws {
        let decoded = EventLog()
        let first = ErrorDecoding { response in
            decoded.append("first \(response.status)")
            return response.status == 404 ? APIError(code: 1) : nil
        }
        let decoding = ErrorDecoding.first(first, .json(APIError.self))
        func apiError(_ step: MockTransport.Step) async -> (any Error)? {
            let error = await #expect(throws: ServerError.self) {
                _ = try await client(MockTransport(step), errorDecoding: decoding).response(for: request)
            }
            return error?.apiError
        }
        #expect(await apiError(.status(404)) as? APIError == APIError(code: 1))
        #expect(await apiError(.json(#"{"code":7}"#, status: 400)) as? APIError == APIError(code: 7))
        #expect(await apiError(.text("no", status: 400)) == nil)
        #expect(decoded.all == ["first 404", "first 400", "first 400"])
        // Three retries are four failures, each decoded once. STRV's processors run repeatedly on
        // one failure.
        let transport = MockTransport(.status(500), .status(500), .status(500), .status(404))
        let retrying = client(transport, [Retry.Policy.maxRetries(3)], errorDecoding: decoding)
        let last = await #expect(throws: ServerError.self) { _ = try await retrying.response(for: request) }
        #expect(last?.apiError as? APIError == APIError(code: 1))
        #expect(decoded.all.dropFirst(3) == ["first 500", "first 500", "first 500", "first 404"])
    }

    @Test("15 concurrent requests, downloads and uploads get their own responses", .shows("4.42"))
    func concurrency() async throws {
        try await withLoopbackServer { server in
            server.fallback { .text("\($0.method) \($0.path) \($0.body.count)") }
            let client = NetworkClient()
            let answers = try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<15 {
                    let url = server.url(for: "/\(number)")
                    group.addTask {
                        String(decoding: try await client.makeRequest(URLRequest(url: url)), as: UTF8.self)
                    }
                    group.addTask {
                        let response = try await client.stream(URLRequest(url: url))
                        return String(decoding: try await response.stream.collect(upTo: 100), as: UTF8.self)
                    }
                    group.addTask {
                        var request = URLRequest(url: url)
                        request.httpMethod = "POST"
                        let body = RequestOptions(body: .data(Data(repeating: 1, count: number * 10_000)))
                        let response = try await client.response(for: request, options: body)
                        return String(decoding: response.body, as: UTF8.self)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let expected = (0..<15).flatMap { ["GET /\($0) 0", "GET /\($0) 0", "POST /\($0) \($0 * 10_000)"] }
            #expect(answers.sorted() == expected.sorted())
        }
    }

    @Test(
        "Script 4: three requests succeed after two 500 responses, or fail after two retries with the history",
        .shows("4.11")
    )
    func retries() async throws {
        let healing = MockTransport(.status(500), .status(500), .text("ok"))
        #expect(try await client(healing, [Retry.Policy.maxRetries(3)]).makeRequest(request) == Data("ok".utf8))
        #expect(healing.requests.count == 3)
        let failing = MockTransport { _ in .init(status: 500) }
        let error = await #expect(throws: ServerError.self) {
            _ = try await client(failing, [Retry.Policy.maxRetries(2)]).makeRequest(request)
        }
        #expect(failing.requests.count == 3)
        // The third error is thrown.
        #expect(error?.errorCode == 500)
        #expect(error?.retry?.state.errors.count == 2)
    }

    @Test("Script 4: delays of 0.1 s × n stay within a total of 0.4 s", .shows("1.23"))
    func backoff() async throws {
        let transport = MockTransport { _ in .init(status: 500) }
        let policy = Retry.Policy.backoff(
            .exponential(.milliseconds(100), jitter: .none, scale: { $0 * $1 }, until: .maxDelay(.milliseconds(400)))
        )
        let error = await #expect(throws: ServerError.self) {
            _ = try await client(transport, [policy]).response(for: request)
        }
        #expect(time.sleeps == [.milliseconds(100), .milliseconds(200), .milliseconds(100)])
        #expect(transport.requests.count == 4)
        #expect(error?.retry?.state.totalDelay == .milliseconds(400))
        expectReason(.delay(.milliseconds(400)), error?.retry)
    }

    @Test("Script 5: the endpoint decides which statuses are accepted, and the error names them", .shows("4.27"))
    func statuses() async throws {
        func status(_ status: Int, _ accepted: AcceptedStatuses) async throws -> Int {
            var endpoint = SampleEndpoint("https://api.example")
            endpoint.acceptedStatuses = accepted
            return try await client(MockTransport(.status(status))).response(for: Resource(endpoint)).status
        }
        let strv: AcceptedStatuses = 200..<400
        #expect(try await status(304, strv) == 304)
        let notFound = await #expect(throws: ServerError.self) { _ = try await status(404, strv) }
        #expect(notFound?.description == "the server answered 404; accepted statuses: 200…399")
        await #expect(throws: ServerError.self) { _ = try await status(200, 400..<500) }
        // A redirect that wasn't followed is only accepted if the endpoint says so.
        await #expect(throws: ServerError.self) { _ = try await status(304, .successful) }
    }
}
