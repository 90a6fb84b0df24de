import Foundation
import FoundationNetworking
import Glibc
import MockNetworking
import Networking
import Synchronization
import TestPrograms
import TestSupport
import Testing

@Suite("RequestLogger", .limitedConcurrency)
struct RequestLoggerTests {
    private let time = ManualTime(advancesWhenSleeping: true)

    private func request(_ method: String = "POST") -> URLRequest {
        var request = URLRequest(url: URL(string: "http://a.example/things?token=s3cret&page=1")!)
        request.httpMethod = method
        request.setValue("Bearer s3cret", forHTTPHeaderField: "Authorization")
        if method == "POST" {
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.httpBody = Data(#"{"password":"s3cret","name":"a"}"#.utf8)
        }
        return request
    }

    /// Sends a request and returns the events, without the operation's number.
    private func events(
        _ level: RequestLogger.Level,
        _ steps: MockTransport.Step...,
        method: String = "POST",
        interceptors: [any Interceptor] = [],
        redaction: Redaction = .standard,
        curl: Bool = false,
        maximumBodyLength: Int = 4_096
    ) async -> [String] {
        let log = EventLog()
        let logging = RequestLogger(
            level: level,
            redaction: redaction,
            maximumBodyLength: maximumBodyLength,
            writesCurlCommands: curl,
            sink: { log.append($0) }
        )
        let client = NetworkClient(
            transport: MockTransport(steps: steps, handler: nil),
            interceptors: interceptors,
            options: .init(
                timeout: nil,
                userAgent: UserAgent(applicationName: "a"),
                timeSource: time.timeSource,
                observers: [logging]
            )
        )
        var request = request(method)
        request.setValue("agent", forHTTPHeaderField: "User-Agent")
        request.timeoutInterval = .infinity
        _ = try? await client.makeRequest(request)
        return log.all.map { $0.replacing(/#\d+/, with: "#N") }
    }

    @Test("Logs a line per request and per outcome, with number, size and duration", .shows("3.7"))
    func lines() async {
        let slow = MockTransport.Step.handler { [time] _ in
            time.advance(by: .milliseconds(41))
            return HTTPTransportResponse(status: 503, body: Data("later".utf8))
        }
        let events = await events(.line, slow, .text("ok"), interceptors: [Retry.Policy.maxRetries(1, when: .always)])
        #expect(
            events == [
                "#N.1 POST http://a.example/things?token=REDACTED&page=1, 32 bytes",
                "#N.1 503 HTTP/1.1 after 41 ms, 5 bytes: the server answered 503 to “things”",
                "#N.2 POST http://a.example/things?token=REDACTED&page=1, 32 bytes",
                "#N.2 200 HTTP/1.1 after 0.0 ms, 2 bytes",
            ]
        )
    }

    @Test("Logs the header fields without credentials", .shows("4.28"))
    func headers() async {
        let events = await events(.headers, .text("ok", headers: ["Set-Cookie": "s3cret", "X-A": "b"]), method: "GET")
        #expect(
            events == [
                """
                #N.1 GET http://a.example/things?token=REDACTED&page=1, 0 bytes
                  Authorization: Bearer REDACTED
                  User-Agent: agent
                """,
                """
                #N.1 200 HTTP/1.1 after 0.0 ms, 2 bytes
                  Content-Type: text/plain; charset=utf-8
                  Set-Cookie: REDACTED
                  X-A: b
                """,
            ]
        )
    }

    @Test("Logs truncated bodies without secrets", .shows("4.28"))
    func bodies() async {
        let response = MockTransport.Step.json(
            "{\"access_token\":\"s3cret\",\n\"x\":\"\(String(repeating: "y", count: 99))\"}"
        )
        let events = await events(.body, response, maximumBodyLength: 50)
        #expect(events.count == 2)
        #expect(events[0].hasSuffix("  {\"password\":\"REDACTED\",\"name\":\"a\"}"))
        #expect(events[1].contains("  {\"access_token\":\"REDACTED\",\n  \"x\":\"yyyy"))
        #expect(events[1].hasSuffix("y\n  (truncated; 132 bytes in total)"))
        #expect(!events.joined().contains("s3cret"))
        let marks = await self.events(
            .body,
            .text("a" + String(repeating: "\u{301}", count: 99)),
            maximumBodyLength: 50
        )
        #expect(marks[1].hasSuffix("\n  (truncated; 199 bytes in total)"))
        let image = await self.events(.body, .status(200, headers: ["Content-Type": "image/png"], body: Data([1, 2])))
        #expect(image[1].hasSuffix("  (2 bytes of image/png)"))
    }

    @Test("Logs the reason of a failure, but not the text of other libraries' errors")
    func failures() async {
        struct Odd: Error { let secret = "s3cret" }
        let failed = await events(.line, .failure(NetworkError(.connectionLost, "cut")))
        #expect(failed.last == "#N.1 failed after 0.0 ms: connectionLost: cut")
        let refusing = Changing.request { _ in throw Odd() }
        let notMade = await events(.line, interceptors: [refusing])
        #expect(
            notMade == [
                "#N.1 not made after 0.0 ms: requestNotMade: the request could not be made, and nothing was sent"
            ]
        )
        let distrusting = Changing.response { _ in throw Odd() }
        let distrusted = await events(.line, .text("ok"), interceptors: [distrusting])
        #expect(distrusted.last == "#N.1 200 HTTP/1.1 after 0.0 ms, 2 bytes: Odd")
    }

