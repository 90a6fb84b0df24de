import Foundation
import Glibc
import Networking

/// A process that transfers one thing with the public API, for tests that kill it, limit it or look
/// at its memory.
///
///     transfer-peer download URL FILE [--file-limit OCTETS]
///     transfer-peer upload URL FILE
///
/// It prints one JSON object, and exits with 1 if the transfer fails.
@main
struct TransferPeer {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 3, let url = URL(string: arguments[1]) else { exit(64) }
        if arguments.count == 5, arguments[3] == "--file-limit", let limit = UInt(arguments[4]) { setFileLimit(limit) }
        let client = NetworkClient(options: .init(retryBudget: nil))
        let file = URL(filePath: arguments[2])
        let start = ContinuousClock.now
        do {
            let count: Int
            if arguments[0] == "download" {
                let download = client.download(url, to: file, existing: .replace)
                count = try await download.value.length
            } else {
                let upload = client.upload(try .file(file), to: url, method: .put)
                _ = try await upload.value
                count = upload.currentProgress.completedBytes
            }
            let time = Int((ContinuousClock.now - start) / .microseconds(1))
            print(#"{"octets":\#(count),"microseconds":\#(time),"peakKiB":\#(peakMemory())}"#)
        } catch {
            let failure = error as? NetworkError
            let number = (failure?.cause as? POSIXError)?.code.rawValue ?? 0
            print(#"{"code":"\#(failure.map { "\($0.code)" } ?? "other")","errno":\#(number)}"#)
            exit(1)
        }
    }

    /// Makes every larger file an error, as a full disk would.
    private static func setFileLimit(_ octets: UInt) {
        signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit(rlim_cur: octets, rlim_max: octets)
        guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { exit(70) }
    }

    /// The most that was ever resident, in KiB.
    private static func peakMemory() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
    }
}
