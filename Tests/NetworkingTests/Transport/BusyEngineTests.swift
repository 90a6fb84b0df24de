import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Networking

/// Requests whose engine's thread is busy, here with an observer that blocks it.
@Suite("Deadlines and cancellations while the engine is busy", .limitedConcurrency)
struct BusyEngineTests {
    private static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    /// Runs a test while a request blocks the only engine of a transport.
    ///
    /// Other requests get no response, unless they're sent after the engine was released.
    private func whileBusy(
        _ test: (CurlTransport, _ url: URL, _ release: @Sendable () -> Void) async throws -> Void
    ) async throws {
        let gate = AsyncGate()
        let isBlocked = Mutex(false)
        try await withPeer { connection in
            while true {
                try connection.readRequest()
                try connection.send(Self.hello)
            }
        } _: { peer in
            var configuration = CurlTransport.Configuration(proxy: .none)
            configuration.engineCount = 1
            try await withCurl(configuration) { transport in
                var request = HTTPRequest(url: peer.url("/blocking"))
                request.observer = { event in
                    guard case .headReceived = event else { return }
                    isBlocked.withLock { $0 = true }
                    gate.waitBlocking()
                }
                let blocking = Task { [request] in
                    await failure { _ = try await transport.send(request, limits: .generous()) }
                }
                try await waitUntil { isBlocked.withLock(\.self) }
                do {
                    try await test(transport, peer.url("/other")) { gate.open() }
                } catch {
                    gate.open()
                    throw error
                }
                _ = await blocking.value
            }
        }
    }

    @Test("A request ends at its deadline", .shows("H5"), arguments: [false, true])
    func deadline(isStreamed: Bool) async throws {
        try await whileBusy { transport, url, release in
            var limits = HTTPTransportLimits.milliseconds(20)
            limits.streamsBody = isStreamed
            limits.deadlineEndsWithHeader = isStreamed
            let error = await failure { [limits] in
                _ = try await transport.send(HTTPRequest(url: url), limits: limits)
            }
            #expect(error?.code == .timedOut)
            #expect(error?.timeout == .init(limit: .deadline, phase: .queued))
            release()
            let body = try await transport.get(url).body
            #expect(body == Data("hello".utf8))
        }
    }

    @Test("A cancelled request ends, and each request has one outcome", arguments: [1, 40])
    func cancellation(count: Int) async throws {
        try await whileBusy { transport, url, release in
            let tasks = (0..<count).map { index in
                Task {
                    let request = HTTPRequest(url: url)
                    guard index.isMultiple(of: 2) else {
                        return _ = try await transport.send(request, limits: .generous())
                    }
                    _ = try await transport.open(request, limits: .generous())
                }
            }
            for task in tasks { task.cancel() }
            for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
            release()
            let body = try await transport.get(url).body
            #expect(body == Data("hello".utf8))
        }
    }

    @Test("Closing the transport ends its requests and doesn't wait for the thread")
    func closing() async throws {
        try await whileBusy { transport, url, release in
            let waiting = Task {
                await failure { _ = try await transport.send(HTTPRequest(url: url), limits: .generous()) }
            }
            let unlimited = Task {
                await failure {
                    _ = try await transport.send(HTTPRequest(url: url), limits: HTTPTransportLimits())
                }
            }
            await transport.close()
            #expect(await waiting.value?.code == .closed)
            #expect(await unlimited.value?.code == .closed)
            let error = await failure { _ = try await transport.get(url) }
            #expect(error?.code == .closed)
            release()
        }
    }
}
