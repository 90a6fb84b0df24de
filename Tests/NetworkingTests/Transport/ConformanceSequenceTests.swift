import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

/// Effects that a request must not have on the next one with the same transport.
@Suite("Transport conformance: successive requests", .limitedConcurrency)
struct ConformanceSequenceTests {
    typealias Way = ConformanceTests.Way

    /// A response, followed by bytes that don't belong to any request.
    struct Stray: Sendable, CustomTestStringConvertible {
        let name: String
        var method = HTTPMethod.get
        let answer: String
        let body: String

        var testDescription: String { name }

        static let all = [
            Self(name: "after a length", answer: "200 OK\r\nContent-Length: 5\r\n\r\nhello", body: "hello"),
            Self(
                name: "after the last chunk",
                answer: "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
                body: "hello"
            ),
            Self(name: "after an empty body", answer: "200 OK\r\nContent-Length: 0\r\n\r\n", body: ""),
            Self(name: "after 204", answer: "204 No Content\r\n\r\n", body: ""),
            Self(name: "after 304", answer: "304 Not Modified\r\nContent-Length: 9\r\n\r\n", body: ""),
            Self(name: "after HEAD", method: .head, answer: "200 OK\r\nContent-Length: 57\r\n\r\n", body: ""),
        ]
    }

    private static let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX: y\r\n\r\nevil"
    private static let good = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"

    // RFC 9112 §9.2: data without a request isn't a response, and the connection must not be used
    // again.
    @Test(
        "Bytes sent together with a response aren't the next response",
        arguments: TransportUnderTest.allCases,
        Stray.all
    )
    func strayAtOnce(_ transport: TransportUnderTest, _ stray: Stray) async throws {
        try await check(transport, stray, isLate: false)
    }

    @Test(
        "Bytes received on an idle connection aren't the next response",
        arguments: Stray.all
    )
    func strayLater(_ stray: Stray) async throws {
        try await check(.curl, stray, isLate: true)
    }

    private func check(_ transport: TransportUnderTest, _ stray: Stray, isLate: Bool) async throws {
        let (isRead, isSent) = (AsyncGate(), ResponseGate())
        try await withPeer { connection in
            try connection.readRequest()
            if connection.number > 0 {
                try connection.send(Self.good)
            } else if isLate {
                try connection.send("HTTP/1.1 " + stray.answer)
                isRead.waitBlocking()
                try connection.send(Self.evil)
            } else {
                try connection.send("HTTP/1.1 " + stray.answer + Self.evil)
            }
            isSent.open()
            while true {
                try connection.readRequest()
                try connection.send(Self.good)
            }
        } _: { peer in
            try await transport.run { transport in
                let first = HTTPTransportRequest(method: stray.method, url: peer.url("/1"))
                let response = try await transport.send(first, limits: .generous())
                #expect(String(decoding: response.body, as: UTF8.self) == stray.body)
                isRead.open()
                try await isSent.wait()
                for way in Way.allCases {
                    let next = try await way.response(to: HTTPTransportRequest(url: peer.url("/2")), by: transport)
                    #expect(String(decoding: next.body, as: UTF8.self) == "good")
                }
            }
        }
    }

    @Test("Bytes received while another stream waits for its reader aren't the next response")
    func strayBesideStream() async throws {
        let (isRead, isSent) = (AsyncGate(), ResponseGate())
        try await withPeer { connection in
            switch connection.number {
            case 0:
                try connection.readRequest()
                let part = [UInt8](repeating: 120, count: 1 << 20)
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(64 << 20)\r\n\r\n")
                for _ in 0..<64 { try connection.send(part) }
            case 1:
                try connection.readRequest()
                try connection.send(Self.good)
                isRead.waitBlocking()
                try connection.send(Self.evil)
                isSent.open()
                try connection.readRequest()
            default:
                try connection.readRequest()
                try connection.send(Self.good)
            }
        } _: { peer in
            try await TransportUnderTest.curl.run { transport in
                let waiting = try await transport.open(
                    HTTPTransportRequest(url: peer.url("/much")),
                    limits: .generous()
                )
                for path in ["/1", "/2"] {
                    let request = HTTPTransportRequest(url: peer.url(path))
                    let response = try await transport.open(request, limits: .generous())
                    #expect(try await response.body.collect(upTo: 10) == Data("good".utf8))
                    isRead.open()
                    try await isSent.wait()
                }
                var count = 0
                for try await part in waiting.body { count += part.count }
                #expect(count == 64 << 20)
            }
        }
    }

