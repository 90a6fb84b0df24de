import Foundation
import FoundationNetworking
import Glibc
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("Upload", .limitedConcurrency, .tags(.concurrency))
struct UploadTests {
    private static let bytes = [UInt8](RangedResource.octets(500_000, seed: 9))
    private static var octets: Data { Data(bytes) }

    private func client(_ interceptors: [any Interceptor] = [], maximumTransfers: Int = 6) -> NetworkClient {
        NetworkClient(
            interceptors: interceptors,
            options: NetworkClient.Options(retryBudget: nil, maximumTransfers: maximumTransfers)
        )
    }

    @Test(
        "Uploads data, files, sequences and forms unchanged",
        .shows("4.36"),
        arguments: ["data", "file", "stream", "once", "form"]
    )
    func sources(_ kind: String) async throws {
        try await withTemporaryFile(Self.octets, named: "a.pdf") { file in
            try await withLoopbackServer { server async throws in
                server.on(.post, "/files", .text("thanks", status: 201))
                var form = MultipartFormData()
                try form.append(file: file, name: "file")
                let (source, type): (EndpointBody, String?) =
                    switch kind {
                    case "data": (.data(Self.octets, contentType: "image/png"), "image/png")
                    case "file": (try .file(file), "application/pdf")
                    case "stream":
                        (
                            EndpointBody(
                                .stream(length: Self.octets.count) { AsyncStream.of(Self.octets) },
                                contentType: "a/b"
                            ), "a/b"
                        )
                    case "once": (EndpointBody(.once(AsyncStream.of(Self.octets)), contentType: nil), nil)
                    default: (.multipart(form), form.contentType)
                    }
                let upload = client().upload(source, to: server.url(for: "/files"))
                let response = try await upload.value
                #expect(response.status == 201 && response.body == Data("thanks".utf8))
                let request = try #require(server.requests.first)
                #expect(request.headers["Content-Type"] == type)
                #expect(request.headers["Expect"] == nil)
                #expect(request.headers["Content-Length"] == source.content.contentLength.map(String.init))
                if kind == "form" {
                    let parsed = try ParsedForm(request.body, contentType: form.contentType)
                    #expect(parsed.parts.map(\.content) == [Self.octets])
                } else {
                    #expect(request.body == Self.octets)
                }
                let progress = upload.currentProgress
                #expect(progress.state == .completed && progress.fractionCompleted == 1)
                #expect(progress.completedBytes == request.body.count)
                #expect(progress.totalBytes == source.content.contentLength)
            }
        }
    }

    private struct Place: HTTPEndpoint {
        let baseURL: URL
        var method: HTTPMethod { .put }
        var headers: HTTPHeaders = [:]
        var acceptedStatuses: AcceptedStatuses { [200, 409] }
        var body: EndpointBody { .data(Data("not this".utf8)) }
    }

    private struct Receipt: Codable, Equatable, Sendable { let size: Int }

    @Test("Uses an endpoint's method, headers and statuses, and decodes the response", .shows("4.36"))
    func endpoint() async throws {
        try await withLoopbackServer { server async throws in
            server.on(.put, "/place") { request in .json("{\"size\":\(request.body.count)}", status: 409) }
            let place = Place(baseURL: server.url(for: "/place"), headers: ["Content-Type": "a/own"])
            let receipt = try await client()
                .upload(.data(Self.octets), to: place, decoding: .json(Receipt.self)).value
            #expect(receipt == Receipt(size: Self.octets.count))
            #expect(server.requests.first?.headers["Content-Type"] == "a/own")
            let wrong = client().upload(.data(Data()), to: place, decoding: .json([String].self))
            await expectFailure(.decoding) { _ = try await wrong.value }
            #expect(wrong.currentProgress.state == .failed)
        }
    }

    @Test("Checks the status with and without a body", arguments: [true, false], [404, 500])
    func status(hasBody: Bool, status: Int) async throws {
        try await withLoopbackServer { server async throws in
            server.on(.post, "/files", hasBody ? .text("no", status: status) : .status(status))
            let upload = client().upload(.data(Self.octets), to: server.url(for: "/files"))
            let error = await expectStatus(status) { try await upload.value }
            #expect(error?.response == Data((hasBody ? "no" : "").utf8))
            #expect(upload.currentProgress.state == .failed)
        }
    }

    @Test("A retry sends a replayable source again")
    func replayed() async throws {
        try await withTemporaryFile(Self.octets, named: "a.pdf") { file in
            try await withLoopbackServer { server async throws in
                server.on(.put, "/files", .status(503), .status(204))
                let client = client([Retry.Policy.maxRetries(1)])
                let upload = client.upload(try .file(file), to: server.url(for: "/files"), method: .put)
                _ = try await upload.value
                #expect(server.requests.map(\.body) == [Self.octets, Self.octets])
                #expect(upload.currentProgress.completedBytes == Self.octets.count)
            }
        }
    }

    private struct Insisting: URLRequestAuthenticator {
        let credentialFields: Set<String> = []

        func authenticateRequest(_ request: URLRequest, context: InterceptorContext) async throws -> URLRequest {
            request
        }

