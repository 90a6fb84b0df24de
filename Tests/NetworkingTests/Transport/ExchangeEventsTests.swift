import Foundation
import Networking
import Synchronization
import TestSupport
import Testing

/// The events that an observer receives, in order.
@Suite("Request events", .limitedConcurrency)
struct ExchangeEventsTests {
    private static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    /// A log of events.
    private final class Log: Sendable {
        private let events = Mutex<[HTTPTransportEvent]>([])

        func observe(_ event: HTTPTransportEvent) { events.withLock { $0.append(event) } }

        /// The names of the events, with their numbers.
        var names: [String] {
            events.withLock { $0 }.map { event in
                switch event {
                case .started: "started"
                case .resolved: "resolved"
                case .connected: "connected"
                case .secured: "secured"
                case .bodySent(let count): "sent \(count)"
                case .headReceived(let status): "head \(status)"
                case .bodyReceived(let count): "received \(count)"
                case .finished: "finished"
                }
            }
        }

        var metrics: HTTPTransportMetrics? {
            events.withLock { events in
                guard case .finished(let metrics) = events.last else { return nil }
                return metrics
            }
        }
    }

    @Test("Reports a new connection and a kept one", arguments: [false, true])
    func connections(isStreamed: Bool) async throws {
        try await withPeer { connection in
            while true {
                try connection.readRequest()
                try connection.send(Self.hello)
            }
        } _: { peer in
            try await withCurl { transport in
                func exchange() async throws -> Log {
                    let log = Log()
                    let request = HTTPTransportRequest(
                        method: .post,
                        url: peer.url,
                        body: .data(Data("abc".utf8)),
                        observer: { log.observe($0) }
                    )
                    if isStreamed {
                        let response = try await transport.open(request, limits: .generous())
                        _ = try await response.body.collect(upTo: 5)
                    } else {
                        _ = try await transport.send(request, limits: .generous())
                    }
                    return log
                }
                let new = try await exchange()
                #expect(
                    new.names == [
                        "started", "resolved", "connected", "sent 3", "head 200", "received 5", "finished",
                    ]
                )
                let first = try #require(new.metrics)
                #expect(first.isConnectionReused == false)
                #expect(first.version == "HTTP/1.1")
                #expect(first.remoteAddress == "127.0.0.1")
                #expect(first.bodyBytesSent == 3)
                #expect(first.bodyBytesReceived == 5)
                #expect(first.tlsTime == nil)
                let times = [first.queueTime, first.nameLookupTime, first.connectTime, first.firstByteTime]
                    .compactMap(\.self)
                #expect(times.count == 4)
                #expect(times + [first.totalTime] == (times + [first.totalTime]).sorted())

                let kept = try await exchange()
                #expect(kept.names == ["started", "sent 3", "head 200", "received 5", "finished"])
                let second = try #require(kept.metrics)
                #expect(second.isConnectionReused == true)
                #expect(second.nameLookupTime == nil)
                #expect(second.connectTime == nil)
                #expect(second.firstByteTime != nil)
            }
        }
    }

    @Test("Reports the progress of long bodies in both directions")
    func progress() async throws {
        let size = 12 << 20
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
            try connection.send([UInt8](repeating: 0, count: size))
            try connection.waitForClose()
        } _: { peer in
            let log = Log()
            try await withCurl { transport in
                let body = HTTPBody.stream(length: size) {
                    AsyncStream { continuation in
                        for _ in 0..<12 { continuation.yield(Data(count: 1 << 20)) }
                        continuation.finish()
                    }
                }
                let request = HTTPTransportRequest(
                    method: .put,
                    url: peer.url,
                    body: body,
                    observer: { log.observe($0) }
                )
                _ = try await transport.send(request, limits: .generous())
            }
            for word in ["sent ", "received "] {
                let counts = log.names.filter { $0.hasPrefix(word) }.compactMap { Int($0.dropFirst(word.count)) }
                #expect(counts.count > 2)
                #expect(counts == Array(Set(counts)).sorted())
                #expect(counts.last == size)
            }
            let head = try #require(log.names.firstIndex(of: "head 200"))
            #expect(log.names[..<head].allSatisfy { !$0.hasPrefix("received") })
            #expect(log.metrics?.bodyBytesSent == size)
        }
    }

    @Test("Reports the end of a failed request exactly once")
    func failures() async throws {
        let log = Log()
        try await withCurl { transport in
            let request = HTTPTransportRequest(
                url: try #require(URL(string: "http://127.0.0.1:1/")),
                observer: { log.observe($0) }
            )
            #expect(
                await failure { _ = try await transport.send(request, limits: .generous()) }?.code == .cannotConnect
            )
            #expect(log.names == ["started", "resolved", "finished"])
            #expect(log.metrics?.isConnectionReused == nil)
            #expect(log.metrics?.version.isEmpty == true)
            #expect(
                await failure { _ = try await transport.send(request, limits: .milliseconds(-1)) }?.code == .timedOut
            )
            await transport.close()
            #expect(await failure { _ = try await transport.send(request, limits: .generous()) }?.code == .closed)
            #expect(log.names.suffix(3) == ["finished", "finished", "finished"])
            #expect(log.names.count == 5)
        }
    }
}