    // RFC 9112 §9.5: a connection whose response wasn't read completely can't be reused.
    @Test(
        "The response to a cancelled request isn't the next request's",
        arguments: TransportUnderTest.allCases,
        Way.allCases
    )
    func lateResponse(_ transport: TransportUnderTest, _ way: Way) async throws {
        let (hasArrived, isCancelled) = (ResponseGate(), AsyncGate())
        try await withPeer { connection in
            try connection.readRequest()
            guard connection.number == 0 else {
                try connection.send(Self.good)
                return try connection.waitForClose()
            }
            hasArrived.open()
            isCancelled.waitBlocking()
            try connection.send(Self.evil)
            // URLSession cancels late: its task may have received the response, and then the
            // connection stays usable.
            try connection.readRequest()
            try connection.send(Self.good)
        } _: { peer in
            try await transport.run { transport in
                let task = Task {
                    try await way.response(to: HTTPTransportRequest(url: peer.url("/1")), by: transport).status
                }
                try await hasArrived.wait()
                task.cancel()
                await #expect(throws: NetworkError(.cancelled, "")) { try await task.value }
                isCancelled.open()
                let response = try await transport.get(peer.url("/2"))
                #expect(response.body == Data("good".utf8))
                #expect(peer.requests.map { $0.prefix(6) } == ["GET /1", "GET /2"])
            }
        }
    }

    @Test("The rest of a cancelled body isn't the next response", arguments: TransportUnderTest.allCases)
    func abandonedBody(_ transport: TransportUnderTest) async throws {
        let isCancelled = AsyncGate()
        try await withPeer { connection in
            try connection.readRequest()
            guard connection.number == 0 else {
                try connection.send(Self.good)
                return try connection.waitForClose()
            }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 62\r\n\r\nhello")
            isCancelled.waitBlocking()
            try connection.send(Self.evil)
            try connection.waitForClose()
        } _: { peer in
            try await transport.run { transport in
                let limits = HTTPTransportLimits.generous()
                let stream = try await transport.open(HTTPTransportRequest(url: peer.url("/1")), limits: limits)
                var iterator = stream.body.makeAsyncIterator()
                #expect(try await iterator.next() == Data("hello".utf8))
                stream.body.cancel()
                await #expect(throws: NetworkError(.cancelled, "")) { try await iterator.next() }
                isCancelled.open()
                let response = try await transport.get(peer.url("/2"))
                #expect(response.body == Data("good".utf8))
            }
        }
    }

    // RFC 9112 §9.6: after an orderly close, the other side may or may not be read; its message is
    // complete.
    @Test("Doesn't wait for a server that closes only its side", arguments: TransportUnderTest.allCases, Way.allCases)
    func halfClosed(_ transport: TransportUnderTest, _ way: Way) async throws {
        try await withPeer { connection in
            let request = try connection.readRequest()
            if request.hasPrefix("GET /silent") {
                connection.finishSending()
            } else if request.hasPrefix("GET /length") {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
                connection.finishSending()
            } else if request.hasPrefix("GET /end") {
                try connection.send("HTTP/1.1 200 OK\r\n\r\nhello")
                connection.finishSending()
            } else {
                try connection.send(Self.good)
            }
            try connection.waitForClose()
        } _: { peer in
            try await transport.run { transport in
                for path in ["/end", "/length", "/end"] {
                    let response = try await way.response(to: HTTPTransportRequest(url: peer.url(path)), by: transport)
                    #expect(response.body == Data("hello".utf8))
                }
                await #expect(throws: NetworkError(.connectionLost, "")) {
                    _ = try await way.response(to: HTTPTransportRequest(url: peer.url("/silent")), by: transport)
                }
                let response = try await transport.get(peer.url("/good"))
                #expect(response.body == Data("good".utf8))
            }
            #expect(peer.acceptedCount >= 5)
        }
    }
}
