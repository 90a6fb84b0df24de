import Foundation
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("Digests of downloads", .limitedConcurrency)
struct DownloadDigestTests {
    private static let hello = Data("hello".utf8)
    private static let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    private static let base64 = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="

    @Test("Accepts a file with the right digest from any source")
    func right() async throws {
        try await DownloadBench.with(Self.hello) { bench async throws in
            let known = DownloadOptions(existing: .replace, digest: try .sha256(hexadecimal: Self.sha256))
            _ = try await bench.download(known)
            let both = "sha-256=:\(Self.base64):, \(try HTTPDigest(of: Self.hello, by: .sha512).fieldValue)"
            for digest in [DownloadDigest.offered, .required, .known(try HTTPDigest(of: Self.hello, by: .sha512))] {
                for field in HTTPDigest.Field.allCases {
                    bench.resource.change { $0.headers = HTTPHeaders([.init(name: field.rawValue, value: both)]) }
                    _ = try await bench.download(DownloadOptions(existing: .replace, digest: digest))
                }
            }
            #expect(try Data(contentsOf: bench.target) == Self.hello)
        }
    }

    @Test(
        "A wrong digest leaves neither the file nor its part",
        .shows("H17", "RFC 9530 §2, §3 (messages)"),
        arguments: [true, false]
    )
    func wrong(isKnown: Bool) async throws {
        try await DownloadBench.with(RangedResource.octets(3 << 20)) { bench async throws in
            bench.resource.change { $0.headers["Repr-Digest"] = "sha-256=:\(Self.base64):" }
            let options = DownloadOptions(digest: isKnown ? try .sha256(hexadecimal: Self.sha256) : .offered)
            await expectFailure(.digestMismatch) { _ = try await bench.download(options, retries: 2) }
            #expect(bench.names.isEmpty)
            #expect(bench.server.requestCount == 1)
            let unchecked = DownloadOptions(digest: .unchecked)
            _ = try await bench.download(unchecked)
            #expect(bench.names == ["target.bin"])
        }
    }

    @Test("Verifies the digest of the whole file after a resumption")
    func parts() async throws {
        try await DownloadBench.with(Self.hello) { bench async throws in
            try await bench.interrupt(after: 3)
            let file = try await bench.download(DownloadOptions(digest: try .sha256(hexadecimal: Self.sha256)))
            #expect(file.resumedFrom == 3)
        }
    }

    @Test("Each offered algorithm and field has to match", .shows("N12"), arguments: [200, 206])
    func everyDigest(status: Int) async throws {
        let (right, wrong) = ("sha-256=:\(Self.base64):", "sha-512=:AAAA:")
        for field in HTTPDigest.Field.allCases {
            try await DownloadBench.with(Self.hello) { bench async throws in
                if status == 206 { try await bench.interrupt(after: 3) }
                bench.resource.change { $0.headers[field.rawValue] = "\(right), \(wrong)" }
                await expectFailure(.digestMismatch) { _ = try await bench.download() }
                #expect(bench.names.isEmpty)
            }
        }
    }

    @Test("A part's Content-Digest is about the part", arguments: ["lo", "hello", "l"])
    func partDigest(digested: String) async throws {
        try await DownloadBench.with(Self.hello) { bench async throws in
            try await bench.interrupt(after: 3)
            let value = try HTTPDigest(of: Data(digested.utf8)).fieldValue
            bench.resource.change { $0.headers["Content-Digest"] = value }
            await expectFailure((digested == "lo" ? nil : .digestMismatch)) { _ = try await bench.download() }
            #expect(bench.names == (digested == "lo" ? ["target.bin"] : []))
        }
    }