        func evaluateFailedRequest(_ failure: FailedRequest) async -> Retry.Action {
            let isFirst = failure.context.retryState.authenticationErrors.isEmpty
            return failure.response?.status == 401 && isFirst ? .retry : .none
        }
    }

    @Test("Doesn't send a one-time source twice, and explains why", arguments: [401, 503])
    func notReplayed(status: Int) async throws {
        try await withLoopbackServer { server async throws in
            server.on(.put, "/files", .status(status), .status(204))
            let client = client([Insisting(), Retry.Policy.maxRetries(1)])
            let source = EndpointBody(.once(AsyncStream.of(Self.octets)), contentType: nil)
            let upload = client.upload(source, to: server.url(for: "/files"), method: .put)
            let error = await expectStatus(status) { try await upload.value }
            expectReason(.bodyNotReplayable, error?.retry)
            #expect(server.requestCount == 1)
            await expectFailure(.bodyNotReplayable) { try upload.retry() }
            #expect(upload.currentProgress.state == .failed)
            #expect(server.requestCount == 1)
        }
    }

    @Test("Retries a failed upload, which then has a new value", .shows("4.38"))
    func retry() async throws {
        try await withLoopbackServer { server async throws in
            server.on(.post, "/files", .status(500), .text("ok"))
            let client = client()
            let upload = client.upload(.data(Self.octets), to: server.url(for: "/files"))
            await #expect(throws: ServerError.self) { try await upload.value }
            #expect(client.transfers.isEmpty)
            try upload.retry()
            #expect(try await upload.value.body == Data("ok".utf8))
            #expect(upload.currentProgress.state == .completed)
            #expect(client.transfers.isEmpty)
            try upload.retry()
            #expect(upload.currentProgress.state == .completed)
            #expect(server.requestCount == 2)
        }
    }

    @Test("Retries an unsent upload with a one-time source")
    func retryUnread() async throws {
        try await withLoopbackServer { server async throws in
            server.on(.post, "/files", .text("ok"))
            let blocking = Mutex(true)
            let gate = Changing.request { _ in
                if blocking.withLock({ $0 }) { throw NetworkError(.circuitOpen, "not yet") }
            }
            let source = EndpointBody(.once(AsyncStream.of(Self.octets)), contentType: nil)
            let upload = client([gate]).upload(source, to: server.url(for: "/files"))
            await expectFailure(.circuitOpen) { _ = try await upload.value }
            blocking.withLock { $0 = false }
            try upload.retry()
            #expect(try await upload.value.status == 200)
            #expect(server.requests.first?.body == Self.octets)
        }
    }

    @Test("A canceled upload closes its connection, and can be retried", .shows("4.38"))
    func cancelled() async throws {
        try await withLoopbackServer { server async throws in
            let gate = ResponseGate()
            server.on(.post, "/files") { _ in .text("ok").gated(by: gate) }
            let upload = client().upload(.data(Self.octets), to: server.url(for: "/files"))
            try await gate.waitForWaiters(count: 1)
            await upload.cancel()
            await #expect(throws: CancellationError.self) { try await upload.value }
            #expect(upload.currentProgress.state == .cancelled)
            try await server.waitForOpenConnections(atMost: 0)
            gate.open()
            try upload.retry()
            #expect(try await upload.value.status == 200)
        }
    }

    @Test("Releasing the handle cancels the upload")
    func dropped() async throws {
        try await withLoopbackServer { server async throws in
            let gate = ResponseGate()
            server.on(.post, "/files") { _ in .text("ok").gated(by: gate) }
            let client = client()
            do {
                let upload = client.upload(.data(Self.octets), to: server.url(for: "/files"))
                try await gate.waitForWaiters(count: 1)
                #expect(upload.currentProgress.state == .running)
            }
            try await server.waitForOpenConnections(atMost: 0)
            #expect(client.transfers.isEmpty)
            gate.open()
        }
    }

    @Test("With Expect, the server rejects the request before it gets the body")
    func expectation() async throws {
        let peers: [(LoopbackServer.ContinuePolicy, Int?)] = [(.answer, nil), (.refuse(403), 403)]
        for (policy, refusal) in peers {
            var configuration = LoopbackServer.Configuration()
            configuration.continuePolicy = policy
            try await withLoopbackServer(configuration: configuration) { server async throws in
                server.on(.post, "/files", .text("ok"))
                let made = Atomic<Int>(0)
                let source = EndpointBody(
                    .stream(length: 3) {
                        made.add(1, ordering: .relaxed)
                        return AsyncStream { continuation in
                            continuation.yield(Data("abc".utf8))
                            continuation.finish()
                        }
                    },
                    contentType: nil
                )
                let upload = client().upload(source, to: server.url(for: "/files"), expectsContinue: true)
                if let refusal {
                    await expectStatus(refusal) { try await upload.value }
                    #expect(made.load(ordering: .relaxed) == 0)
                } else {
                    #expect(try await upload.value.status == 200)
                    #expect(server.requests.first?.headers["Expect"] == "100-continue")
                    #expect(server.requests.first?.body == Data("abc".utf8))
                }
            }
        }
    }

