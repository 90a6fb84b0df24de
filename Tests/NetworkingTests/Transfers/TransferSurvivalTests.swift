import Foundation
import Glibc
import MockNetworking
import Networking
import Synchronization
import TestPrograms
import TestSupport
import Testing

/// Tests of transfers with killed processes, full disks, cut connections and sizes that don't fit
/// in memory.
///
/// With `TRANSFERS_FULL` in the environment, they use the sizes that the documentation promises,
/// otherwise smaller ones. They write measurements to the file that `STRESS_REPORT` names.
@Suite("Survival of transfers", .limitedConcurrency(timeLimit: .seconds(1800)))
struct TransferSurvivalTests {
    private static let isFull = ProcessInfo.processInfo.environment["TRANSFERS_FULL"] != nil

    /// Serves a resource in small parts, and counts the bytes.
    private static func serve(_ content: Data, counting box: CountBox) -> LoopbackServer.Handler {
        { request in
            let range = request.headers["Range"].flatMap { Int($0.dropFirst(6).dropLast()) }
            let first = request.headers["If-Range"] == "\"v1\"" ? range ?? 0 : 0
            var headers: HTTPHeaders = ["ETag": "\"v1\""]
            if first > 0 { headers["Content-Range"] = "bytes \(first)-\(content.count - 1)/\(content.count)" }
            return .stream(status: first > 0 ? 206 : 200, headers: headers, length: content.count - first) { writer in
                for start in stride(from: first, to: content.count, by: 16 << 10) {
                    let end = min(start + (16 << 10), content.count)
                    try await writer.write(content[start..<end])
                    box.count.withLock { $0 += end - start }
                }
            }
        }
    }

    @Test("A download that is killed at random times continues each time, and leaves only the file", .shows("P9"))
    func killed() async throws {
        let kills = Self.isFull ? 50 : 8
        let content = RangedResource.octets(64 << 20)
        try await DownloadBench.with(Data()) { bench async throws in
            let written = CountBox()
            bench.server.on(.get, "/big", Self.serve(content, counting: written))
            let url = bench.server.url(for: "/big").absoluteString
            var random = SplitMix(state: UInt64(kills))
            var (done, resumed, wholes) = (0, 0, 0)
            while done < kills {
                written.count.withLock { $0 = 0 }
                let process = try TransferProcess("download", url, bench.target.path)
                // A few are killed before the first byte, most at a random position, as seen by the
                // server.
                let rest = Double(content.count) * 2 / Double(kills)
                let threshold = Int(Double(random.next() % 1000) / 1000 * rest)
                while written.count.withLock({ $0 }) < threshold, !process.isOver {
                    try await Task.sleep(for: .microseconds(200))
                }
                if process.isOver {
                    // The download finished before it could be killed. The next one starts over.
                    #expect(try await process.wait() == 0)
                    #expect(try Data(contentsOf: bench.target) == content)
                    #expect(bench.names == ["target.bin"])
                    try FileManager.default.removeItem(at: bench.target)
                    wholes += 1
                    continue
                }
                process.kill()
                done += 1
                #expect(!FileManager.default.fileExists(atPath: bench.target.path))
                #expect(bench.names.allSatisfy { $0.hasPrefix(".target.bin.") })
            }
            let last = try TransferProcess("download", url, bench.target.path)
            #expect(try await last.wait() == 0)
            #expect(try Data(contentsOf: bench.target) == content)
            #expect(bench.names == ["target.bin"])
            let requests = bench.server.requests(for: "/big")
            resumed = requests.filter { $0.headers["Range"] != nil }.count
            #expect(resumed > kills / 3)
            ProcessState.report(
                "killed \(kills) times: \(requests.count) requests, \(resumed) resumed, \(wholes) too fast"
            )
        }
    }

    @Test("Cutting the connection at 200 random positions causes little overhead")
    func cut() async throws {
        let count = 4 << 20
        try await DownloadBench.with(RangedResource.octets(count)) { bench async throws in
            var random = SplitMix(state: 200)
            let cuts = (0..<200).map { _ in Int(random.next() % UInt64(count / 105)) }
            bench.resource.change { $0.cuts = cuts }
            let file = try await bench.client(retries: 200).download(bench.url, to: bench.target).value
            #expect(file.length == count)
            #expect(try bench.isComplete)
            #expect(bench.resource.ranges.count == 201)
            #expect(Double(bench.resource.sent) <= 1.05 * Double(count))
            ProcessState.report("cut 200 times: \(bench.resource.sent) bytes for \(count)")
        }
    }

    @Test("A full disk fails with cannotUseFile, without creating the target")
    func diskFull() async throws {
        try await DownloadBench.with(RangedResource.octets(3 << 20)) { bench async throws in
            let process = try TransferProcess(
                "download",
                bench.url.absoluteString,
                bench.target.path,
                "--file-limit",
                "1000000"
            )
            #expect(try await process.wait() == 1)
            #expect(process.report == TransferProcess.Report(code: "cannotUseFile", errno: Int(EFBIG)))
            #expect(bench.names.allSatisfy { $0.hasPrefix(".target.bin.") })
            // With free space, the next download continues.
            let file = try await bench.download()
            #expect(file.resumedFrom == 1_000_000)
            #expect(try bench.isComplete)
            #expect(bench.names == ["target.bin"])
        }
    }

    @Test("Sends and receives files of any size with bounded memory")
    func memory() async throws {
        let size = Self.isFull ? 2 << 30 : 96 << 20
        try await DownloadBench.with(Data()) { bench async throws in
            try await withPeer { connection in
                let head = try connection.readHead()
                if head.hasPrefix("GET") {
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\nETag: \"a\"\r\n\r\n")
                    let part = [UInt8](repeating: 0x61, count: 1 << 20)
                    for _ in 0..<(size >> 20) { try connection.send(part) }
                    try connection.waitForClose()
                } else {
                    try connection.discard(size)
                    try connection.send("HTTP/1.1 204 No Content\r\n\r\n")
                }
            } _: { peer in
                for name in ["download", "upload"] {
                    let process = try TransferProcess(name, peer.url.absoluteString, bench.target.path)
                    #expect(try await process.wait() == 0)
                    let report = try #require(process.report)
                    #expect(report.octets == size)
                    let seconds = Double(report.microseconds ?? 1) / 1e6
                    ProcessState.report(
                        "\(name) of \(size >> 20) MiB: at most \(report.peakKiB ?? 0) KiB, "
                            + "\(Int(Double(size) / seconds / 1e6)) MB/s"
                    )
                    if ProcessState.isMemoryTelling { #expect(report.peakKiB ?? .max < 64 << 10) }
                }
            }
        }
    }
}

private final class CountBox: Sendable {
    let count = Mutex(0)
}

final class TransferProcess: Sendable {
    struct Report: Codable, Equatable {
        var octets: Int?
        var microseconds: Int?
        var peakKiB: Int?
        var code: String?
        var errno: Int?
    }

    private let program: ChildProgram
    private let output: URL

    init(_ arguments: String...) throws {
        output = FileManager.default.temporaryDirectory.appending(path: "transfer-\(UUID().uuidString).json")
        program = try ChildProgram("transfer-peer", arguments, output: output.path)
    }

    deinit {
        _ = unsafe unlink(output.path)
    }

    var report: Report? {
        (try? Data(contentsOf: output)).flatMap { try? JSONDecoder().decode(Report.self, from: $0) }
    }

    var isOver: Bool { program.isOver }

    /// Waits for the end, and returns the exit code or the negative signal number.
    func wait() async throws -> Int32 { try await program.wait() }

    func kill() { program.kill() }
}
