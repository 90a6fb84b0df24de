import Foundation
import FoundationNetworking
import Networking
import Testing

/// Event streams and JSON lines of Python's `http.server`.
@Suite("Interoperability: event streams with Python's http.server", .enabled(if: Interop.isPrepared, Interop.hint))
struct EventStreamInteropTests {
    private struct Report: Decodable, Hashable, Sendable {
        var number: Int
        var title: String
    }

    private func request(_ path: String) throws -> URLRequest {
        URLRequest(url: try #require(URL(string: Interop.required("INTEROP_EVENTS") + path)))
    }

    @Test("Receives every event once, over any number of connections", arguments: Engine.allCases, [1, 3, 20])
    func feed(engine: Engine, count: Int) async throws {
        let options = EventStreamOptions(reconnection: .reconnecting(.constant(.zero, until: .maxRetries(3))))
        var numbers: [Int] = []
        for try await event in engine.client().events(for: try request("/feed?count=\(count)"), options: options) {
            let report = try event.decode(as: Report.self)
            #expect(report.title == "Größe")
            #expect(event.id == "№\(report.number)")
            #expect(event.event == "report\(report.number % 2)")
            numbers.append(report.number)
        }
        #expect(numbers == Array(1...20))
    }

    @Test("Reconnects after a silent connection", arguments: Engine.allCases)
    func silence(engine: Engine) async throws {
        let options = EventStreamOptions(
            reconnectionTime: .zero,
            reconnection: .reconnecting(.constant(.zero, until: .maxRetries(2))),
            request: RequestOptions(idleTimeout: .milliseconds(200))
        )
        let events = engine.client().events(for: try request("/silent"), options: options)
        var iterator = events.makeAsyncIterator()
        let error = await #expect(throws: NetworkError.self) { _ = try await iterator.next() }
        #expect(error?.code == .timedOut)
        #expect(error?.retry?.state.retryCount == 2)
    }

    @Test("Decodes JSON lines", arguments: Engine.allCases)
    func lines(engine: Engine) async throws {
        var count = 0
        for try await report in engine.client().values(of: Report.self, for: try request("/reports?count=5000")) {
            #expect(report.number == count)
            #expect(report.title == String(repeating: "Größe\n", count: count % 50))
            count += 1
        }
        #expect(count == 5000)
    }
}
