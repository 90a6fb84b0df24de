import Foundation
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("Streamed requests", .limitedConcurrency, .tags(.concurrency))
struct StreamedRequestTests {
    private static let bytes = (0..<700_000).map { UInt8(truncatingIfNeeded: UInt32($0) % 26 + 97) }
    private static var octets: Data { Data(bytes) }

    /// Splits a body into parts of different sizes, including empty ones.
    private static func parts(of data: Data) -> AsyncStream<Data> {
        AsyncStream { continuation in
            var rest = data
            for size in [0, 1, 70_000, 3, 0, 300_000] {
                continuation.yield(rest.prefix(size))
                rest = rest.dropFirst(size)
            }
            continuation.yield(rest)
            continuation.finish()
        }
    }

    private func put(_ url: URL, _ body: HTTPBody, headers: HTTPHeaders = [:]) -> HTTPRequest {
        HTTPRequest(method: .put, url: url, headers: headers, body: body)
    }

    @Test(
        "Sends a body of known length unchanged, with Content-Length",
        arguments: ["file", "stream", "once", "header"]
    )
    func knownLength(_ kind: String) async throws {
        try await withTemporaryFile(Self.octets) { file in
            try await withPeer(answering: TCPPeer.empty) { peer in
                let length = Self.octets.count
                let (body, headers): (HTTPBody, HTTPHeaders) =
                    switch kind {
                    case "file": (try .file(file), [:])
                    case "stream": (.stream(length: length) { Self.parts(of: Self.octets) }, [:])
                    case "once": (.once(Self.parts(of: Self.octets), length: length), [:])
                    default: (.once(Self.parts(of: Self.octets)), ["Content-Length": "\(length)"])
                    }
                try await withCurl { transport in
                    let response = try await transport.send(put(peer.url, body, headers: headers))
                    #expect(response.status == 200)
                }
                let request = try #require(peer.requests.first)
                let head = request.components(separatedBy: "\r\n\r\n")[0].lowercased()
                #expect(head.contains("content-length: \(length)"))
                #expect(!head.contains("transfer-encoding") && !head.contains("expect"))
                #expect(request.hasSuffix("\r\n\r\n" + String(decoding: Self.octets, as: UTF8.self)))
            }
        }
    }

    @Test("Sends a body of unknown length in chunks", arguments: [HTTPMethod.put, .post, .get])
    func unknownLength(_ method: HTTPMethod) async throws {
        try await withPeer { connection in
            try connection.readChunkedRequest()
            try connection.send(TCPPeer.empty)
            try connection.readChunkedRequest()
            try connection.send(TCPPeer.empty)
        } _: { peer in
            try await withCurl { transport in
                for body in [HTTPBody.stream { Self.parts(of: Self.octets) }, .once(Self.parts(of: Data()))] {
                    let request = HTTPRequest(method: method, url: peer.url, body: body)
                    let response = try await transport.send(request)
                    #expect(response.status == 200)
                }
            }
            #expect(peer.requests.count == 2)
            #expect(peer.acceptedCount == 1)
            #expect(peer.requests.allSatisfy { $0.contains("Transfer-Encoding: chunked\r\n") })
            #expect(peer.requests.allSatisfy { !$0.lowercased().contains("content-length") })
            #expect(peer.requests[0].hasSuffix("\r\n\r\n" + String(decoding: Self.octets, as: UTF8.self)))
            #expect(peer.requests[1].hasSuffix("\r\n\r\n"))
        }
    }

    @Test("Sends Content-Length: 0 for an empty body without calling its producer")
    func noOctets() async throws {
        try await withTemporaryFile(Data()) { file in
            try await withPeer(answering: TCPPeer.empty) { peer in
                let never = HTTPBody.stream(length: 0) { () -> AsyncStream<Data> in
                    Issue.record("the producer was called")
                    return AsyncStream { $0.finish() }
                }
                try await withCurl { transport in
                    for body in [never, try .file(file)] { _ = try await transport.send(put(peer.url, body)) }
                }
                #expect(peer.requests.count == 2)
                #expect(peer.requests.allSatisfy { $0.contains("Content-Length: 0\r\n") })
            }
        }
    }

