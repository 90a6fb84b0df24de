import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

/// The cases of STRV's own tests, and the migration scripts of all three systems, that no other
/// suite covers.
@Suite("Acceptance: STRV and scripts", .limitedConcurrency)
struct STRVAcceptanceTests {
    private struct APIError: Error, Decodable, Equatable { let code: Int }

    private let request = URLRequest(url: URL(string: "https://api.example/things/1")!, timeoutInterval: .infinity)
    private let time = ManualTime(advancesWhenSleeping: true)

    private func client(
        _ transport: any HTTPTransport,
        _ interceptors: [any RequestInterceptor] = [],
        errorDecoding: ErrorDecoding = .problemDetails
    ) -> NetworkClient {
        NetworkClient(
            transport: transport,
            interceptors: interceptors,
            options: .init(timeout: nil, timeSource: time.timeSource, errorDecoding: errorDecoding)
        )
    }

    @Test("Identifies requests by method and URL, ignoring the order of parameters")
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
        _ = try await recording.fetch(Resource(endpoint("users", ["page": 2, "empty": "", "isNew": true])))
        var delete = endpoint("users", [:])
        delete.method = .delete
        _ = try await recording.fetch(Resource(delete))

        let replay = try ReplayTransport(Data(contentsOf: recorder.file))
        let played = client(replay)
        // A plain request, also with its parameters in another order.
        for url in ["page=2&empty=&isNew=true", "isNew=true&page=2&empty="] {
            let request = URLRequest(url: try #require(URL(string: "https://reqres.in/api/users?\(url)")))
            #expect(try await played.makeRequest(request) == Data("GET /api/users".utf8))
        }
        _ = try await played.fetch(Resource(delete))
        for other in [
            endpoint("users", ["page": 3, "empty": "", "isNew": true]), endpoint("users", ["page": 2, "isNew": true]),
            endpoint("things", ["page": 2, "empty": "", "isNew": true]), endpoint("users", [:]),
        ] {
            await #expect(throws: NetworkError(.notRecorded, "")) { _ = try await played.fetch(Resource(other)) }
        }
    }

    @Test("Respects the order of repeated parameters")
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
            return try await replay.send(HTTPTransportRequest(url: url), limits: .init()).status
        }
        #expect(try await status("x=1&sort=a&sort=b") == 200)
        await #expect(throws: NetworkError(.notRecorded, "")) { _ = try await status("x=1&sort=b&sort=a") }
    }

    @Test(
        "Decodes an API's error once per failure, with the first decoding that applies"
    )
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

    @Test("15 concurrent requests, downloads and uploads get their own responses")
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
        "Script 4: three requests succeed after two 500 responses, or fail after two retries with the history"
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

    @Test("Script 4: delays of 0.1 s × n stay within a total of 0.4 s")
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
        guard case .delay(.milliseconds(400))? = error?.retry?.reason else {
            Issue.record("unexpected reason: \(String(describing: error?.retry?.reason))")
            return
        }
    }

    @Test("Script 5: the endpoint decides which statuses are accepted, and the error names them")
    func statuses() async throws {
        func status(_ status: Int, _ accepted: AcceptedStatuses) async throws -> Int {
            var endpoint = SampleEndpoint("https://api.example")
            endpoint.acceptedStatuses = accepted
            return try await client(MockTransport(.status(status))).fetch(Resource(endpoint)).status
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
