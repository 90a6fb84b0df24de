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
        .shows("H3"),
        arguments: TransportUnderTest.allCases,
        Stray.all
    )
    func strayAtOnce(_ transport: TransportUnderTest, _ stray: Stray) async throws {
        try await check(transport, stray, isLate: false)
    }

    @Test("Bytes received on an idle connection aren't the next response", .shows("H3"), arguments: Stray.all)
    func strayLater(_ stray: Stray) async throws {
        try await check(.curl, stray, isLate: true)
    }

    private func check(_ transport: TransportUnderTest, _ stray: Stray, isLate: Bool) async throws {
        let (isRead, isSent) = (AsyncGate(), ResponseGate())
        try await transport.run { connection in
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
        } _: { transport, peer in
            let first = HTTPRequest(method: stray.method, url: peer.url("/1"))
            let response = try await transport.send(first, limits: .generous())
            #expect(String(decoding: response.body, as: UTF8.self) == stray.body)
            isRead.open()
            try await isSent.wait()
            for way in Way.allCases {
                let next = try await way.response(to: HTTPRequest(url: peer.url("/2")), by: transport)
                #expect(String(decoding: next.body, as: UTF8.self) == "good")
            }
        }
    }

    @Test("Bytes received while another stream waits for its reader aren't the next response")
    func strayBesideStream() async throws {
        let (isRead, isSent) = (AsyncGate(), ResponseGate())
        try await TransportUnderTest.curl.run { connection in
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
        } _: { transport, peer in
            let waiting = try await transport.open(peer.url("/much"))
            for path in ["/1", "/2"] {
                let request = HTTPRequest(url: peer.url(path))
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

    // RFC 9112 §9.5: a connection whose response wasn't read completely can't be reused.
    @Test(
        "The response to a cancelled request isn't the next request's",
        .shows("H3"),
        arguments: TransportUnderTest.allCases,
        Way.allCases
    )
    func lateResponse(_ transport: TransportUnderTest, _ way: Way) async throws {
        let (hasArrived, isCancelled) = (ResponseGate(), AsyncGate())
        try await transport.run { connection in
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
        } _: { transport, peer in
            let task = Task {
                try await way.response(to: HTTPRequest(url: peer.url("/1")), by: transport).status
            }
            try await hasArrived.wait()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            isCancelled.open()
            let response = try await transport.get(peer.url("/2"))
            #expect(response.body == Data("good".utf8))
            #expect(peer.requests.map { $0.prefix(6) } == ["GET /1", "GET /2"])
        }
    }

    @Test("The rest of a cancelled body isn't the next response", arguments: TransportUnderTest.allCases)
    func abandonedBody(_ transport: TransportUnderTest) async throws {
        let isCancelled = AsyncGate()
        try await transport.run { connection in
            try connection.readRequest()
            guard connection.number == 0 else {
                try connection.send(Self.good)
                return try connection.waitForClose()
            }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 62\r\n\r\nhello")
            isCancelled.waitBlocking()
            try connection.send(Self.evil)
            try connection.waitForClose()
        } _: { transport, peer in
            let stream = try await transport.open(peer.url("/1"), .generous())
            var iterator = stream.body.makeAsyncIterator()
            #expect(try await iterator.next() == Data("hello".utf8))
            stream.body.cancel()
            await #expect(throws: CancellationError.self) { try await iterator.next() }
            isCancelled.open()
            let response = try await transport.get(peer.url("/2"))
            #expect(response.body == Data("good".utf8))
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
                try connection.send(TCPPeer.hello)
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
                    let response = try await way.response(to: HTTPRequest(url: peer.url(path)), by: transport)
                    #expect(response.body == Data("hello".utf8))
                }
                await expectFailure(.connectionLost) {
                    _ = try await way.response(to: HTTPRequest(url: peer.url("/silent")), by: transport)
                }
                let response = try await transport.get(peer.url("/good"))
                #expect(response.body == Data("good".utf8))
            }
            #expect(peer.acceptedCount >= 5)
        }
    }
}

/// Requests with large bodies to servers that respond in unusual ways.
@Suite("Transport conformance: uploads", .limitedConcurrency)
struct ConformanceUploadTests {
    typealias Way = ConformanceTests.Way

