import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Networking

/// `CurlTransport.open`, which returns the head first and then the body as it's read.
@Suite("Streamed responses", .limitedConcurrency, .tags(.concurrency))
struct StreamedResponseTests {
    @Test("Returns the head before the body, and the parts as they're sent")
    func headFirst() async throws {
        let goOn = AsyncGate()
        try await withCurl { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 10\r\nX-A: 2\r\n\r\n")
            goOn.waitBlocking()
            try connection.send("hello")
            goOn.waitBlocking()
            try connection.send("world")
            try connection.waitForClose()
        } _: { transport, peer in
            let response = try await transport.open(peer.url)
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

    @Test("Provides trailers at the end, streamed or not", arguments: [false, true])
    func trailers(isStreamed: Bool) async throws {
        try await withCurl { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            try connection.send("5\r\nhello\r\n0\r\nX-Sum: 1\r\nX-Sum: 2\r\nTransfer-Encoding: gzip\r\n\r\n")
            try connection.waitForClose()
        } _: { transport, peer in
            let trailers: HTTPHeaders
            if isStreamed {
                let response = try await transport.open(peer.url)
                #expect(response.body.trailers.isEmpty)
                #expect(try await response.body.collect(upTo: 5) == Data("hello".utf8))
                trailers = response.body.trailers
            } else {
                trailers = try await transport.get(peer.url).trailers
            }
            #expect(trailers == ["X-Sum": "1", "X-Sum": "2"])
        }
    }

    @Test("Ends a response without a body at once", arguments: [HTTPMethod.get, .head])
    func noBody(_ method: HTTPMethod) async throws {
        try await withPeer(answering: "HTTP/1.1 200 OK\r\nContent-Length: \(method == .head ? 5 : 0)\r\n\r\n") { peer in
            try await withCurl { transport in
                let request = HTTPRequest(method: method, url: peer.url)
                for _ in 0..<3 {
                    let response = try await transport.open(request)
                    #expect(try await response.body.collect(upTo: 0).isEmpty)
                }
                #expect(peer.acceptedCount == 1)
            }
        }
    }

    @Test("Removes the coding's fields from a decoded response, but not from a HEAD response")
    func decoded() async throws {
        let text = String(repeating: "The same line, many times over.\n", count: 2000)
        try await withCurl { connection in
            while true {
                let isHead = try connection.readRequest().hasPrefix("HEAD")
                let coded = GzipText.coded(text)
                try connection.send(
                    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nX-A: 1\r\nContent-Length: \(coded.count)\r\n\r\n"
                )
                if !isHead { try connection.send(coded) }
            }
        } _: { transport, peer in
            let response = try await transport.open(peer.url)
            #expect(response.headers == ["X-A": "1"])
            #expect(try await response.body.collect(upTo: 1 << 20) == Data(text.utf8))
            let head = HTTPRequest(method: .head, url: peer.url)
            #expect(try await transport.open(head).headers.count == 3)
        }
    }

    @Test("Throws errors that occur before the head from open", arguments: [false, true])
    func failureBeforeHead(isRefused: Bool) async throws {
        try await withCurl { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nX-A: 1\r\n")
            connection.close()
        } _: { transport, peer in
            let url = isRefused ? URL(string: "http://127.0.0.1:1/")! : peer.url
            await expectFailure(isRefused ? .cannotConnect : .connectionLost) { _ = try await transport.open(url) }
        }
    }

    @Test(
        "Delivers the data of a truncated body, and then its error repeatedly",
        .shows("H6"),
        arguments: TransportUnderTest.allCases
    )
    func cutOff(_ transport: TransportUnderTest) async throws {
        try await transport.run { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
            connection.close()
        } _: { transport, peer in
            let response = try await transport.open(peer.url)
            var parts = response.body.makeAsyncIterator()
            #expect(try await parts.next() == Data("hello".utf8))
            for _ in 0..<2 { await expectFailure(.connectionLost) { _ = try await parts.next() } }
            #expect(response.body.trailers.isEmpty)
        }
    }

    @Test("Enforces the maximum body size until the end", .shows("H5", "Z3"), arguments: [nil, 100_000])
    func bodyLimit(announced: Int?) async throws {
        try await withCurl { connection in
            try connection.readRequest()
            let framing = announced.map { "Content-Length: \($0)" } ?? "Connection: close"
            try connection.send("HTTP/1.1 200 OK\r\n\(framing)\r\n\r\n")
            try connection.send([UInt8](repeating: 1, count: 100_000))
            try connection.waitForClose()
        } _: { transport, peer in
            let response = try await transport.open(peer.url, HTTPTransportLimits.generous(maximumBodySize: 99_999))
            await expectFailure(.bodyTooLarge, mentioning: "99999") { _ = try await response.body.collect(upTo: .max) }
        }
    }

    @Test("Rejects a body that expands too much during decoding", .shows("H5", "P23"), arguments: [false, true])
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
                    let response = try await transport.open(peer.url)
                    return try await response.body.collect(upTo: .max).count
                }
            }
            await expectFailure(.bodyTooLarge, mentioning: "maximumExpansion") { _ = try await size(100) }
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

@Suite("Parts of bodies", .limitedConcurrency, .tags(.concurrency))
struct BodyPartTests {
    private func append(_ count: Int, _ octet: UInt8, to buffer: inout PartBuffer) -> Bool {
        unsafe [UInt8](repeating: octet, count: count).withUnsafeBufferPointer { unsafe buffer.append($0) }
    }

