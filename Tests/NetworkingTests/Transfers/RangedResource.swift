import Foundation
import MockNetworking
import Networking
import Synchronization
import TestSupport

/// A resource that a loopback server provides in ranges, and that can change, fail and send wrong
/// responses on demand.
final class RangedResource: Sendable {
    struct State: Sendable {
        var content: Data
        var tag: String? = "\"v1\""
        var takesRanges = true
        /// The numbers of body bytes after which the next responses are cut, one after the other.
        var cuts: [Int] = []
        /// Changes the correct response.
        var lie: (@Sendable (LoopbackResponse, LoopbackRequest) -> LoopbackResponse)?
        var headers: HTTPHeaders = [:]
        /// The number of content bytes sent, as far as it's known in advance.
        var sent = 0
        var ranges: [String?] = []
    }

    let state: Mutex<State>

    init(_ content: Data) {
        state = Mutex(State(content: content))
    }

    /// Returns reproducible bytes that don't repeat early.
    static func octets(_ count: Int, seed: UInt64 = 1) -> Data {
        var generator = SplitMix(state: seed)
        var data = Data(capacity: count + 8)
        while data.count < count {
            var word = generator.next()
            unsafe withUnsafeBytes(of: &word) { unsafe data.append(contentsOf: $0) }
        }
        return data.prefix(count)
    }

    var sent: Int { state.withLock(\.sent) }
    var content: Data { state.withLock(\.content) }
    /// The `Range` header fields of the requests so far.
    var ranges: [String?] { state.withLock(\.ranges) }

    func change(_ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
    }

    /// Responds to a request according to RFC 9110, unless told otherwise.
    func respond(to request: LoopbackRequest) -> LoopbackResponse {
        state.withLock { state in
            state.ranges.append(request.headers["Range"])
            var headers = state.headers
            if let tag = state.tag { headers["ETag"] = tag }
            var response = LoopbackResponse(headers: headers, body: state.content)
            let isSame = request.headers["If-Range"].map { $0 == state.tag } ?? true
            if state.takesRanges, isSame, let range = request.headers["Range"], range.hasPrefix("bytes="),
                let first = Int(range.dropFirst(6).dropLast())
            {
                if first < state.content.count {
                    headers["Content-Range"] = "bytes \(first)-\(state.content.count - 1)/\(state.content.count)"
                    response = LoopbackResponse(status: 206, headers: headers, body: state.content.dropFirst(first))
                } else {
                    response = .status(416, headers: ["Content-Range": "bytes */\(state.content.count)"])
                }
            }
            if let lie = state.lie { response = lie(response, request) }
            if !state.cuts.isEmpty {
                let cut = state.cuts.removeFirst()
                state.sent += cut
                return response.cut(.afterBody(octets: cut))
            }
            if response.status == 200 { state.sent += state.content.count }
            if response.status == 206, let range = response.headers["Content-Range"],
                let first = Int(range.dropFirst(6).prefix { $0 != "-" })
            {
                state.sent += state.content.count - first
            }
            return response
        }
    }
}

/// A server with one resource at `/file`, a target folder and a client.
struct DownloadBench: Sendable {
    let server: LoopbackServer
    let resource: RangedResource
    let folder: URL

    var url: URL { server.url(for: "/file") }
    var target: URL { folder.appending(path: "target.bin") }

    /// The names of the folder's contents.
    var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    }

    static func with<Result>(
        _ content: Data = RangedResource.octets(300_000),
        perform test: (DownloadBench) async throws -> Result
    ) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "download-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let resource = RangedResource(content)
        return try await withLoopbackServer { server async throws in
            server.on(.get, "/file") { resource.respond(to: $0) }
            return try await test(DownloadBench(server: server, resource: resource, folder: folder))
        }
    }

    /// Returns a client whose retries have no delay and no budget.
    func client(retries: Int = 0, maximumTransfers: Int = 6) -> NetworkClient {
        NetworkClient(
            interceptors: retries > 0 ? [Retry.Policy.maxRetries(retries)] : [],
            options: NetworkClient.Options(retryBudget: nil, maximumTransfers: maximumTransfers)
        )
    }

    /// Downloads a part of the resource and fails.
    func interrupt(after count: Int, options: DownloadOptions = DownloadOptions()) async throws {
        resource.change { $0.cuts = [count] }
        let error = await failure { _ = try await client().download(url, to: target, options: options).value }
        guard error?.code == .connectionLost else { throw error ?? NetworkError(.unknown, "not interrupted") }
    }
}
