import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

/// The samples about server-sent events and JSON lines.
@Suite("Stream samples", .limitedConcurrency)
struct StreamSnippets {
    private struct Report: Codable, Sendable {
        var title: String
    }

    private func withFeed(_ test: (LoopbackServer) async throws -> Void) async throws {
        try await withLoopbackServer { server async throws in
            let stream = "retry: 0\n\nid: 1\ndata: {\"title\":\"a\"}\n\nid: 2\ndata: {\"title\":\"b\"}\n\n"
            let headers: HTTPHeaders = ["Content-Type": "text/event-stream"]
            server.on(.get, "/feed", .chunked([Data(stream.utf8)], headers: headers), .status(204))
            server.on(.get, "/reports", .text("{\"title\":\"a\"}\n{\"title\":1}\n{\"title\":\"b\"}\n"))
            server.on(.post, "/prompts", .chunked([Data("data: a\n\ndata: [DONE]\n\n".utf8)], headers: headers))
            try await test(server)
        }
    }

    @Test("Receives events, and continues after the last one")
    func events() async throws {
        try await withFeed { server in
            let request = URLRequest(url: server.url(for: "/feed"))
            let client = NetworkClient()
            for try await event in client.events(for: request) {
                print(event.id, event.event, event.data)
            }
            #expect(server.requests.map { $0.headers["Last-Event-ID"] } == [nil, "2"])
        }
    }

    @Test("Decodes events, with other delays")
    func options() async throws {
        try await withFeed { server in
            let request = URLRequest(url: server.url(for: "/feed"))
            let client = NetworkClient()
            let lastEventID = "0"
            let stored = Mutex<[String]>([])
            func store(_ report: Report, lastEventID: String) throws {
                stored.withLock { $0.append(report.title + lastEventID) }
            }

            let options = EventStreamOptions(
                lastEventID: lastEventID,
                reconnectionTime: .seconds(1),
                reconnection: .reconnecting(
                    .exponential(.seconds(1), until: .maxRetries(10))
                )
            )
            for try await event in client.events(for: request, options: options) {
                let report = try event.decode(as: Report.self)
                try store(report, lastEventID: event.id)
            }

            #expect(stored.withLock(\.self) == ["a1", "b2"])
        }
    }

    @Test("Decodes JSON lines, and skips those that can't be decoded")
    func values() async throws {
        try await withFeed { server in
            let request = URLRequest(url: server.url(for: "/reports"))
            let client = NetworkClient()
            await #expect(throws: NetworkError(.decoding, "")) {
                for try await report in client.values(of: Report.self, for: request) {
                    print(report.title)
                }
            }

            var reports = client.values(of: Report.self, for: request)
                .makeAsyncIterator()
            while true {
                do {
                    guard let report = try await reports.next() else { break }
                    print(report.title)
                } catch let error as NetworkError where error.code == .decoding {
                    print(error)
                }
            }
        }
    }

    @Test("Reads the events of another response")
    func response() async throws {
        try await withFeed { server in
            var prompt = URLRequest(url: server.url(for: "/prompts"))
            prompt.httpMethod = "POST"
            let client = NetworkClient()

            let options = RequestOptions(
                timeout: .seconds(600),
                idleTimeout: .seconds(60)
            )
            let response = try await client.stream(prompt, options: options)
            for try await event in response.stream.events() {
                if event.data == "[DONE]" { break }
                print(event.data)
            }
        }
    }
}