    @Test("Untrusted text can't start a line or control a terminal", .shows("Z9"))
    func injection() async {
        let events = await events(
            .body,
            .text("a\r\n#9.1 200 forged\u{1B}[2J\u{2028}b", headers: ["X-A": "\u{1B}[31mred"]),
            method: "GET"
        )
        #expect(events[1].contains("  X-A: \u{FFFD}[31mred"))
        #expect(events[1].hasSuffix("\n  a\n  #N.1 200 forged\u{FFFD}[2J\n  b"))
    }

    @Test("Logs the shell command, redacted by default")
    func curl() async {
        let events = await events(.line, .text("ok"), curl: true)
        #expect(
            events[0].contains("\ncurl --globoff --path-as-is --request POST --header 'Authorization: Bearer REDACTED'")
        )
        #expect(!events[0].contains("s3cret"))
        let all = await self.events(.line, .text("ok"), redaction: .insecureNone, curl: true)
        #expect(all[0].contains("Bearer s3cret"))
    }

    @Test("Ignores that standard error is closed")
    func closedError() async {
        await #expect(processExitsWith: .success) {
            close(STDERR_FILENO)
            let client = NetworkClient(
                transport: MockTransport(.text("ok")),
                options: .init(observers: [RequestLogger()])
            )
            _ = try await client.makeRequest(URLRequest(url: URL(string: "http://a.example/")!))
        }
    }

    @Test("Logs the size of a body from the options")
    func optionsBody() async throws {
        let log = EventLog()
        let client = NetworkClient(
            transport: MockTransport(.text("ok")),
            options: .init(observers: [RequestLogger(sink: { log.append($0) })])
        )
        var request = request()
        request.httpBody = nil
        _ = try await client.response(for: request, options: RequestOptions(body: .data(Data(count: 77))))
        #expect(log.all.first?.hasSuffix(", 77 bytes") == true)
    }
}

@Suite("curl commands", .limitedConcurrency)
struct CurlCommandTests {
    /// Returns the words that a POSIX shell parses.
    private func words(_ command: String) throws -> [String] {
        let script = "curl() { for word in \"$@\"; do printf '%s\\036' \"$word\"; done; cat; }\n\(command)"
        let data = try ProgramResult.blocking("/bin/sh", ["-c", script]).output
        return String(decoding: data, as: UTF8.self).split(separator: "\u{1E}", omittingEmptySubsequences: false).map(
            String.init
        )
    }

    @Test("A shell parses every word unchanged", .shows("P12"))
    func quoting() throws {
        let request = HTTPRequest(
            method: .put,
            url: try #require(URL(string: "http://[::1]:8080/a'b?x=$(id)&y=1;z")),
            headers: ["X-A": "it's `id` $HOME \\ \"q\" *", "X-Empty": ""],
            body: .data(Data("@not a file\n'quoted' $(id)\n".utf8))
        )
        let words = try words(request.curlCommand(redaction: .insecureNone))
        #expect(
            words == [
                "--globoff", "--path-as-is", "--request", "PUT", "--header", "X-A: it's `id` $HOME \\ \"q\" *",
                "--header",
                "X-Empty;", "--data-raw", "@not a file\n'quoted' $(id)\n", "http://[::1]:8080/a'b?x=$(id)&y=1;z", "",
            ]
        )
    }

    @Test(
        "A shell parses quotation marks with combining marks, and tildes, unchanged",
        arguments: ["'\u{301}; exit 1 #", "~root"]
    )
    func otherWords(text: String) throws {
        let url = try #require(URL(string: "http://a.example/"))
        let request = HTTPRequest(method: .post, url: url, headers: ["X-A": text], body: .data(Data(text.utf8)))
        let expected = [
            "--globoff", "--path-as-is", "--request", "POST", "--header", "X-A: \(text)", "--data-raw", text,
            "http://a.example/", "",
        ]
        #expect(try words(request.curlCommand(redaction: .insecureNone)) == expected)
    }

    @Test("Pipes binary data in only if nothing is redacted", .shows("H18"))
    func octets() throws {
        let url = try #require(URL(string: "http://a.example/"))
        let request = HTTPRequest(method: .post, url: url, body: .data(Data([0, 0xFF, 0x41])))
        #expect(try words(request.curlCommand(redaction: .insecureNone)).suffix(3).first == "@-")
        #expect(request.curlCommand(redaction: .insecureNone).hasPrefix("printf %s AP9B | base64 -d | curl "))
        #expect(request.curlCommand().hasSuffix(" http://a.example/ # plus a body of 3 bytes"))
    }

    @Test("Writes GET and HEAD")
    func methods() throws {
        var request = HTTPRequest(url: try #require(URL(string: "http://a.example/")))
        #expect(request.curlCommand() == "curl --globoff --path-as-is http://a.example/")
        request.method = .head
        #expect(request.curlCommand() == "curl --globoff --path-as-is --head http://a.example/")
    }
}

