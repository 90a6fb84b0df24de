import Foundation
import Networking
import Synchronization
import TestSupport
import Testing

/// `CurlTransport.open`, which returns the head first and then the body as it's read.
@Suite("Streamed responses", .limitedConcurrency)
struct StreamedResponseTests {
    private static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    @Test("Returns the head before the body, and the parts as they're sent")
    func headFirst() async throws {
        let goOn = AsyncGate()
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 10\r\nX-A: 2\r\n\r\n")
            goOn.waitBlocking()
            try connection.send("hello")
            goOn.waitBlocking()
            try connection.send("world")
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                let response = try await transport.open(HTTPTransportRequest(url: peer.url), limits: .generous())
                #expect(response.status == 200)
                #expect(response.version == "HTTP/1.1")
                #expect(response.headers.map(\.name) == ["X-A", "Content-Length", "X-A"])
                var parts = response.body.makeAsyncIterator()
                goOn.open()
                #expect(try await parts.next() == Data("hello".utf8))
                goOn.open()
                #expect(try await parts.next() == Data("world".utf8))
                #expect(try await parts.next() == nil)
                #expect(try await parts.next() == nil)
            }
        }
    }

    @Test("Provides trailers at the end, streamed or not", arguments: [false, true])
    func trailers(isStreamed: Bool) async throws {
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            try connection.send("5\r\nhello\r\n0\r\nX-Sum: 1\r\nX-Sum: 2\r\nTransfer-Encoding: gzip\r\n\r\n")
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                let trailers: HTTPHeaders
                if isStreamed {
                    let request = HTTPTransportRequest(url: peer.url)
                    let response = try await transport.open(request, limits: .generous())
                    #expect(response.body.trailers.isEmpty)
                    #expect(try await response.body.collect(upTo: 5) == Data("hello".utf8))
                    trailers = response.body.trailers
                } else {
                    trailers = try await transport.get(peer.url).trailers
                }
                #expect(trailers == ["X-Sum": "1", "X-Sum": "2"])
            }
        }
    }

    @Test("Ends a response without a body at once", arguments: [HTTPMethod.get, .head])
    func noBody(_ method: HTTPMethod) async throws {
        try await withPeer { connection in
            while true {
                try connection.readRequest()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(method == .head ? 5 : 0)\r\n\r\n")
            }
        } _: { peer in
            try await withCurl { transport in
                let request = HTTPTransportRequest(method: method, url: peer.url)
                for _ in 0..<3 {
                    let response = try await transport.open(request, limits: .generous())
                    #expect(try await response.body.collect(upTo: 0).isEmpty)
                }
            }
            #expect(peer.acceptedCount == 1)
        }
    }

    @Test("Removes the coding's fields from a decoded response, but not from a HEAD response")
    func decoded() async throws {
        let text = String(repeating: "The same line, many times over.\n", count: 2000)
        try await withPeer { connection in
            while true {
                let isHead = try connection.readRequest().hasPrefix("HEAD")
                let coded = GzipText.coded(text)
                try connection.send(
                    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nX-A: 1\r\nContent-Length: \(coded.count)\r\n\r\n"
                )
                if !isHead { try connection.send(coded) }
            }
        } _: { peer in
            try await withCurl { transport in
                let response = try await transport.open(HTTPTransportRequest(url: peer.url), limits: .generous())
                #expect(response.headers == ["X-A": "1"])
                #expect(try await response.body.collect(upTo: 1 << 20) == Data(text.utf8))
                let head = HTTPTransportRequest(method: .head, url: peer.url)
                #expect(try await transport.open(head, limits: .generous()).headers.count == 3)
            }
        }
    }

    @Test("Throws errors that occur before the head from open", arguments: [false, true])
    func failureBeforeHead(isRefused: Bool) async throws {
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nX-A: 1\r\n")
            connection.close()
        } _: { peer in
            try await withCurl { transport in
                let url = isRefused ? URL(string: "http://127.0.0.1:1/")! : peer.url
                let error = await failure {
                    _ = try await transport.open(HTTPTransportRequest(url: url), limits: .generous())
                }
                #expect(error?.code == (isRefused ? .cannotConnect : .connectionLost))
            }
        }
    }

    @Test("Delivers the data of a truncated body, and then its error repeatedly")
    func cutOff() async throws {
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
            connection.close()
        } _: { peer in
            try await withCurl { transport in
                let response = try await transport.open(HTTPTransportRequest(url: peer.url), limits: .generous())
                var parts = response.body.makeAsyncIterator()
                #expect(try await parts.next() == Data("hello".utf8))
                for _ in 0..<2 {
                    #expect(await failure { _ = try await parts.next() }?.code == .connectionLost)
                }
                #expect(response.body.trailers.isEmpty)
            }
        }
    }

    @Test("Enforces the maximum body size until the end", arguments: [nil, 100_000])
    func bodyLimit(announced: Int?) async throws {
        try await withPeer { connection in
            try connection.readRequest()
            let framing = announced.map { "Content-Length: \($0)" } ?? "Connection: close"
            try connection.send("HTTP/1.1 200 OK\r\n\(framing)\r\n\r\n")
            try connection.send([UInt8](repeating: 1, count: 100_000))
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                let limits = HTTPTransportLimits.generous(maximumBodySize: 99_999)
                let response = try await transport.open(HTTPTransportRequest(url: peer.url), limits: limits)
                let error = await failure { _ = try await response.body.collect(upTo: .max) }
                #expect(error?.code == .bodyTooLarge)
                #expect(error?.message.contains("99999") == true)
            }
        }
    }

    @Test("Rejects a body that expands too much during decoding", arguments: [false, true])
    func expansion(isStreamed: Bool) async throws {
        let coded = GzipText.coded(String(repeating: "x", count: 8 << 20))
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(coded.count)\r\n\r\n")
            try connection.send(coded)
            try connection.waitForClose()
        } _: { peer in
            func size(_ most: Int?) async throws -> Int {
                var configuration = CurlTransport.Configuration(proxy: .none)
                configuration.maximumExpansion = most
                return try await withCurl(configuration) { transport in
                    guard isStreamed else { return try await transport.get(peer.url).body.count }
                    let response = try await transport.open(HTTPTransportRequest(url: peer.url), limits: .generous())
                    return try await response.body.collect(upTo: .max).count
                }
            }
            let error = await failure { _ = try await size(100) }
            #expect(error?.code == .bodyTooLarge)
            #expect(error?.message.contains("maximumExpansion") == true)
            let sizes = try await [size(nil), size(2000)]
            #expect(sizes == [8 << 20, 8 << 20])
        }
    }

    @Test("Returns the received bytes without decoding")
    func undecoded() async throws {
        let coded = GzipText.coded("hello")
        try await withPeer { connection in
            let request = try connection.readRequest()
            #expect(!request.lowercased().contains("accept-encoding"))
            try connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(coded.count)\r\n\r\n")
            try connection.send(coded)
            try connection.waitForClose()
        } _: { peer in
            var configuration = CurlTransport.Configuration(proxy: .none)
            configuration.decodesContent = false
            try await withCurl(configuration) { transport in
                let response = try await transport.get(peer.url)
                #expect(response.body == Data(coded))
                #expect(response.headers["Content-Encoding"] == "gzip")
                #expect(response.headers["Content-Length"] == "\(coded.count)")
            }
        }
    }
}
