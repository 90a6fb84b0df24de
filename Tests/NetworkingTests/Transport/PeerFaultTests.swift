import Foundation
import TestSupport
import Testing

@testable import Networking

/// Faults of a server, which must never be reported as faults of this process.
@Suite("Peer faults", .limitedConcurrency)
struct PeerFaultTests {
    @Test("Reports an invalid response for a header line over libcurl's limit", arguments: [101, 250])
    func headerLine(kibibytes: Int) async throws {
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nX-Long: ")
            try connection.send([UInt8](repeating: 0x61, count: kibibytes << 10))
            try connection.send("\r\nContent-Length: 0\r\n\r\n")
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                let error = await failure { _ = try await transport.get(peer.url) }
                #expect(error?.code == .invalidResponse)
                #expect(error?.message.contains("header") == true)
                #expect(error?.message.contains("100 KiB") == true)
                #expect(error?.message.contains("memory") == false)
            }
        }
    }

    /// Frames that a server sends after its settings.
    struct Frames: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let octets: [UInt8]
        var code = NetworkError.Code.invalidResponse

        static func frame(_ type: UInt8, flags: UInt8 = 0, stream: UInt8, _ payload: [UInt8]) -> [UInt8] {
            [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, stream] + payload
        }

        static let all = [
            Self(testDescription: "a header that HPACK can't read", octets: frame(1, flags: 5, stream: 1, [0x80])),
            Self(
                testDescription: "a header without a status",
                octets: frame(1, flags: 5, stream: 1, [0x40, 1, 0x61, 1, 0x62])
            ),
            Self(testDescription: "data on no stream", octets: frame(0, stream: 0, [0])),
            Self(testDescription: "data before the header", octets: frame(0, stream: 1, [0])),
            Self(testDescription: "a frame larger than allowed", octets: [0x7F, 0xFF, 0xFF, 0, 0, 0, 0, 0, 1]),
            Self(testDescription: "settings of a wrong size", octets: frame(4, stream: 0, [0])),
            Self(testDescription: "a reset for a protocol error", octets: frame(3, stream: 1, [0, 0, 0, 1])),
            Self(testDescription: "HTTP/1.1", octets: Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)),
            Self(
                testDescription: "a reset for an internal error",
                octets: frame(3, stream: 1, [0, 0, 0, 2]),
                code: .connectionLost
            ),
        ]
    }

    @Test("Reports an invalid response for a violation of HTTP/2", arguments: Frames.all)
    func http2(_ frames: Frames) async throws {
        try await withPeer { connection in
            // The preface and the client's first frames.
            _ = try connection.readExactly(24)
            _ = try connection.read(4096)
            try connection.send(Frames.frame(4, stream: 0, []) + frames.octets)
            try connection.waitForClose()
        } _: { peer in
            var configuration = CurlTransport.Configuration(proxy: .none)
            configuration.protocolVersion = .http2PriorKnowledge
            try await withCurl(configuration) { transport in
                let isMissed = CurlLibrary.waitsForever
                let limits = isMissed ? HTTPTransportLimits(deadline: .now + .seconds(3)) : .generous()
                let error = await failure {
                    _ = try await transport.send(HTTPTransportRequest(url: peer.url), limits: limits)
                }
                withKnownIssue("libcurl 8.5 waits for more", isIntermittent: true) {
                    #expect(error?.code == frames.code, "\(error?.description ?? "no error")")
                } when: {
                    isMissed
                }
                #expect(error != nil)
            }
        }
    }

    @Test("Reports a protocol that libcurl lacks as a fault of this process")
    func protocols() throws {
        let origin = try #require(URL(string: "https://a.example/").flatMap { HTTPOrigin($0) })
        func code(_ number: Int, _ text: String, isHTTP2: Bool = false) -> NetworkError.Code? {
            CurlFailure(code: Int32(number), text: text, origin: origin, isHTTP2: isHTTP2)
                .networkError(connectTimeout: .seconds(1), phase: .receiving)?.code
        }
        #expect(code(1, "Protocol \"https\" not supported or disabled in libcurl") == .transportUnavailable)
        for text in ["Lying server, not serving HTTP/2", "Unsupported HTTP version in response", "Received HTTP/0.9"] {
            #expect(code(1, text) == .invalidResponse)
        }
        let closed = "HTTP/2 stream 1 was not closed cleanly"
        #expect(code(92, "\(closed): PROTOCOL_ERROR (err 1)") == .invalidResponse)
        #expect(code(92, "\(closed): INTERNAL_ERROR (err 2)") == .connectionLost)
        #expect(code(18, "\(closed) before end of the underlying stream") == .connectionLost)
        #expect(code(56, "nghttp2_session_mem_recv() returned -902:failed") == .invalidResponse)
        // With HTTP/1.1, the server closed the connection. With HTTP/2, libcurl closed it because
        // of a violation.
        #expect(code(52, "Empty reply from server") == .connectionLost)
        #expect(code(52, "Empty reply from server", isHTTP2: true) == .invalidResponse)
    }

    /// Only a missing protocol is reported as a fault of this process.
    @Test("Reports no other result of libcurl as a fault of this process", arguments: 2...110)
    func codes(number: Int) throws {
        let origin = try #require(URL(string: "https://a.example/").flatMap { HTTPOrigin($0) })
        let error = CurlFailure(code: Int32(number), text: "words", origin: origin)
            .networkError(connectTimeout: .seconds(1), phase: .receiving)
        #expect(error?.code != .transportUnavailable)
    }
}
