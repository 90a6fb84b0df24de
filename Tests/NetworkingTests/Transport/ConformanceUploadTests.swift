import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

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

    private func request(_ peer: TCPPeer, _ headers: HTTPHeaders = [:]) -> HTTPTransportRequest {
        HTTPTransportRequest(method: .put, url: peer.url, headers: headers, body: .data(Self.body))
    }

    @Test("Sends a large body completely", arguments: TransportUnderTest.allCases, Way.allCases)
    func large(_ transport: TransportUnderTest, _ way: Way) async throws {
        try await withPeer { connection in
            let head = try connection.readHead()
            if head.contains("100-continue") { try connection.send("HTTP/1.1 100 Continue\r\n\r\n") }
            let isSame = try connection.readExactly(Self.body.count) == Array(Self.body)
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\(isSame ? "same" : "else")")
            try connection.waitForClose()
        } _: { peer in
            try await transport.run { transport in
                let response = try await way.response(to: request(peer), by: transport)
                #expect(response.body == Data("same".utf8))
            }
        }
    }

    // RFC 9112 §9.3 and RFC 9110 §15.5.14: a server may respond and close before it has read the
    // body.
    @Test("Delivers a response that arrives during the body", arguments: TransportUnderTest.allCases, Way.allCases)
    func earlyAnswer(_ transport: TransportUnderTest, _ way: Way) async throws {
        try await withPeer { connection in
            try connection.readHead()
            _ = try connection.readExactly(1000)
            try connection.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")
            // Reading on keeps a reset from discarding the response (RFC 9112 §9.6).
            try connection.waitForClose()
        } _: { peer in
            try await transport.run { transport in
                let response = try await way.response(to: request(peer), by: transport)
                #expect(response.status == 413)
                #expect(response.body == Data("big".utf8))
            }
        }
    }

    @Test(
        "Delivers the response of a server that stops reading",
        arguments: TransportUnderTest.allCases,
        Way.allCases
    )
    func answerInsteadOfReading(_ transport: TransportUnderTest, _ way: Way) async throws {
        let isDelivered = AsyncGate()
        try await withPeer { connection in
            try connection.readHead()
            try connection.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
            isDelivered.waitBlocking()
            try connection.waitForClose()
        } _: { peer in
            try await transport.run { transport in
                let response = try await way.response(to: request(peer), by: transport)
                isDelivered.open()
                #expect(response.status == 403)
                #expect(response.body == Data("no".utf8))
            }
        }
    }

    @Test(
        "Reports a lost connection when the server disconnects during the body",
        arguments: TransportUnderTest.allCases
    )
    func lost(_ transport: TransportUnderTest) async throws {
        try await withPeer { connection in
            try connection.readHead()
            connection.reset()
        } _: { peer in
            try await transport.run { transport in
                _ = await #expect(throws: NetworkError(.connectionLost, "")) {
                    _ = try await transport.send(request(peer), limits: .generous())
                }
            }
        }
    }

    // RFC 9110 §10.1.1: a client doesn't wait indefinitely for 100 (Continue).
    @Test("Sends the body after a while if the server doesn't respond to Expect", arguments: Way.allCases)
    func withoutContinue(_ way: Way) async throws {
        try await withPeer { connection in
            let head = try connection.readHead()
            let octets = try connection.readExactly(Self.body.count)
            let isRight = head.contains("Expect: 100-continue\r\n") && octets == Array(Self.body)
            try connection.send("HTTP/1.1 \(isRight ? 200 : 400) \r\nContent-Length: 0\r\n\r\n")
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                let response = try await way.response(to: request(peer, ["Expect": "100-continue"]), by: transport)
                #expect(response.status == 200)
            }
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
    @Test("Rejects a small body that decodes to a large one", arguments: TransportUnderTest.allCases, Way.allCases)
    func bomb(_ transport: TransportUnderTest, _ way: Way) async throws {
        let coded = Self.bomb
        #expect((1000..<100_000).contains(coded.count))
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(coded.count)\r\n\r\n")
            try connection.send(coded)
            try connection.waitForClose()
        } _: { peer in
            try await transport.run { transport in
                _ = await #expect(throws: NetworkError(.bodyTooLarge, "")) {
                    _ = try await way.response(
                        to: HTTPTransportRequest(url: peer.url),
                        by: transport,
                        limits: .generous(maximumBodySize: 1 << 20)
                    )
                }
            }
        }
    }
}
