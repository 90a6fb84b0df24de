import Foundation
import Networking

/// One large file: `client.download` and `client.upload` against the curl command.
///
/// Each runs in a separate process with the same server and reports the duration of the transfer.
/// Downloads go to `/dev/shm`, and uploads read a file that is in memory, to exclude the disk.
struct TransferSuite {
    private let arguments: Arguments

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    func run() async throws {
        let server = try TransferServer(octets: arguments.mebibytes << 20)
        defer { server.stop() }
        let (url, ours) = (server.url.absoluteString, CommandLine.arguments[0])
        if !arguments.isJSON { print("megabytes per second, and our peak memory") }
        if arguments.wants("download") {
            try await withFolder(in: URL(filePath: "/dev/shm")) { file in
                try await compare("download", file: file, isKept: false) {
                    [[ours, "transfer", "download", url, file], Self.curl + ["-o", file, url]]
                }
            }
        }
        if arguments.wants("upload") {
            try await withFolder(in: FileManager.default.temporaryDirectory) { file in
                try fill(file)
                try await compare("upload", file: file, isKept: true) {
                    [[ours, "transfer", "upload", url, file], Self.curl + ["-T", file, url]]
                }
            }
        }
    }

    private func withFolder(in parent: URL, _ body: (_ file: String) async throws -> Void) async throws {
        let folder = parent.appending(path: "bench-transfers-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.appending(path: "file").path)
    }

    /// Writes the file for uploads and waits until it's on the disk.
    private func fill(_ file: String) throws {
        _ = FileManager.default.createFile(atPath: file, contents: nil)
        let handle = try FileHandle(forWritingTo: URL(filePath: file))
        let part = Data(repeating: 0x61, count: 1 << 20)
        for _ in 0..<arguments.mebibytes { try handle.write(contentsOf: part) }
        try handle.synchronize()
        try handle.close()
    }

    /// The curl command, which prints its duration in seconds and 0 instead of a size.
    private static let curl = ["curl", "-sS", "--fail", "-w", "%{time_total} 0"]

    private func compare(
        _ name: String,
        file: String,
        isKept: Bool,
        _ commands: () -> [[String]]
    ) async throws {
        var speeds: [[Double]] = [[], []]
        var peak = 0
        // The first round warms up.
        for round in 0...min(arguments.rounds, 15) {
            for (side, command) in commands().enumerated() {
                let output = try Self.run(command).split(separator: " ").compactMap { Double($0) }
                guard output.count == 2 else { throw UsageError(text: "bench: Unexpected output of \(command[0]).") }
                if round > 0 { speeds[side].append(Double(arguments.mebibytes << 20) / output[0] / 1e6) }
                peak = max(peak, Int(output[1]))
                if !isKept { try FileManager.default.removeItem(atPath: file) }
            }
        }
        let medians = speeds.map { $0.sorted()[$0.count / 2] }
        let (ours, curl) = (medians[0], medians[1])
        func text(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }
        if arguments.isJSON {
            print(
                """
                {"suite":"transfers","case":"\(name) \(arguments.mebibytes) MiB","mb_per_s":\(text(ours, 0)),\
                "curl_mb_per_s":\(text(curl, 0)),"vs_curl":\(text(ours / curl, 3)),"peak_kib":\(peak)}
                """
            )
        } else {
            print(
                "\(name) of \(arguments.mebibytes) MiB: \(text(ours, 0)), curl \(text(curl, 0)), "
                    + "\(text(ours / curl, 2)) × curl, \(peak) KiB"
            )
        }
        fflush(nil)
    }

    /// Runs a command and returns its output.
    private static func run(_ command: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw UsageError(text: "bench: \(command[0]) failed. Check that curl is installed.")
        }
        return String(decoding: output, as: UTF8.self)
    }
}

/// The child process, which transfers one file and prints its duration in seconds and its peak
/// memory in KiB.
enum TransferChild {
    static func run(_ arguments: [String]) async -> Never {
        do {
            guard let url = URL(string: arguments[1]) else { exit(64) }
            let file = URL(filePath: arguments[2])
            let start = ContinuousClock.now
            let client = NetworkClient()
            if arguments[0] == "download" {
                _ = try await client.download(url, to: file).value
            } else {
                _ = try await client.upload(.file(file), to: url, method: .put).value
            }
            print((ContinuousClock.now - start) / .seconds(1), terminator: " ")
        } catch {
            FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
            exit(1)
        }
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        print(line.flatMap { Int($0.filter(\.isNumber)) } ?? 0, terminator: "")
        fflush(nil)
        exit(0)
    }
}
