import Foundation
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("Download", .limitedConcurrency, .tags(.concurrency))
struct DownloadTests {
    private func mode(_ url: URL) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int)
    }

    @Test("Creates only the complete file, accessible to its owner only", .shows("4.32"))
    func success() async throws {
        try await DownloadBench.with { bench async throws in
            let file = try await bench.download()
            #expect(file.url.path == bench.target.path)
            #expect(file.response.status == 200)
            #expect(file.length == 300_000 && file.resumedFrom == 0)
            #expect(try bench.isComplete)
            #expect(try mode(bench.target) == 0o600)
            #expect(bench.names == ["target.bin"])
            let request = try #require(bench.server.requests.first)
            #expect(request.headers["Accept-Encoding"] == "identity")
            #expect(request.headers["Range"] == nil && request.headers["If-Range"] == nil)
        }
    }

    @Test("Downloads an empty file, with the requested permissions")
    func empty() async throws {
        try await DownloadBench.with(Data()) { bench async throws in
            let file = try await bench.download(DownloadOptions(permissions: 0o644))
            #expect(file.length == 0)
            #expect(try Data(contentsOf: bench.target).isEmpty)
            #expect(try mode(bench.target) == 0o644)
            #expect(bench.names == ["target.bin"])
        }
    }

    @Test("Downloads a body without a length")
    func chunked() async throws {
        try await DownloadBench.with { bench async throws in
            bench.server.on(.get, "/chunks", .chunked([Data("ab".utf8), Data("cd".utf8)]))
            let download = bench.client().download(bench.server.url(for: "/chunks"), to: bench.target)
            #expect(try await download.value.length == 4)
            #expect(download.currentProgress.totalBytes == nil)
            #expect(download.currentProgress.fractionCompleted == 1)
            #expect(download.resumeData == nil, "a complete download has no resume data")
        }
    }

    @Test("A retry continues where the connection was cut", .shows("P9", "RFC 9110 §13, §14"))
    func continued() async throws {
        try await DownloadBench.with { bench async throws in
            bench.resource.change { $0.cuts = [100_000, 50_000] }
            let file = try await bench.download(retries: 2)
            #expect(bench.resource.ranges == [nil, "bytes=100000-", "bytes=150000-"])
            #expect(bench.server.requests.map { $0.headers["If-Range"] } == [nil, "\"v1\"", "\"v1\""])
            #expect(file.response.status == 206)
            #expect(try bench.isComplete)
            #expect(bench.resource.sent == 300_000)
            #expect(bench.names == ["target.bin"])
        }
    }

    @Test("Without a retry policy, the next download continues from the folder's contents", .shows("4.34"))
    func resumedLater() async throws {
        try await DownloadBench.with { bench async throws in
            try await bench.interrupt(after: 123_456)
            #expect(bench.names.count == 2)
            for name in bench.names {
                #expect(name.hasPrefix(".target.bin."))
                #expect(try mode(bench.folder.appending(path: name)) == 0o600)
                let content = try Data(contentsOf: bench.folder.appending(path: name))
                #expect(!String(decoding: content, as: UTF8.self).contains("127.0.0.1"), "a URL may contain a secret")
            }
            let file = try await bench.download()
            #expect(bench.resource.ranges == [nil, "bytes=123456-"])
            #expect(file.resumedFrom == 123_456)
            #expect(try bench.isComplete)
            #expect(bench.names == ["target.bin"])
        }
    }

    @Test("Starts over if the resource has changed or the server doesn't support ranges", arguments: [true, false])
    func startsOver(isChanged: Bool) async throws {
        try await DownloadBench.with { bench async throws in
            try await bench.interrupt(after: 200_000)
            bench.resource.change { state in
                if isChanged {
                    state.content = RangedResource.octets(150_000, seed: 2)
                    state.tag = "\"v2\""
                } else {
                    state.takesRanges = false
                }
            }
            let file = try await bench.download()
            #expect(bench.resource.ranges == [nil, "bytes=200000-"])
            #expect(file.response.status == 200)
            #expect(try bench.isComplete)
            #expect(bench.names == ["target.bin"])
        }
    }

    @Test("Without a strong validator, requests no range and keeps nothing", arguments: ["W/\"v1\"", nil])
    func weakValidator(tag: String?) async throws {
        try await DownloadBench.with { bench async throws in
            bench.resource.change { $0.tag = tag }
            try await bench.interrupt(after: 200_000)
            #expect(bench.names.isEmpty)
            _ = try await bench.download()
            #expect(bench.resource.ranges == [nil, nil])
            #expect(try bench.isComplete)
        }
    }

    @Test("Starts over if the range can't be satisfied", .shows("RFC 9110 §13, §14"))
    func unsatisfiable() async throws {
        try await DownloadBench.with { bench async throws in
            try await bench.interrupt(after: 200_000)
            // This server doesn't support If-Range.
            bench.resource.change { $0.content = RangedResource.octets(1000, seed: 3) }
            let file = try await bench.download()
            #expect(bench.resource.ranges == [nil, "bytes=200000-", nil])
            #expect(file.length == 1000)
            #expect(try bench.isComplete)
        }
    }

    enum Lie: String, CaseIterable {
        case otherStart, otherTotal, noRange, twoRanges, otherTag, otherLength, garbage, beyond

        func told(_ response: LoopbackResponse) -> LoopbackResponse {
            var response = response
            switch self {
            case .otherStart: response.headers["Content-Range"] = "bytes 199999-299998/300000"
            case .otherTotal: response.headers["Content-Range"] = "bytes 200000-299999/400000"
            case .noRange: response.headers["Content-Range"] = nil
            case .twoRanges: response.headers.append(name: "Content-Range", value: "bytes 0-1/300000")
            case .otherTag: response.headers["ETag"] = "\"v2\""
            case .otherLength: response.headers["Content-Range"] = "bytes 200000-250000/300000"
            case .garbage: response.headers["Content-Range"] = "bytes +200000-299999/300000"
            case .beyond: response.headers["Content-Range"] = "bytes 200000-300000/300000"
            }
            return response
        }
    }

    @Test("Rejects a different range than requested", .shows("H17"), arguments: Lie.allCases)
    func lies(_ lie: Lie) async throws {
        try await DownloadBench.with { bench async throws in
            try await bench.interrupt(after: 200_000)
            bench.resource.change { $0.lie = { response, _ in lie.told(response) } }
            await expectFailure(.rangeMismatch) { _ = try await bench.download(retries: 3) }
            #expect(bench.names.isEmpty)
            #expect(bench.resource.ranges.count == 2, "the error isn't retried")
        }
    }

    @Test("Rejects a range without a range request")
    func unaskedPart() async throws {
        try await DownloadBench.with { bench async throws in
            bench.server.on(
                .get,
                "/part",
                LoopbackResponse(status: 206, headers: ["Content-Range": "bytes 0-3/8"], body: Data("abcd".utf8))
            )
            let url = bench.server.url(for: "/part")
            await expectFailure(.rangeMismatch) { _ = try await bench.client().download(url, to: bench.target).value }
            #expect(bench.names.isEmpty)
        }
    }

    @Test("Requests the rest if the server sends a shorter range")
    func shorterRange() async throws {
        try await DownloadBench.with { bench async throws in
            try await bench.interrupt(after: 200_000)
            bench.resource.change { state in
                state.lie = { response, request in
                    guard response.status == 206, request.headers["Range"] == "bytes=200000-" else { return response }
                    let range = "bytes 200000-249999/300000"
                    let body = RangedResource.octets(300_000)[200_000..<250_000]
                    return LoopbackResponse(
                        status: 206,
                        headers: ["ETag": "\"v1\"", "Content-Range": range],
                        body: Data(body)
                    )
                }
            }
            _ = try await bench.download(retries: 1)
            #expect(bench.resource.ranges == [nil, "bytes=200000-", "bytes=250000-"])
            #expect(try bench.isComplete)
        }
    }

    @Test("An unaccepted status is a ServerError with its body, and leaves no file", arguments: [404, 416])
    func refused(status: Int) async throws {
        try await DownloadBench.with { bench async throws in
            bench.server.on(.get, "/status", .text("no", status: status))
            let url = bench.server.url(for: "/status")
            let error = await expectStatus(status) { try await bench.client().download(url, to: bench.target).value }
            #expect(status == 416 || error?.response?.isEmpty == false)
            #expect(bench.names.isEmpty)
        }
    }

    @Test("Keeps a part if the next download fails before a response")
    func keptOnFailure() async throws {
        try await DownloadBench.with { bench async throws in
            try await bench.interrupt(after: 200_000)
            bench.resource.change { $0.lie = { _, _ in .status(503) } }
            await #expect(throws: ServerError.self) { try await bench.download() }
            bench.resource.change { $0.lie = nil }
            let file = try await bench.download()
            #expect(file.resumedFrom == 200_000)
        }
    }

    @Test("Doesn't create a file from a body that ends early, even if the transport reports success", .shows("H6"))
    func endsEarly() async throws {
        try await DownloadBench.with { bench async throws in
            let response = HTTPTransportResponse(
                status: 200,
                headers: ["Content-Length": "5", "ETag": "\"a\""],
                body: Data("abc".utf8)
            )
            let client = NetworkClient(transport: MockTransport(.response(response)))
            await expectFailure(.connectionLost) { _ = try await client.download(bench.url, to: bench.target).value }
            #expect(!FileManager.default.fileExists(atPath: bench.target.path))
        }
    }

    @Test("Downloads an endpoint with its headers, and rejects its own Range", .shows("4.32"))
    func endpoint() async throws {
        struct Sample: HTTPEndpoint {
            let baseURL: URL
            var headers: HTTPHeaders
        }
        try await DownloadBench.with { bench async throws in
            _ = try await bench.client()
                .download(Resource(Sample(baseURL: bench.url, headers: ["X-A": "1"])), to: bench.target).value
            #expect(bench.server.requests.first?.headers["X-A"] == "1")
            let own = Sample(baseURL: bench.url, headers: ["Range": "bytes=1-"])
            await expectFailure(.invalidRequest) {
                _ = try await bench.client().download(Resource(own), to: bench.folder.appending(path: "b")).value
            }
            #expect(bench.server.requestCount == 1)
        }
    }
}
