import Foundation
import Networking
import TestSupport
import Testing

/// Request bodies that are read into memory before URLSession receives them.
@Suite("URLSessionTransport uploads", .limitedConcurrency)
struct URLSessionUploadTests {
    private struct Broken: Error {}

    private static func echo(_ connection: TCPPeer.Connection) throws {
        while true {
            let request = try connection.readRequest()
            let body = request.components(separatedBy: "\r\n\r\n").last ?? ""
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
        }
    }

    private func withFile<Result>(_ text: String, _ test: (URL) async throws -> Result) async throws -> Result {
        let file = FileManager.default.temporaryDirectory.appending(path: "upload-\(UUID().uuidString)")
        try Data(text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try await test(file)
    }

    private static func parts(_ texts: [String]) -> AsyncStream<Data> {
        AsyncStream { continuation in
            for text in texts { continuation.yield(Data(text.utf8)) }
            continuation.finish()
        }
    }

    private func send(
        _ body: HTTPBody,
        maximum: Int = 1000,
        deadline: Duration = .seconds(20)
    ) async throws -> (error: NetworkError?, echoed: String, requests: [String]) {
        try await withPeer(Self.echo) { peer in
            let transport = URLSessionTransport(maximumRequestBodySize: maximum)
            var echoed = ""
            let error = await failure {
                let response = try await transport.send(
                    HTTPTransportRequest(method: .put, url: peer.url, body: body),
                    limits: HTTPTransportLimits(deadline: .now + deadline)
                )
                echoed = String(decoding: response.body, as: UTF8.self)
            }
            await transport.close()
            return (error, echoed, peer.requests)
        }
    }

    @Test("Sends a file with its length")
    func file() async throws {
        try await withFile("some text") { file in
            let body = try HTTPBody.file(file)
            let sent = try await send(body)
            #expect(sent.echoed == "some text")
            #expect(sent.requests.first?.lowercased().contains("content-length: 9") == true)
        }
    }

    @Test("Sends the original length of a file that has grown, and rejects one that has shrunk")
    func changedFile() async throws {
        try await withFile("some text") { file in
            let body = try HTTPBody.file(file)
            try Data("some text and more".utf8).write(to: file)
            #expect(try await send(body).echoed == "some text")
            try Data("some".utf8).write(to: file)
            let sent = try await send(body)
            #expect(sent.error?.code == .invalidRequest)
            #expect(sent.requests.isEmpty)
        }
    }

    @Test("Rejects a file that no longer exists")
    func goneFile() async throws {
        let body = try await withFile("some text") { try HTTPBody.file($0) }
        #expect(try await send(body).error?.code == .invalidRequest)
    }

    @Test("Sends parts together with their length, whether or not it was known", arguments: [8, nil])
    func stream(_ length: Int?) async throws {
        let sent = try await send(.stream(length: length) { Self.parts(["ab", "", "cdef", "gh"]) })
        #expect(sent.echoed == "abcdefgh")
        #expect(sent.requests.first?.lowercased().contains("content-length: 8") == true)
        #expect(try await send(.once(Self.parts(["abcd", "efgh"]), length: length)).echoed == "abcdefgh")
    }

    @Test("Rejects parts that don't match the declared length", arguments: [7, 9])
    func wrongLength(_ length: Int) async throws {
        let sent = try await send(.stream(length: length) { Self.parts(["abcd", "efgh"]) })
        #expect(sent.error?.code == .invalidRequest)
        #expect(sent.error?.message.contains(length < 8 ? "longer" : "shorter") == true)
        #expect(sent.requests.isEmpty)
    }

    @Test("Rejects a body over the memory limit", arguments: [nil, 8])
    func tooLarge(_ length: Int?) async throws {
        let sent = try await send(.stream(length: length) { Self.parts(["abcd", "efgh"]) }, maximum: 7)
        #expect(sent.error?.code == .invalidRequest)
        #expect(sent.error?.message.contains("maximumRequestBodySize") == true)
        try await withFile("12345678") { file in
            let file = try HTTPBody.file(file)
            #expect(try await send(file, maximum: 7).error?.code == .invalidRequest)
        }
        #expect(sent.requests.isEmpty)
    }

    @Test("Sends nothing when the parts fail, and reports the cause")
    func brokenParts() async throws {
        let parts = AsyncThrowingStream<Data, any Error> { continuation in
            continuation.yield(Data("ab".utf8))
            continuation.finish(throwing: Broken())
        }
        let sent = try await send(.once(parts))
        #expect(sent.error?.code == .requestNotMade)
        #expect(sent.error?.cause is Broken)
        #expect(sent.requests.isEmpty)
    }

    /// Never produces a part and ignores the cancellation of its task.
    private struct Deaf: AsyncSequence, AsyncIteratorProtocol, Sendable {
        func makeAsyncIterator() -> Self { self }
        func next() async throws -> Data? {
            await withCheckedContinuation { continuation in
                // Resumed long after the test, because every continuation must be resumed.
                DispatchQueue.global().asyncAfter(deadline: .now() + 50) { continuation.resume() }
            }
            return nil
        }
    }

    @Test("Enforces the deadline on parts that never arrive and can't be cancelled")
    func deafParts() async throws {
        let start = ContinuousClock.now
        let sent = try await send(.stream { Deaf() }, deadline: .milliseconds(50))
        #expect(sent.error?.code == .timedOut)
        #expect(ContinuousClock.now - start < .seconds(110))
    }

    @Test("Cancels at once while the parts are produced")
    func cancelled() async throws {
        let transport = URLSessionTransport()
        let task = Task {
            await failure {
                let request = HTTPTransportRequest(
                    method: .put,
                    url: URL(string: "http://127.0.0.1:1/")!,
                    body: .stream { Deaf() }
                )
                _ = try await transport.open(request, limits: .generous())
            }
        }
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        await transport.close()
    }

    @Test("File uploads survive cancellation and early responses")
    func storm() async throws {
        try await withFile(String(repeating: "x", count: 300_000)) { file in
            let body = try HTTPBody.file(file)
            try await withPeer { connection in
                while true {
                    guard connection.number.isMultiple(of: 2) else {
                        _ = try connection.read(20_000)
                        try connection.send("HTTP/1.1 307 Early\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n")
                        try connection.waitForClose()
                        return
                    }
                    try connection.readRequest()
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                }
            } _: { peer in
                try await TransportUnderTest.urlSession.run { transport in
                    for round in 0..<60 {
                        let task = Task {
                            let request = HTTPTransportRequest(method: .put, url: peer.url, body: body)
                            return try await transport.send(request, limits: .milliseconds(2000)).status
                        }
                        if !round.isMultiple(of: 3) {
                            try await Task.sleep(for: .microseconds(100 * round))
                            task.cancel()
                        }
                        switch await task.result {
                        case .success(let status): #expect([200, 307].contains(status))
                        case .failure(let error):
                            let code = (error as? NetworkError)?.code
                            #expect([.cancelled, .connectionLost, .timedOut].contains(code))
                        }
                    }
                }
            }
        }
    }
}