    @Test("Accepts parts up to the buffer's capacity and returns all bytes in order")
    func buffer() {
        var buffer = PartBuffer(pool: BlockPool(blockSize: 1000))
        #expect(append(400, 1, to: &buffer) && append(600, 2, to: &buffer))
        #expect(!append(1, 3, to: &buffer))
        #expect(buffer.count == 1000)
        #expect(buffer.take() == Data(repeating: 1, count: 400) + Data(repeating: 2, count: 600))
        #expect(buffer.count == 0 && buffer.take().isEmpty)
        // A part larger than a block must be the only one in the buffer.
        #expect(append(5000, 4, to: &buffer))
        #expect(!append(1, 5, to: &buffer))
        #expect(buffer.take() == Data(repeating: 4, count: 5000))
        #expect(append(0, 0, to: &buffer) && append(10, 6, to: &buffer))
        buffer.removeAll()
        #expect(buffer.count == 0 && buffer.take().isEmpty)
    }

    @Test("Keeps a part's bytes when memory is reused", arguments: [1, 14, 15, 499, 500, 1000])
    func independence(count: Int) {
        let pool = BlockPool(blockSize: 1000)
        var buffer = PartBuffer(pool: pool)
        var parts: [Data] = []
        for octet in 0..<20 as Range<UInt8> {
            #expect(append(count, octet, to: &buffer))
            parts.append(buffer.take())
            if octet == 9 { parts.removeFirst(5) }
        }
        #expect(parts == (5..<20).map { Data(repeating: $0, count: count) })
        // Changing a copy doesn't affect any part.
        var other = parts[14]
        other.append(contentsOf: [1, 2, 3])
        other[0] = 77
        #expect(parts[14] == Data(repeating: 19, count: count))
        #expect(other.count == count + 3 && other.first == 77)
    }

    @Test("Reuses memory and keeps only the specified number of blocks")
    func reuse() {
        let pool = BlockPool(blockSize: 1 << 16, maximumUnused: 2)
        func address(_ block: OctetBlock) -> UInt { unsafe UInt(bitPattern: block.memory) }
        let first = address(pool.block())
        for _ in 0..<10 { #expect(address(pool.block()) == first) }
        var blocks = (0..<3).map { _ in pool.block() }
        let data = blocks[0].data(count: 1 << 16)
        let addresses = blocks.map(address)
        #expect(Set(addresses).count == 3)
        blocks = []
        // The data still holds its block.
        #expect(Set([address(pool.block()), address(pool.block())]).isSubset(of: addresses[1...]))
        #expect(data.count == 1 << 16)
    }

    @Test("Returns queued parts in pieces of any size", arguments: [1, 3, 7, 64, 1000])
    func queue(step: Int) {
        var queue = PartQueue()
        let parts = (0..<200).map { Data((0..<($0 % 13)).map { UInt8(truncatingIfNeeded: $0 &* 7) }) }
        var expected = Data()
        var taken = Data()
        for (index, part) in parts.enumerated() {
            queue.append(index.isMultiple(of: 2) ? part : (Data([1, 2]) + part).dropFirst(2))
            expected += part
            if index.isMultiple(of: 5) {
                for piece in queue.take(min(step, queue.count)) { taken += piece }
                #expect(queue.count == expected.count - taken.count)
            }
        }
        while queue.count > 0 {
            for piece in queue.take(min(step, queue.count)) { taken += piece }
        }
        #expect(taken == expected)
        #expect(queue.take(10).isEmpty)
    }

    @Test("Work that blocks on disk I/O doesn't block the threads of tasks")
    func offloaded() async throws {
        let count = ProcessInfo.processInfo.activeProcessorCount * 2
        let waiting = Waiting()
        let tasks = (0..<count).map { _ in
            Task.detached {
                try await offloading {
                    // The work must stay offloaded even after it has awaited a task.
                    await Task.detached { await Task.yield() }.value
                    waiting.count.add(1, ordering: .relaxed)
                    waiting.block()
                }
            }
        }
        while waiting.count.load(ordering: .relaxed) < count { try await Task.sleep(for: .milliseconds(1)) }
        for _ in tasks { waiting.gate.signal() }
        for task in tasks { try await task.value }
    }

    private final class Waiting: Sendable {
        let count = Atomic<Int>(0)
        let gate = DispatchSemaphore(value: 0)

        func block() { gate.wait() }
    }

    @Test("Passes on the results and errors of offloaded work")
    func offloadedOutcome() async throws {
        #expect(try await offloading { 42 } == 42)
        await #expect(throws: NetworkError.self) { try await offloading { throw NetworkError(.cannotUseFile, "no") } }
    }
}
