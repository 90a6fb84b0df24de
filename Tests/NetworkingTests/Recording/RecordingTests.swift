import Foundation
import FoundationNetworking
import MockNetworking
import TestSupport
import Testing

@testable import Networking

@Suite("ExchangeRecorder and ReplayTransport", .limitedConcurrency, .tags(.concurrency))
struct RecordingTests {
    private let time = ManualTime(date: Date(timeIntervalSince1970: 1_700_000_000.123), advancesWhenSleeping: true)

    private func withFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "recording-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await body(folder)
    }

    private func recorder(
        _ transport: any HTTPTransport,
        _ folder: URL,
        limit: Int = 5,
        opaque: ExchangeRecorder.OpaqueBodies = .omitted,
        maximumBodySize: Int = 1_000,
        redaction: Redaction = .standard
    ) throws -> ExchangeRecorder {
        try ExchangeRecorder(
            transport,
            folder: folder,
            sessionLimit: limit,
            redaction: redaction,
            opaqueBodies: opaque,
            maximumBodySize: maximumBodySize,
            timeSource: time.timeSource
        )
    }

    private func request(
        _ path: String,
        _ method: HTTPMethod = .get,
        headers: HTTPHeaders = [:],
        body: HTTPBody = .none
    ) throws -> HTTPRequest {
        HTTPRequest(
            method: method,
            url: try #require(URL(string: "http://a.example\(path)")),
            headers: headers,
            body: body
        )
    }

    /// Records requests with their responses, and returns a transport that plays them back.
    private func replay(
        _ requests: [HTTPRequest],
        _ steps: MockTransport.Step...,
        opaque: ExchangeRecorder.OpaqueBodies = .omitted,
        comparesBodies: Bool = false
    ) async throws -> ReplayTransport {
        try await withFolder { folder in
            let recorder = try recorder(MockTransport(steps: steps, handler: nil), folder, opaque: opaque)
            for request in requests { _ = try? await send(recorder, request) }
            let data = try Data(contentsOf: recorder.file)
            #expect(HARValidator.violations(in: data) == [])
            return try ReplayTransport(data, comparesBodies: comparesBodies)
        }
    }

    private func send(
        _ transport: any HTTPTransport,
        _ request: HTTPRequest
    ) async throws -> HTTPTransportResponse {
        try await transport.send(request, limits: HTTPTransportLimits())
    }

    private func entries(_ data: Data) throws -> [[String: Any]] {
        let document = try #require(try JSONSerialization.jsonObject(with: data) as? [String: [String: Any]])
        return try #require(document["log"]?["entries"] as? [[String: Any]])
    }

    @Test("Records all kinds of requests as HAR 1.2 without changing them", .shows("P43", "4.29", "HAR 1.2"))
    func document() async throws {
        try await withFolder { folder in
            let answers = MockTransport(
                .json(#"{"a":1}"#, headers: ["X-A": "b"]),
                .status(204),
                .status(404, headers: ["Content-Type": "application/problem+json"], body: Data("{}".utf8)),
                .status(302, headers: ["Location": "/x?token=s3cret"]),
                .failure(NetworkError(.connectionLost, "cut")),
                .status(200, headers: ["Content-Type": "image/png"], body: Data([0xFF, 1]))
            )
            let recorder = try recorder(answers, folder)
            let first = try await send(recorder, request("/a?b=c%20d&e#fragment", headers: ["Accept": "x/y"]))
            #expect(first.status == 200 && first.headers["X-A"] == "b" && first.body == Data(#"{"a":1}"#.utf8))
            let form: HTTPHeaders = ["Content-Type": "application/x-www-form-urlencoded"]
            _ = try await send(recorder, request("/a", .post, headers: form, body: .data(Data("a=b".utf8))))
            _ = try await send(recorder, request("/missing"))
            _ = try await send(recorder, request("/moved"))
            await expectFailure(.connectionLost) { try await send(recorder, request("/lost")) }
            _ = try await send(recorder, request("/image", .put, body: .data(Data([0xFE]))))

            let data = try Data(contentsOf: recorder.file)
            #expect(HARValidator.violations(in: data) == [])
            let entries = try entries(data)
            #expect(entries.count == 6)
            let requests = entries.compactMap { $0["request"] as? [String: Any] }
            let responses = entries.compactMap { $0["response"] as? [String: Any] }
            #expect(entries[0]["startedDateTime"] as? String == "2023-11-14T22:13:20.123Z")
            #expect(requests[0]["url"] as? String == "http://a.example/a?b=c%20d&e")
            #expect(
                requests[0]["queryString"] as? [[String: String]] == [
                    ["name": "b", "value": "c d"], ["name": "e", "value": ""],
                ]
            )
            #expect(requests[0]["headers"] as? [[String: String]] == [["name": "Accept", "value": "x/y"]])
            #expect((requests[1]["postData"] as? [String: String])?["text"] == "a=b")
            #expect(responses.map { $0["status"] as? Int } == [200, 204, 404, 302, 0, 200])
            #expect((responses[0]["content"] as? [String: Any])?["text"] as? String == #"{"a":1}"#)
            #expect(responses[3]["redirectURL"] as? String == "/x?token=REDACTED")
            #expect(responses[4]["_error"] as? String == "connectionLost")
            #expect((responses[5]["content"] as? [String: Any])?["_omitted"] as? Bool == true)
        }
    }

    @Test("Writes no secrets to the file, which only its user can read", .shows("H18", "Z8", "4.31"))
    func redaction() async throws {
        try await withFolder { folder in
            let answers = MockTransport(
                .json(#"{"access_token":"s3cret","expires_in":1}"#, headers: ["Set-Cookie": "a=s3cret"])
            )
            let recorder = try recorder(answers, folder)
            let headers: HTTPHeaders = [
                "Authorization": "Bearer s3cret", "Cookie": "s3cret",
                "Content-Type": "application/x-www-form-urlencoded",
            ]
            let body = HTTPBody.data(Data("grant_type=x&client_secret=s3cret".utf8))
            let response = try await send(
                recorder,
                request("/token?api_key=s3cret", .post, headers: headers, body: body)
            )
            #expect(String(decoding: response.body, as: UTF8.self).contains("s3cret"))
            let text = try String(contentsOf: recorder.file, encoding: .utf8)
            #expect(!text.contains("s3cret"))
            #expect(text.contains("grant_type=x") && text.contains("Bearer REDACTED"))
            let attributes = try FileManager.default.attributesOfItem(atPath: recorder.file.path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
            let open = try self.recorder(MockTransport(.text("s3cret")), folder, redaction: .insecureNone)
            _ = try await send(open, request("/"))
            #expect(try String(contentsOf: open.file, encoding: .utf8).contains("s3cret"))
        }
    }

    @Test("The file is always a complete document, and a truncated one is readable up to the damage")
    func crash() async throws {
        try await withFolder { folder in
            let recorder = try recorder(MockTransport { _ in HTTPTransportResponse(status: 204) }, folder)
            #expect(HARValidator.violations(in: try Data(contentsOf: recorder.file)) == [])
            for index in 1...3 {
                _ = try await send(recorder, request("/\(index)"))
                let data = try Data(contentsOf: recorder.file)
                #expect(HARValidator.violations(in: data) == [])
                #expect(try entries(data).count == index)
            }
            let whole = try Data(contentsOf: recorder.file)
            for cut in stride(from: 0, to: whole.count, by: 17) {
                let torn = whole.prefix(cut)
                let lines = torn.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
                if lines.isEmpty {
                    expectThrown(.decoding) { try ReplayTransport(Data(torn)) }
                } else {
                    let transport = try ReplayTransport(Data(torn))
                    #expect(transport.unusedRequests.count >= lines.count - 1)
                }
            }
        }
    }

    @Test("A failed entry leaves the document complete, and the next entry is written", .shows("4.29"))
    func unwritable() async throws {
        try await withFolder { folder in
            let file = try RecordingFile(in: folder, at: time.date, limit: 1)
            let writer = HAREntryWriter(redaction: .standard, opaqueBodies: .omitted, maximumBodySize: 10)
            var entry = writer.entry(
                try request("/"),
                .success(HTTPTransportResponse(status: 200)),
                began: time.date,
                duration: .seconds(1),
                metrics: nil
            )
            try file.append(entry)
            entry.time = .nan
            #expect(throws: EncodingError.self) { try file.append(entry) }
            entry.time = 1
            try file.append(entry)
            let data = try Data(contentsOf: file.url)
            #expect(HARValidator.violations(in: data) == [])
            #expect(try entries(data).count == 2)
        }
    }

    @Test("Throws at once if the folder can't be created")
    func noFolder() async throws {
        try await withFolder { folder in
            try Data().write(to: folder)
            #expect(throws: (any Error).self) { try recorder(MockTransport(), folder.appending(path: "x")) }
        }
    }

    @Test("Converts metrics to HAR's timings, with -1 for phases that didn't happen")
    func timings() {
        var metrics = HTTPTransportMetrics(totalTime: .milliseconds(100))
        #expect(HAREntry.Timings(metrics).wait == 100 && HAREntry.Timings(metrics).connect == -1)
        metrics.queueTime = .milliseconds(5)
        metrics.nameLookupTime = .milliseconds(15)
        metrics.connectTime = .milliseconds(30)
        metrics.tlsTime = .milliseconds(50)
        metrics.firstByteTime = .milliseconds(90)
        let timings = HAREntry.Timings(metrics)
        #expect([timings.blocked, timings.dns, timings.connect, timings.ssl] == [5, 10, 35, 20])
        #expect([timings.send, timings.wait, timings.receive, timings.total] == [0, 40, 10, 100])
    }

    @Test("Keeps only the newest sessions, and doesn't remove other files", .shows("4.30"))
    func sessions() async throws {
        try await withFolder { folder in
            var files: [URL] = []
            for _ in 0..<4 {
                files.append(try recorder(MockTransport(), folder, limit: 2).file)
                time.advance(by: .seconds(1))
                try Data().write(to: folder.appending(path: "session-notes.har"))
            }
            let exists = files.map { FileManager.default.fileExists(atPath: $0.path) }
            #expect(exists == [false, false, true, true])
            #expect(FileManager.default.fileExists(atPath: folder.appending(path: "session-notes.har").path))
        }
    }

    @Test("Records a streamed body at its end, and a cancelled one as a failure")
    func streaming() async throws {
        try await withFolder { folder in
            let recorder = try recorder(MockTransport(.text("first"), .text("second")), folder)
            let stream = try await recorder.open(request("/1"), limits: HTTPTransportLimits())
            #expect(try entries(Data(contentsOf: recorder.file)).isEmpty)
            #expect(try await stream.body.collect(upTo: 10) == Data("first".utf8))
            var entries = try entries(Data(contentsOf: recorder.file))
            #expect(
                ((entries[0]["response"] as? [String: Any])?["content"] as? [String: Any])?["text"] as? String
                    == "first"
            )
            let other = try await recorder.open(request("/2"), limits: HTTPTransportLimits())
            other.body.cancel()
            entries = try self.entries(Data(contentsOf: recorder.file))
            #expect((entries[1]["response"] as? [String: Any])?["_error"] as? String == "cancelled")
            let replay = try ReplayTransport(Data(contentsOf: recorder.file))
            await #expect(throws: CancellationError.self) { try await send(replay, request("/2")) }
        }
    }

    @Test("Omits a body over the limit entirely", arguments: [true, false], [10, 0, -9])
    func largeBody(_ isStreamed: Bool, _ limit: Int) async throws {
        try await withFolder { folder in
            let text = String(repeating: "x", count: 11)
            let recorder = try recorder(MockTransport(.text(text)), folder, maximumBodySize: limit)
            if isStreamed {
                let stream = try await recorder.open(request("/"), limits: HTTPTransportLimits())
                #expect(try await stream.body.collect(upTo: 100).count == 11)
            } else {
                #expect(try await send(recorder, request("/")).body.count == 11)
            }
            let replay = try ReplayTransport(Data(contentsOf: recorder.file))
            await expectFailure(.notRecorded) { try await send(replay, request("/")) }
        }
    }

    @Test("Plays back responses in order, repeats the last one and lists the entries that weren't used", .shows("4.16"))
    func sequence() async throws {
        let users = try request("/users?page=2")
        let replay = try await replay(
            Array(repeating: users, count: 4) + [request("/users?page=3")],
            .text("0"),
            .status(200),
            .status(400),
            .text("3", headers: ["X-A": "b"]),
            .text("other")
        )
        var responses: [HTTPTransportResponse] = []
        for _ in 0..<7 { responses.append(try await send(replay, users)) }
        #expect(responses.map { String(decoding: $0.body, as: UTF8.self) } == ["0", "", "", "3", "3", "3", "3"])
        #expect(responses.map(\.status) == [200, 200, 400, 200, 200, 200, 200])
        #expect(responses.map { $0.headers["X-A"] } == [nil, nil, nil, "b", "b", "b", "b"])
        #expect(replay.unusedRequests == ["GET http://a.example/users?page=3"])
        #expect(try await send(replay, request("/users?page=3")).body == Data("other".utf8))
        #expect(replay.unusedRequests.isEmpty)
    }

    @Test("Throws for an unrecorded request and lists the recorded ones", .shows("4.16"))
    func unknown() async throws {
        let replay = try await replay([request("/a")], .text("ok"))
        for other in [try request("/b?token=s3cret"), try request("/a", .post), try request("/a?b")] {
            let error = await expectFailure(.notRecorded, mentioning: "GET http://a.example/a") {
                try await send(replay, other)
            }
            #expect(error?.message.contains("s3cret") == false)
        }
    }

    @Test("Matches a request with secrets to its redacted recording")
    func redactedMatch() async throws {
        func login(_ secret: String, _ name: String) throws -> HTTPRequest {
            try request(
                "/login?api_key=\(secret)",
                .post,
                headers: ["Content-Type": "application/json"],
                body: .data(Data(#"{"password":"\#(secret)","name":"\#(name)"}"#.utf8))
            )
        }
        let replay = try await replay([login("one", "a")], .text("ok"), comparesBodies: true)
        #expect(try await send(replay, login("other", "a")).status == 200)
        await expectFailure(.notRecorded, mentioning: "with this body") { try await send(replay, login("one", "b")) }
    }

    @Test("Each body has its own sequence if bodies are matched")
    func bodies() async throws {
        let requests = try [Data("a".utf8), Data([0xFF]), Data("a".utf8)].map { body in
            try request("/", .post, body: .data(body))
        }
        let replay = try await replay(
            requests,
            .text("1"),
            .text("2"),
            .text("3"),
            opaque: .recorded,
            comparesBodies: true
        )
        var answers: [String] = []
        for request in [requests[1]] + requests {
            answers.append(String(decoding: try await send(replay, request).body, as: UTF8.self))
        }
        #expect(answers == ["2", "1", "2", "3"])
    }

    @Test("Plays back binary data unchanged if it was recorded, and throws a recorded failure again with its code")
    func opaque() async throws {
        let octets = Data([0, 0xFF, 0x89, 0x50])
        let replay = try await replay([request("/")], .status(200, body: octets), opaque: .recorded)
        #expect(try await send(replay, request("/")).body == octets)
        let failing = try await self.replay([request("/")], .failure(NetworkError(.tls, "bad chain")))
        await expectFailure(.tls) { try await send(failing, request("/")) }
    }

    @Test("Plays back a browser's recording without HTTP/2's pseudo-header fields", .shows("HAR 1.2"))
    func browser() async throws {
        let har = """
            {"log":{"version":"1.2","creator":{"name":"Browser","version":"1"},"pages":[],"entries":[{"_priority":"High",
            "startedDateTime":"2026-01-01T00:00:00.000+01:00","time":1.5,"cache":{"beforeRequest":null},
            "request":{"method":"GET","url":"http://a.example/#top","httpVersion":"h2","cookies":[],"headers":[],
            "queryString":[],"headersSize":-1,"bodySize":0},
            "response":{"status":200,"statusText":"","httpVersion":"h2","cookies":[],"headers":[{"name":":status","value":"200"},
            {"name":"x-a","value":"b"}],"content":{"size":2,"mimeType":"text/plain","text":"b2s=","encoding":"base64"},
            "redirectURL":"","headersSize":-1,"bodySize":-1},
            "timings":{"send":0,"wait":1,"receive":0.5}}]}}
            """
        let replay = try ReplayTransport(Data(har.utf8))
        let response = try await send(replay, request("/"))
        #expect(response.body == Data("ok".utf8))
        #expect(response.headers.map(\.name) == ["x-a"])
    }

    @Test("Rejects other files", arguments: ["", "{}", "[]", #"{"log":{"entries":[{}]}}"#])
    func noRecording(_ text: String) {
        expectThrown(.decoding) { try ReplayTransport(Data(text.utf8)) }
    }

    @Test("Enforces limits and rejects a malformed request")
    func limits() async throws {
        let replay = try await replay([request("/")], .text("long"))
        await expectFailure(.bodyTooLarge) {
            try await replay.send(request("/"), limits: HTTPTransportLimits(maximumBodySize: 3))
        }
        await expectFailure(.invalidRequest) { try await send(replay, request("/", headers: ["a b": "c"])) }
    }

    @Test("Records a client's requests with timings and plays them back to another client", .shows("P27"))
    func client() async throws {
        try await withFolder { folder in
            try await withLoopbackServer { server async throws in
                server.on(.get, "/start", .status(302, headers: ["Location": "/end"]))
                server.on(.get, "/end", .text("late", status: 503), .text("ok"))
                let recorder = try ExchangeRecorder(CurlTransport(), folder: folder)
                let request = URLRequest(url: server.url(for: "/start"))
                let recording = NetworkClient(transport: recorder, interceptors: [Retry.Policy.maxRetries(1)])
                #expect(try await recording.makeRequest(request) == Data("ok".utf8))
                let har = try Data(contentsOf: recorder.file)
                #expect(HARValidator.violations(in: har) == [])
                let statuses = try entries(har).map { ($0["response"] as? [String: Any])?["status"] as? Int }
                #expect(statuses == [302, 503, 302, 200])
                let replay = try ReplayTransport(har)
                let playing = NetworkClient(transport: replay, interceptors: [Retry.Policy.maxRetries(1)])
                #expect(try await playing.makeRequest(request) == Data("ok".utf8))
                #expect(replay.unusedRequests.isEmpty)
            }
        }
    }
}