    @Test("Rejects a body of the wrong length and never sends it as a complete one", arguments: [-1, 1, 100_000])
    func wrongLength(_ surplus: Int) async throws {
        let received = Mutex(0)
        let ended = AsyncStream<Void>.makeStream()
        try await withPeer { connection in
            defer { ended.continuation.yield() }
            try connection.readHead()
            while true {
                let count = try connection.read(65536).count
                received.withLock { $0 += count }
            }
        } _: { peer in
            let length = Self.octets.count - surplus
            try await withCurl { transport in
                let error = await expectFailure(.invalidRequest) {
                    let body = HTTPBody.stream(length: length) { Self.parts(of: Self.octets) }
                    _ = try await transport.send(put(peer.url, body))
                }
                #expect(
                    error?.message.contains(surplus < 0 ? "shorter than its length" : "longer than its length") == true
                )
                for await _ in ended.stream { break }
                #expect(received.withLock { $0 } < length)
            }
        }
    }

    @Test("Accepts only a consistent Content-Length for an unsized body", arguments: ["5", "6", "+5", "5, 5"])
    func announcedLength(_ second: String) async throws {
        try await withPeer(answering: TCPPeer.empty) { peer in
            try await withCurl { transport in
                let body = HTTPBody.stream { Self.parts(of: Data("hello".utf8)) }
                let headers: HTTPHeaders = ["Content-Length": "5", "content-length": second]
                let request = HTTPRequest(method: .put, url: peer.url, headers: headers, body: body)
                await expectFailure((second == "5" ? nil : .invalidRequest)) { _ = try await transport.send(request) }
            }
            #expect(peer.acceptedCount == (second == "5" ? 1 : 0))
            #expect(second != "5" || peer.requests.first?.contains("Content-Length: 5\r\n") == true)
        }
    }

    @Test("Rejects a file that has shrunk or no longer exists", arguments: [false, true])
    func changedFile(isGone: Bool) async throws {
        try await withTemporaryFile(Self.octets) { file in
            let body = try HTTPBody.file(file)
            if isGone {
                try FileManager.default.removeItem(at: file)
            } else {
                try Data("short".utf8).write(to: file)
            }
            try await withCurl(serving: TCPPeer.silence) { transport, peer in
                let error = await failure { _ = try await transport.send(put(peer.url, body)) }
                #expect(error?.code == .invalidRequest)
                #expect(error?.message.contains(isGone ? "can't be read" : "shorter than its length") == true)
                #expect(error?.message.contains(file.deletingLastPathComponent().path) == false)
            }
        }
    }

    struct Misfortune: Error {}

    @Test("Reports the producer's error as the cause")
    func producerFails() async throws {
        try await withCurl(serving: TCPPeer.silence) { transport, peer in
            let error = await expectFailure(.invalidRequest) {
                let body = HTTPBody.once(
                    AsyncThrowingStream<Data, any Error> { continuation in
                        continuation.yield(Data("part".utf8))
                        continuation.finish(throwing: Misfortune())
                    }
                )
                _ = try await transport.send(put(peer.url, body))
            }
            #expect(error?.cause is Misfortune)
        }
    }

    @Test("Pauses the producer when the peer doesn't read", .shows("P7"))
    func backPressure() async throws {
        let goOn = AsyncGate()
        let made = Atomic<Int>(0)
        let size = 64 << 20
        try await withCurl { connection in
            try connection.readHead()
            goOn.waitBlocking()
            var count = 0
            while count < size { count += try connection.read(1 << 20).count }
            try connection.send(TCPPeer.empty)
            try connection.waitForClose()
        } _: { transport, peer in
            let part = Data(count: 64 << 10)
            let body = HTTPBody.stream(length: size) {
                AsyncStream<Data> {
                    guard made.load(ordering: .relaxed) < size else { return nil }
                    made.add(part.count, ordering: .relaxed)
                    return part
                }
            }
            let task = Task { try await transport.send(put(peer.url, body)).status }
            var last = -1
            while last != made.load(ordering: .relaxed) || last == 0 {
                last = made.load(ordering: .relaxed)
                try await Task.sleep(for: .milliseconds(60))
            }
            #expect(last < size / 2)
            goOn.open()
            #expect(try await task.value == 200)
        }
    }

    @Test("Delivers a response that arrives during the body and stops the producer")
    func earlyAnswer() async throws {
        let isStopped = AsyncStream<Void>.makeStream()
        try await withCurl { connection in
            try connection.readHead()
            _ = try connection.read(65536)
            try connection.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno!")
            try connection.waitForClose()
        } _: { transport, peer in
            let body = HTTPBody.stream(length: 1 << 40) {
                AsyncStream<Data> { continuation in
                    continuation.yield(Data(count: 100_000))
                    continuation.onTermination = { _ in isStopped.continuation.yield() }
                }
            }
            let response = try await transport.send(put(peer.url, body))
            #expect(response.status == 413)
            #expect(response.body == Data("no!".utf8))
            for await _ in isStopped.stream { break }
        }
    }

    @Test("Stops the producer on cancellation")
    func cancelled() async throws {
        let isStopped = AsyncStream<Void>.makeStream()
        try await withCurl(serving: TCPPeer.silence) { transport, peer in
            let body = HTTPBody.stream {
                AsyncStream<Data> { $0.onTermination = { _ in isStopped.continuation.yield() } }
            }
            let task = Task { try await transport.send(put(peer.url, body)) }
            while peer.acceptedCount == 0 { await Task.yield() }
            try await Task.sleep(for: .milliseconds(20))
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            for await _ in isStopped.stream { break }
        }
    }

    @Test("Sends a request and receives its response at the same time")
    func bothWays() async throws {
        let parts = AsyncStream<Data>.makeStream()
        try await withCurl { connection in
            try connection.readHead()
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while true {
                let line = try connection.readLine()
                let size = try #require(Int(line, radix: 16))
                let text = size == 0 ? "" : String(decoding: try connection.readExactly(size), as: UTF8.self)
                _ = try connection.readLine()
                try connection.send("\(String(size, radix: 16))\r\n\(text)\r\n")
                if size == 0 { return try connection.waitForClose() }
            }
        } _: { transport, peer in
            let request = HTTPRequest(method: .post, url: peer.url, body: .once(parts.stream))
            parts.continuation.yield(Data("one".utf8))
            let response = try await transport.open(request)
            var answers = response.body.makeAsyncIterator()
            #expect(try await answers.next() == Data("one".utf8))
            for text in ["two", "three"] {
                parts.continuation.yield(Data(text.utf8))
                #expect(try await answers.next() == Data(text.utf8))
            }
            parts.continuation.finish()
            #expect(try await answers.next() == nil)
        }
    }
}