@Suite("TraceContext", .limitedConcurrency)
struct TraceContextTests {
    private let example = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    @Test("Parses and formats the specification's example", .shows("W3C Trace Context"))
    func specification() throws {
        let trace = try #require(TraceContext(traceparent: example, tracestate: "rojo=00f067aa0ba902b7"))
        #expect(trace.traceID == "4bf92f3577b34da6a3ce929d0e0e4736" && trace.parentID == "00f067aa0ba902b7")
        #expect(trace.isSampled && trace.state == "rojo=00f067aa0ba902b7")
        #expect(trace.traceparent == example)
        #expect(TraceContext(traceparent: example.replacing(/01$/, with: "02"))?.isSampled == false)
        #expect(
            TraceContext(traceparent: "cc" + example.dropFirst(2) + "-what-the-future-will-be-like")?.isSampled == true
        )
    }

    @Test(
        "Rejects malformed values",
        .shows("W3C Trace Context"),
        arguments: [
            "", "00", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            "0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-+1",
        ]
    )
    func malformed(_ text: String) {
        #expect(TraceContext(traceparent: text) == nil)
    }

    @Test("Attempts of an operation share a trace, with separate spans", .shows("P13"))
    func attempts() async throws {
        let counter = Script()
        let transport = MockTransport(.status(503), .text("ok"), .text("ok"))
        let client = NetworkClient(
            transport: transport,
            interceptors: [Retry.Policy.maxRetries(1)],
            options: .init(observers: [TraceContextObserver(random: { counter.next() })])
        )
        let request = URLRequest(url: try #require(URL(string: "http://a.example/")))
        _ = try await client.makeRequest(request)
        _ = try await client.makeRequest(request)
        var traces: [TraceContext] = []
        for request in transport.requests {
            traces.append(try #require(TraceContext(traceparent: request.headers["traceparent"] ?? "")))
        }
        #expect(traces[0].traceID == traces[1].traceID && traces[0].traceID != traces[2].traceID)
        #expect(Set(traces.map(\.parentID)).count == 3)
        #expect(traces.allSatisfy { $0.isSampled })
        #expect(transport.requests.allSatisfy { $0.headers["tracestate"] == nil })
    }

    private final class Script: Sendable {
        private let log = EventLog()
        func next() -> UInt64 {
            log.append("")
            return UInt64(log.all.count * 2 + 1)
        }
    }

    @Test("Continues the caller's trace, and keeps a request's own traceparent")
    func parent() async throws {
        let transport = MockTransport(.text("ok"), .text("ok"))
        let current = TraceContext(traceparent: example.replacing(/01$/, with: "00"), tracestate: "a=b")
        let client = NetworkClient(transport: transport, options: .init(observers: [TraceContextObserver { current }]))
        var request = URLRequest(url: try #require(URL(string: "http://a.example/")))
        _ = try await client.makeRequest(request)
        request.setValue(example, forHTTPHeaderField: "traceparent")
        _ = try await client.makeRequest(request)
        let first = try #require(TraceContext(traceparent: transport.requests[0].headers["traceparent"] ?? ""))
        #expect(first.traceID == current?.traceID && first.parentID != current?.parentID && !first.isSampled)
        #expect(transport.requests[0].headers["tracestate"] == "a=b")
        #expect(transport.requests[1].headers["traceparent"] == example)
    }
}
