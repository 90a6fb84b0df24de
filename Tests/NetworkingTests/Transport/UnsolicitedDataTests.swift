import Foundation
import TestSupport
import Testing

@testable import Networking

/// Data that arrives on a kept connection without a request.
@Suite("Unsolicited data on idle connections", .limitedConcurrency)
struct UnsolicitedDataTests {
    private static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    private static let timeout = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

    /// Runs a test after one of two kept connections has received data, and was closed.
    private func withTwoConnections(
        _ data: String,
        on bad: Int,
        _ test: (CurlTransport, TCPPeer) async throws -> Void
    ) async throws {
        let gates = [AsyncGate(), AsyncGate()]
        let isOver = AsyncGate()
        try await withPeer { connection in
            try connection.readRequest()
            guard connection.number < 2 else {
                while true {
                    try connection.send(Self.hello)
                    try connection.readRequest()
                }
            }
            gates[connection.number].waitBlocking()
            try connection.send(Self.hello)
            guard connection.number == bad else {
                while true {
                    try connection.readRequest()
                    try connection.send(Self.hello)
                }
            }
            isOver.waitBlocking()
            try connection.send(data)
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                // The first connection is kept before the second.
                let first = Task { try await transport.get(peer.url) }
                try await waitUntil { peer.requests.count == 1 }
                let second = Task { try await transport.get(peer.url) }
                try await waitUntil { peer.requests.count == 2 }
                gates[0].open()
                _ = try await first.value
                gates[1].open()
                _ = try await second.value
                try await waitUntil { transport.poolState[peer.url]?.idleConnections == 2 }
                isOver.open()
                try await waitUntil { transport.poolState[peer.url]?.idleConnections == 1 }
                try await test(transport, peer)
            }
        }
    }

    @Test("Requests use the other connection", arguments: [timeout, "\r\n"], [0, 1])
    func others(_ data: String, on bad: Int) async throws {
        try await withTwoConnections(data, on: bad) { transport, peer in
            for _ in 0..<20 { _ = try await transport.get(peer.url) }
            #expect(peer.acceptedCount == 2)
            #expect(transport.poolState[peer.url]?.openedConnections == 2)
        }
    }

    @Test("The server sees the end of the connection", arguments: [timeout, "\r\n"])
    func end(_ data: String) async throws {
        try await withTwoConnections(data, on: 0) { _, peer in
            try await waitUntil { peer.openCount == 1 }
        }
    }
}
