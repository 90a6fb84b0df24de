import Foundation
import FoundationNetworking
import MockNetworking
import Synchronization
import TestSupport
import Testing

@testable import Networking

/// Servers that would keep a download alive without end.
@Suite("Limits on the requests of a download", .limitedConcurrency)
struct DownloadLimitTests {
    /// Answers a range with one byte, and anything else correctly.
    private static let oneByte: @Sendable (LoopbackResponse, LoopbackRequest) -> LoopbackResponse = {
        response,
        request in
        guard response.status == 206, let first = request.headers["Range"]?.dropFirst(6).dropLast().description,
            let offset = Int(first)
        else { return response }
        let headers: HTTPHeaders = ["ETag": "\"v1\"", "Content-Range": "bytes \(offset)-\(offset)/300000"]
        let body = RangedResource.octets(300_000)[offset..<offset + 1]
        return LoopbackResponse(status: 206, headers: headers, body: Data(body))
    }

    @Test("Cut responses and rejected ranges count as retries, with one restart", .shows("H17"), arguments: [3, 50])
    func restarts(retries: Int) async throws {
        try await DownloadBench.with { bench async throws in
            bench.resource.change { state in
                state.lie = { response, request in
                    request.headers["Range"] == nil ? response.cut(.afterBody(octets: 1_000)) : .status(416)
                }
            }
            let error = await #expect(throws: ServerError.self) {
                try await bench.client(retries: retries).download(bench.url, to: bench.target).value
            }
            #expect(error?.errorCode == 416)
            #expect(error?.retry?.state.errors.count == 3)
            #expect(bench.resource.ranges == [nil, "bytes=1000-", nil, "bytes=1000-"])
        }
    }

    @Test("Each part of a range counts as a retry", .shows("H17"), arguments: [0, 3])
    func parts(retries: Int) async throws {
        try await DownloadBench.with { bench async throws in
            try await bench.interrupt(after: 200_000)
            bench.resource.change { $0.lie = Self.oneByte }
            let error = await failure {
                _ = try await bench.client(retries: retries).download(bench.url, to: bench.target).value
            }
            #expect(error?.code == .connectionLost)
            #expect(bench.resource.ranges.count == 2 + retries)
            // The bytes that arrived are kept.
            bench.resource.change { $0.lie = nil }
            let file = try await bench.client().download(bench.url, to: bench.target).value
            #expect(file.resumedFrom == 200_001 + retries)
            #expect(try Data(contentsOf: bench.target) == bench.resource.content)
        }
    }

    @Test("Each part of a range takes from the retry budget")
    func budget() async throws {
        try await DownloadBench.with { bench async throws in
            try await bench.interrupt(after: 200_000)
            bench.resource.change { $0.lie = Self.oneByte }
            let client = NetworkClient(
                interceptors: [Retry.Policy.maxRetries(1_000)],
                options: NetworkClient.Options(retryBudget: Retry.Budget(capacity: 30, transientCost: 10))
            )
            let error = await failure { _ = try await client.download(bench.url, to: bench.target).value }
            #expect(error?.code == .connectionLost)
            let isBudget = if case .budget = error?.retry?.reason { true } else { false }
            #expect(isBudget)
            #expect(bench.resource.ranges.count == 2 + 3)
        }
    }

    @Test("One deadline covers all requests")
    func deadline() async throws {
        let time = ManualTime()
        let content = RangedResource.octets(1_000)
        let transport = MockTransport(steps: [], time: time.timeSource) { request in
            time.advance(by: .seconds(1))
            let first = request.headers["Range"].flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
            var headers: HTTPHeaders = ["ETag": "\"v1\"", "Content-Length": "\(content.count)"]
            guard first > 0 else {
                return HTTPTransportResponse(status: 200, headers: headers, body: content.prefix(1))
            }
            headers["Content-Length"] = "1"
            headers["Content-Range"] = "bytes \(first)-\(first)/\(content.count)"
            return HTTPTransportResponse(status: 206, headers: headers, body: content[first..<first + 1])
        }
        let client = NetworkClient(
            transport: transport,
            interceptors: [Retry.Policy.maxRetries(1_000)],
            options: NetworkClient.Options(timeSource: time.timeSource, retryBudget: nil)
        )
        let folder = FileManager.default.temporaryDirectory.appending(path: "deadline-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = try #require(URL(string: "http://a.example/file"))
        let options = DownloadOptions(request: RequestOptions(timeout: .seconds(3)))
        let error = await failure {
            _ = try await client.download(url, to: folder.appending(path: "file"), options: options).value
        }
        #expect(error?.code == .timedOut)
        let isDeadline = if case .delay = error?.retry?.reason { true } else { false }
        #expect(isDeadline)
        #expect(transport.requests.count == 3)
    }

    @Test(
        "Only a successful response with the content is the file",
        .shows("H17"),
        arguments: [(200, true), (201, false), (202, false), (203, true), (204, false), (205, false), (207, false)]
    )
    func statuses(_ status: Int, isFile: Bool) async throws {
        try await DownloadBench.with { bench async throws in
            bench.server.on(.get, "/other", LoopbackResponse(status: status, body: Data(isFile ? "abc".utf8 : "".utf8)))
            let download = bench.client(retries: 3).download(bench.server.url(for: "/other"), to: bench.target)
            if isFile {
                #expect(try await download.value.length == 3)
            } else {
                let error = await #expect(throws: ServerError.self) { try await download.value }
                #expect(error?.errorCode == status)
                #expect(bench.names.isEmpty)
            }
            #expect(bench.server.requests.count == 1)
        }
    }

    @Test(
        "An endpoint's own statuses are accepted, unless they have no content",
        arguments: [(201, true), (204, false)]
    )
    func ownStatuses(_ status: Int, isFile: Bool) async throws {
        try await DownloadBench.with { bench async throws in
            bench.server.on(.get, "/own", LoopbackResponse(status: status, body: Data(isFile ? "abc".utf8 : "".utf8)))
            let url = bench.server.url(for: "/own")
            var resource = Resource { URLRequest(url: url) }
            resource.traits.acceptedStatuses = [201, 204]
            let download = bench.client().download(resource, to: bench.target)
            if isFile {
                #expect(try await download.value.response.status == 201)
            } else {
                let error = await #expect(throws: ServerError.self) { try await download.value }
                #expect(error?.errorCode == 204)
            }
        }
    }
}