    @Test("Omits Expect after the server rejected it")
    func refusedExpectation() async throws {
        try await withPeer { connection in
            let head = try connection.readRequest()
            if head.lowercased().contains("expect:") {
                try connection.send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                connection.close()
            } else {
                try connection.send(TCPPeer.empty)
                try connection.waitForClose()
            }
        } _: { peer async throws in
            let upload = client().upload(.data(Data("abc".utf8)), to: peer.url, expectsContinue: true)
            #expect(try await upload.value.status == 200)
            #expect(peer.requests.map { $0.lowercased().contains("expect: 100-continue") } == [true, false])
        }
    }

    @Test("Uploads and downloads share the limit and the list")
    func limit() async throws {
        try await withLoopbackServer { server async throws in
            let gate = ResponseGate()
            server.onAnyMethod("/files") { _ in .text("ok").gated(by: gate) }
            let client = client(maximumTransfers: 1)
            let target = FileManager.default.temporaryDirectory.appending(path: "limit-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: target) }
            let upload = client.upload(.data(Data("x".utf8)), to: server.url(for: "/files"))
            try await gate.waitForWaiters(count: 1)
            let download = client.download(server.url(for: "/files"), to: target)
            #expect(client.transfers.map(\.id) == [upload.id, download.id])
            #expect(client.transfers.map(\.currentProgress.state) == [.running, .waiting])
            gate.open()
            _ = try await (upload.value, download.value)
            #expect(client.transfers.isEmpty)
            #expect(server.requestCount == 2)
        }
    }
}

/// Tests of file uploads: the engine reads cached bytes itself, and leaves the rest to a thread
/// that may block.
@Suite("Uploads of files", .limitedConcurrency, .tags(.concurrency))
struct FileUploadTests {
    enum Place: CaseIterable { case memory, disk, both, otherFileSystem }

    private static let bytes = [UInt8](RangedResource.octets(3 << 20, seed: 9))
    private static var octets: Data { Data(bytes) }

    private func withFile(_ place: Place = .memory, _ test: (URL) async throws -> Void) async throws {
        // A file system that can't report which bytes are cached, if there is one.
        let other = URL(filePath: "/dev/shm")
        let isOther = place == .otherFileSystem && FileManager.default.isWritableFile(atPath: other.path)
        let parent = isOther ? other : FileManager.default.temporaryDirectory
        let file = parent.appending(path: "upload-\(UUID().uuidString).pdf")
        try Self.octets.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        switch place {
        case .memory, .otherFileSystem: break
        case .disk: try forget(file, from: 0)
        case .both: try forget(file, from: 1 << 20)
        }
        try await test(file)
    }

    /// Evicts a file's bytes from the system's cache.
    private func forget(_ file: URL, from start: Int) throws {
        let handle = try FileHandle(forUpdating: file)
        #expect(fsync(handle.fileDescriptor) == 0)
        #expect(posix_fadvise(handle.fileDescriptor, off_t(start), 0, POSIX_FADV_DONTNEED) == 0)
        try handle.close()
    }

    @Test("Uploads an unchanged file from any storage, and again for a retry", arguments: Place.allCases)
    func places(_ place: Place) async throws {
        try await withFile(place) { file in
            try await withLoopbackServer { server async throws in
                let count = Mutex(0)
                server.on(.put, "/files") { _ in
                    let isFirst = count.withLock { count in
                        defer { count += 1 }
                        return count == 0
                    }
                    return isFirst ? .status(503) : .status(204)
                }
                let client = NetworkClient(
                    interceptors: [Retry.Policy.maxRetries(1)],
                    options: NetworkClient.Options(retryBudget: nil)
                )
                let upload = client.upload(try .file(file), to: server.url(for: "/files"), method: .put)
                #expect(try await upload.value.status == 204)
                #expect(server.requests.map(\.body) == [Self.octets, Self.octets])
                #expect(upload.currentProgress.completedBytes == Self.octets.count)
            }
        }
    }

    @Test("Fails if the file becomes shorter", arguments: [0, 5, 1 << 20])
    func shrunk(to count: Int) async throws {
        try await withTemporaryFile(Self.octets, named: "a.pdf") { file in
            try await withLoopbackServer { server async throws in
                server.on(.post, "/files", .text("ok"))
                let source = try EndpointBody.file(file)
                try Self.octets.prefix(count).write(to: file)
                let upload = NetworkClient().upload(source, to: server.url(for: "/files"))
                await expectFailure(.invalidRequest) { _ = try await upload.value }
                #expect(server.requestCount == 0)
            }
        }
    }

    @Test("Sends the original length of a file that becomes longer")
    func grown() async throws {
        try await withTemporaryFile(Self.octets, named: "a.pdf") { file in
            try await withLoopbackServer { server async throws in
                server.on(.post, "/files", .text("ok"))
                let source = try EndpointBody.file(file)
                try (Self.octets + Data("more".utf8)).write(to: file)
                _ = try await NetworkClient().upload(source, to: server.url(for: "/files")).value
                #expect(server.requests.first?.body == Self.octets)
            }
        }
    }
}
