import Foundation
import FoundationNetworking
import Synchronization
import TestSupport
import Testing

@testable import Networking

/// The support for custom transports: reading request bodies and streaming response bodies.
@Suite("Custom transports", .limitedConcurrency, .tags(.concurrency))
struct OwnTransportTests {
    private struct Broken: Error {}

    /// Responds with the request's body in parts, and with its length as a trailer.
    private struct Echo: HTTPTransport {
        func send(_ request: HTTPRequest, limits: HTTPTransportLimits) async throws -> HTTPTransportResponse {
            guard limits.streamsBody else {
                let body = try await request.body.collect(upTo: 1 << 20)
                return HTTPTransportResponse(status: 200, body: body, trailers: ["Length": String(body.count)])
            }
            return HTTPTransportResponse(
                status: 200,
                stream: HTTPResponseBody { deliver in
                    let count = Atomic(0)
                    try await request.body.read { part in
                        count.add(part.count, ordering: .relaxed)
                        try await deliver(part)
                    }
                    return ["Length": String(count.load(ordering: .relaxed))]
                }
            )
        }
    }

    private static func parts(_ texts: [String], _ error: (any Error)? = nil) -> AsyncThrowingStream<Data, any Error> {
        AsyncThrowingStream { continuation in
            for text in texts { continuation.yield(Data(text.utf8)) }
            continuation.finish(throwing: error)
        }
    }