    @Test(
        "The digest of the first response is remembered for the resumed file",
        .shows("N12"),
        arguments: HTTPDigest.Field.allCases
    )
    func remembered(field: HTTPDigest.Field) async throws {
        for isRight in [true, false] {
            try await DownloadBench.with(Self.hello) { bench async throws in
                let value = try HTTPDigest(of: Data((isRight ? "hello" : "other").utf8)).fieldValue
                bench.resource.change { $0.headers[field.rawValue] = value }
                try await bench.interrupt(after: 3)
                bench.resource.change { $0.headers = [:] }
                let options = DownloadOptions(digest: .required)
                await expectFailure(isRight ? nil : .digestMismatch) { _ = try await bench.download(options) }
                #expect(bench.resource.ranges == [nil, "bytes=3-"])
            }
        }
    }

    @Test("A required digest is asked for, and missing is an error", .shows("N13"))
    func required() async throws {
        try await DownloadBench.with(Self.hello) { bench async throws in
            for value in [nil, "md5=:AAAA:"] {
                bench.resource.change { $0.headers["Repr-Digest"] = value }
                let options = DownloadOptions(digest: .required)
                await expectFailure(.digestMissing) { _ = try await bench.download(options) }
                #expect(bench.names.isEmpty)
                #expect(bench.server.requests.last?.headers["Want-Repr-Digest"] == "sha-256=10, sha-512=9")
            }
            _ = try await bench.download()
            #expect(bench.server.requests.last?.headers["Want-Repr-Digest"] == nil)
        }
    }

    @Test("A malformed digest fails the download", arguments: ["sha-256=1", "sha-256=:\(base64)=:", "sha-256"])
    func malformed(value: String) async throws {
        try await DownloadBench.with(Self.hello) { bench async throws in
            bench.resource.change { $0.headers["Repr-Digest"] = value }
            await expectFailure(.invalidField) { _ = try await bench.download() }
            #expect(bench.names.isEmpty)
        }
    }

    @Test("The digest of content that was decoded can't be verified", .shows("N14"))
    func decoded() async throws {
        let coded = Data(GzipText.coded("hello"))
        let headers: HTTPHeaders = ["Content-Encoding": "gzip", "Repr-Digest": try HTTPDigest(of: coded).fieldValue]
        try await DownloadBench.with { bench async throws in
            bench.resource.change { $0.lie = { _, _ in LoopbackResponse(headers: headers, body: coded) } }
            await expectFailure(.digestUnverifiable) { _ = try await bench.download() }
            #expect(bench.names.isEmpty)
            // A known digest is of the file.
            _ = try await bench.download(DownloadOptions(digest: try .sha256(hexadecimal: Self.sha256)))
            #expect(try Data(contentsOf: bench.target) == Self.hello)
        }
    }

    @Test("A digest in the trailer fields counts", arguments: [true, false])
    func trailers(isRight: Bool) async throws {
        let value = try HTTPDigest(of: Data((isRight ? "hello" : "other").utf8)).fieldValue
        try await DownloadBench.with { bench async throws in
            bench.resource.change {
                $0.lie = { _, _ in .chunked([Self.hello], trailers: ["Repr-Digest": value]) }
            }
            await expectFailure(isRight ? nil : .digestMismatch) {
                let file = try await bench.download(DownloadOptions(digest: .required))
                #expect(file.response.trailers["Repr-Digest"] == value)
            }
        }
    }
}

/// A resource that a loopback server provides in ranges, and that can change, fail and send wrong
/// responses on demand.
final class RangedResource: Sendable {
    struct State: Sendable {
        var content: Data
        var tag: String? = "\"v1\""
        var takesRanges = true
        /// The numbers of body bytes after which the next responses are cut, one after the other.
        var cuts: [Int] = []
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

    func download(_ options: DownloadOptions = DownloadOptions(), retries: Int = 0) async throws -> DownloadedFile {
        try await client(retries: retries).download(url, to: target, options: options).value
    }

    var isComplete: Bool { get throws { try Data(contentsOf: target) == resource.content } }

    func interrupt(after count: Int, options: DownloadOptions = DownloadOptions()) async throws {
        resource.change { $0.cuts = [count] }
        let error = await failure { _ = try await client().download(url, to: target, options: options).value }
        guard error?.code == .connectionLost else { throw error ?? NetworkError(.unknown, "not interrupted") }
    }
}