    // Not `Data`, because LeakSanitizer doesn't find the storage of a static one.
    private static let octets: [UInt8] = {
        let part = (0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        return (0..<128).reduce(into: []) { octets, _ in octets += part }
    }()
    private static var body: Data { Data(octets) }
    /// 20 MiB of zeros.
    private static let bomb = GzipText.coded(String(decoding: Data(count: 20 << 20), as: UTF8.self))

    private func request(_ peer: TCPPeer, _ headers: HTTPHeaders = [:]) -> HTTPRequest {
        HTTPRequest(method: .put, url: peer.url, headers: headers, body: .data(Self.body))
    }

    @Test("Sends a large body completely", arguments: TransportUnderTest.allCases, Way.allCases)
    func large(_ transport: TransportUnderTest, _ way: Way) async throws {
        try await transport.run { connection in
            let head = try connection.readHead()
            if head.contains("100-continue") { try connection.send("HTTP/1.1 100 Continue\r\n\r\n") }
            let isSame = try connection.readExactly(Self.body.count) == Array(Self.body)
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\(isSame ? "same" : "else")")
            try connection.waitForClose()
        } _: { transport, peer in
            let response = try await way.response(to: request(peer), by: transport)
            #expect(response.body == Data("same".utf8))
        }
    }

    // RFC 9112 §9.3 and RFC 9110 §15.5.14: a server may respond and close before it has read the
    // body.
    @Test("Delivers a response that arrives during the body", arguments: TransportUnderTest.allCases, Way.allCases)
    func earlyAnswer(_ transport: TransportUnderTest, _ way: Way) async throws {
        try await transport.run { connection in
            try connection.readHead()
            _ = try connection.readExactly(1000)
            try connection.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")
            // Reading on keeps a reset from discarding the response (RFC 9112 §9.6).
            try connection.waitForClose()
        } _: { transport, peer in
            let response = try await way.response(to: request(peer), by: transport)
            #expect(response.status == 413)
            #expect(response.body == Data("big".utf8))
        }
    }

    @Test("Delivers the response of a server that stops reading", arguments: TransportUnderTest.allCases, Way.allCases)
    func answerInsteadOfReading(_ transport: TransportUnderTest, _ way: Way) async throws {
        let isDelivered = AsyncGate()
        try await transport.run { connection in
            try connection.readHead()
            try connection.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
            isDelivered.waitBlocking()
            try connection.waitForClose()
        } _: { transport, peer in
            let response = try await way.response(to: request(peer), by: transport)
            isDelivered.open()
            #expect(response.status == 403)
            #expect(response.body == Data("no".utf8))
        }
    }

    @Test(
        "Reports a lost connection when the server disconnects during the body",
        arguments: TransportUnderTest.allCases
    )
    func lost(_ transport: TransportUnderTest) async throws {
        _ = try await transport.run { connection in
            try connection.readHead()
            connection.reset()
        } _: { transport, peer in
            await expectFailure(.connectionLost) { _ = try await transport.send(request(peer), limits: .generous()) }
        }
    }

    // RFC 9110 §10.1.1: a client doesn't wait indefinitely for 100 (Continue).
    @Test("Sends the body after a while if the server doesn't respond to Expect", arguments: Way.allCases)
    func withoutContinue(_ way: Way) async throws {
        try await withCurl { connection in
            let head = try connection.readHead()
            let octets = try connection.readExactly(Self.body.count)
            let isRight = head.contains("Expect: 100-continue\r\n") && octets == Array(Self.body)
            try connection.send("HTTP/1.1 \(isRight ? 200 : 400) \r\nContent-Length: 0\r\n\r\n")
            try connection.waitForClose()
        } _: { transport, peer in
            let response = try await way.response(to: request(peer, ["Expect": "100-continue"]), by: transport)
            #expect(response.status == 200)
        }
    }

    // RFC 9110 §10.1.1: a final response instead of 100 (Continue) means that the server doesn't
    // want the body.
    @Test("Delivers a final response to Expect and doesn't send the body", arguments: Way.allCases)
    func finalInsteadOfContinue(_ way: Way) async throws {
        try await withPeer { connection in
            try connection.readHead()
            try connection.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 3\r\n\r\nwho")
            if (try? connection.read(1)) != nil { connection.peer.record("the body was sent") }
        } _: { peer in
            try await withCurl { transport in
                let response = try await way.response(to: request(peer, ["Expect": "100-continue"]), by: transport)
                #expect(response.status == 401)
                #expect(response.body == Data("who".utf8))
            }
            #expect(peer.requests.isEmpty)
        }
    }

    // The caller's limit applies to the decoded body: 20 MiB of zeros compress to 20 KiB.
    @Test(
        "Rejects a small body that decodes to a large one",
        .shows("H5"),
        arguments: TransportUnderTest.allCases,
        Way.allCases
    )
    func bomb(_ transport: TransportUnderTest, _ way: Way) async throws {
        let coded = Self.bomb
        #expect((1000..<100_000).contains(coded.count))
        _ = try await transport.run { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(coded.count)\r\n\r\n")
            try connection.send(coded)
            try connection.waitForClose()
        } _: { transport, peer in
            await expectFailure(.bodyTooLarge) {
                _ = try await way.response(
                    to: HTTPRequest(url: peer.url),
                    by: transport,
                    limits: .generous(maximumBodySize: 1 << 20)
                )
            }
        }
    }
}