    private func request() throws -> URLRequest {
        URLRequest(url: try #require(URL(string: "https://api.example/echo")))
    }

    /// Always returns a stream.
    private struct Streaming: HTTPTransport {
        func send(_ request: HTTPRequest, limits: HTTPTransportLimits) async -> HTTPTransportResponse {
            let body = HTTPResponseBody { deliver in
                try await deliver(Data("hel".utf8))
                try await deliver(Data("lo".utf8))
                return ["X-End": "1"]
            }
            return HTTPTransportResponse(status: request.url.path == "/missing" ? 404 : 200, stream: body)
        }
    }

    @Test("Collects an unrequested stream with its trailers, up to the limit")
    func unaskedStream() async throws {
        let client = NetworkClient(transport: Streaming())
        let request = try request()
        let response = try await client.response(for: request)
        #expect(response.body == Data("hello".utf8))
        #expect(response.trailers["X-End"] == "1")
        #expect(try await client.makeRequest(request) == response.body)
        #expect(try await response.stream.collect(upTo: 5) == response.body)
        let missing = URLRequest(url: try #require(URL(string: "https://api.example/missing")))
        let refused = await #expect(throws: ServerError.self) { _ = try await client.makeRequest(missing) }
        #expect(refused?.response == response.body)
        let options = RequestOptions(maximumBodySize: 4)
        await expectFailure(.bodyTooLarge) { _ = try await client.makeRequest(request, options: options) }
    }

    /// Records the body that isn't in memory and replaces it.
    private final class BodyReplacement: RequestInterceptor {
        let replacement: Data?
        let seen = Mutex<[Int?]>([])

        init(_ replacement: Data?) { self.replacement = replacement }

        func intercept(_ request: HTTPRequest, next: Next) async throws -> HTTPResponse {
            var request = request
            seen.withLock { [request] in $0.append(request.body.contentLength) }
            if let replacement { request.body = .data(replacement) }
            return try await next(request)
        }
    }

    @Test("Shows interceptors a file, and sends a body that they set instead")
    func replacedBody() async throws {
        let content = Data("from the file".utf8)
        try await withTemporaryFile(content) { file in
            for (replacement, sent) in [(nil, content), (Data("other".utf8), Data("other".utf8))] {
                let interceptor = BodyReplacement(replacement)
                let client = NetworkClient(transport: Echo(), interceptors: [interceptor])
                let options = RequestOptions(body: try .file(file))
                #expect(try await client.makeRequest(try request(), options: options) == sent)
                #expect(interceptor.seen.withLock { $0 } == [content.count])
            }
        }
    }

    @Test("Sends and streams bodies of every kind through a client")
    func client() async throws {
        let client = NetworkClient(transport: Echo())
        let content = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 / 251) })
        try await withTemporaryFile(content) { file in
            let bodies: [HTTPBody] = [
                .data(content), try .file(file), .stream(length: content.count) { AsyncStream.of(content) },
                .once(AsyncStream.of(content)),
            ]
            for body in bodies {
                let whole = try await client.response(for: try request(), options: RequestOptions(body: body))
                #expect(whole.body == content)
                guard body.isReplayable else { continue }
                let stream = try await client.stream(try request(), options: RequestOptions(body: body))
                #expect(try await stream.stream.collect(upTo: 1 << 20) == content)
                #expect(stream.stream.trailers == ["Length": "1000000"])
            }
        }
        let empty = try await client.stream(try request())
        #expect(try await empty.stream.collect(upTo: 0).isEmpty)
        #expect(empty.stream.trailers == ["Length": "0"])
    }

    @Test("Delivers nonempty parts in order, and reads a replayable body again")
    func read() async throws {
        let body = HTTPBody.stream { Self.parts(["", "ab", "", "c"]) }
        for _ in 0..<2 {
            let read = Mutex<[Data]>([])
            try await body.read { part in read.withLock { $0.append(part) } }
            #expect(read.withLock { $0 } == [Data("ab".utf8), Data("c".utf8)])
        }
        for nothing in [HTTPBody.none, .data(Data()), .stream { Self.parts([]) }] {
            try await nothing.read { _ in Issue.record("an empty body delivered a part") }
            #expect(try await nothing.collect(upTo: 0).isEmpty)
        }
    }

    @Test("Rejects a body of the wrong length and delivers no more than its length", arguments: [3, 5])
    func length(said: Int) async throws {
        let taken = Atomic(0)
        await expectFailure(.invalidRequest, mentioning: said == 3 ? "longer" : "shorter") {
            try await HTTPBody.stream(length: said) { Self.parts(["ab", "cd"]) }
                .read { part in taken.add(part.count, ordering: .relaxed) }
        }
        #expect(taken.load(ordering: .relaxed) == (said == 3 ? 2 : 4))
    }

    @Test("Rejects a file that has shrunk or no longer exists, and reads the original length of one that has grown")
    func changedFile() async throws {
        let body = try await withTemporaryFile(Data("some text".utf8)) { file in
            let body = try HTTPBody.file(file)
            try Data("some text and more".utf8).write(to: file)
            #expect(try await body.collect(upTo: 9) == Data("some text".utf8))
            try Data("some".utf8).write(to: file)
            let shorter = await failure { _ = try await body.collect(upTo: 9) }
            #expect(shorter?.code == .invalidRequest && shorter?.message.contains("shorter") == true)
            return body
        }
        await expectFailure(.invalidRequest) { _ = try await body.collect(upTo: 9) }
    }

    @Test("Rejects a body over the limit", arguments: [nil, 4])
    func limit(length: Int?) async throws {
        let body = HTTPBody.stream(length: length) { Self.parts(["ab", "cd"]) }
        #expect(try await body.collect(upTo: 4) == Data("abcd".utf8))
        await expectFailure(.invalidRequest) { _ = try await body.collect(upTo: 3) }
        await expectFailure(.invalidRequest) { _ = try await HTTPBody.data(Data("abcd".utf8)).collect(upTo: 3) }
    }

    @Test("Reports a producer's error as the cause of requestNotMade, and rethrows a consumer's error unchanged")
    func errors() async throws {
        for failure in [Broken(), CancellationError()] as [any Error] {
            let broken = HTTPBody.stream { Self.parts(["ab"], failure) }
            let error = await expectFailure(.requestNotMade) { try await broken.read { _ in } }
            #expect(error?.cause != nil && (error?.cause is Broken) == (failure is Broken))
        }
        await #expect(throws: Broken.self) {
            try await HTTPBody.stream { Self.parts(["ab", "cd"]) }.read { _ in throw Broken() }
        }
        await #expect(throws: Broken.self) { try await HTTPBody.data(Data("ab".utf8)).read { _ in throw Broken() } }
    }

    @Test("Stops reading in a cancelled task and doesn't return a partial body", arguments: [true, false])
    func cancelledReading(isEnded: Bool) async throws {
        let taken = Atomic(0)
        let (parts, continuation) = AsyncStream<Data>.makeStream()
        let task = Task {
            try await HTTPBody.once(parts).read { _ in taken.add(1, ordering: .relaxed) }
        }
        continuation.yield(Data("ab".utf8))
        try #require(try await eventually { taken.load(ordering: .relaxed) == 1 })
        task.cancel()
        if isEnded {
            continuation.yield(Data("cd".utf8))
            continuation.finish()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(taken.load(ordering: .relaxed) == 1)
    }

    @Test("Receives a response body as it's read, at most one part ahead")
    func backPressure() async throws {
        let delivered = Atomic(0)
        let body = HTTPResponseBody { deliver in
            for number in 0..<10 as Range<UInt8> {
                try await deliver(Data([number]))
                delivered.store(Int(number) + 1, ordering: .releasing)
            }
            return ["Checksum": "45"]
        }
        var iterator = body.makeAsyncIterator()
        #expect(delivered.load(ordering: .acquiring) == 0)
        for number in 0..<10 as Range<UInt8> {
            #expect(try await iterator.next() == Data([number]))
            #expect(delivered.load(ordering: .acquiring) <= Int(number) + 1)
            #expect(body.trailers.isEmpty || number == 9)
        }
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
        #expect(body.trailers == ["Checksum": "45"])
    }

    @Test("Never receives an unread body")
    func unread() async throws {
        do {
            let body = HTTPResponseBody { _ in
                Issue.record("an unread body was received")
                return [:]
            }
            body.cancel()
            await #expect(throws: CancellationError.self) { try await body.collect(upTo: 1) }
        }
        _ = HTTPResponseBody { _ in
            Issue.record("an unread body was received")
            return [:]
        }
    }

    @Test(
        "Stops receiving when a body is cancelled or released, or its task is cancelled",
        arguments: ["given up", "dropped", "cancelled"]
    )
    func end(how: String) async throws {
        let ended = Mutex<(any Error)?>(nil)
        var body: HTTPResponseBody? = HTTPResponseBody { deliver in
            do {
                while true { try await deliver(Data([1])) }
            } catch {
                ended.withLock { $0 = error }
                throw error
            }
        }
        switch how {
        case "cancelled":
            let task = Task { [body] in
                for try await part in try #require(body) { #expect(part == Data([1])) }
            }
            try await Task.sleep(for: .milliseconds(5))
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        default:
            var iterator = body?.makeAsyncIterator()
            #expect(try await iterator?.next() == Data([1]))
            iterator = nil
            if how == "given up" { body?.cancel() } else { body = nil }
        }
        #expect(try await eventually { ended.withLock { $0 is CancellationError } })
        if let body { await #expect(throws: CancellationError.self) { try await body.collect(upTo: 9) } }
    }

    @Test("Reports a receiving error to the reader after the earlier parts, repeatedly")
    func receivingFails() async throws {
        let lost = NetworkError(.connectionLost, "the connection is lost")
        for error in [lost, Broken(), CancellationError()] as [any Error] {
            let body = HTTPResponseBody { deliver in
                try await deliver(Data("ab".utf8))
                throw error
            }
            var iterator = body.makeAsyncIterator()
            #expect(try await iterator.next() == Data("ab".utf8))
            for _ in 0..<2 {
                let failure = await failure { _ = try await iterator.next() }
                #expect(failure?.code == .connectionLost)
                #expect((failure?.cause == nil) == (error is NetworkError))
            }
            #expect(body.trailers.isEmpty)
        }
    }

    @Test("Rejects concurrent deliveries without losing a part")
    func crowd() async throws {
        let body = HTTPResponseBody { deliver in
            let refused = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        let error = await failure { try await deliver(Data([1])) }
                        #expect(error == nil || error?.code == .invalidRequest)
                        return error == nil ? 0 : 1
                    }
                }
                return try await group.reduce(0, +)
            }
            return ["Refused": String(refused)]
        }
        let read = try await body.collect(upTo: 3)
        #expect(try read.count + #require(body.trailers["Refused"].flatMap { Int($0) }) == 3 && !read.isEmpty)
    }
}
