import Foundation
import Glibc
import Testing

/// The resources that a process holds, for tests that run in a separate process.
struct ProcessState: CustomStringConvertible {
    let descriptors: Int
    let threads: Int
    let residentKiB: Int
    /// The peak resident size.
    let peakKiB: Int

    /// A Boolean value that indicates whether memory sizes are meaningful.
    ///
    /// AddressSanitizer keeps freed memory for a while, and ThreadSanitizer records accesses.
    static let isMemoryTelling = unsafe dlsym(nil, "__asan_init") == nil && dlsym(nil, "__tsan_init") == nil

    static var now: Self {
        func entries(_ folder: String) -> Int {
            (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/" + folder).count) ?? 0
        }
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        func kibibytes(_ name: String) -> Int {
            status.split(separator: "\n").first { $0.hasPrefix(name) }
                .flatMap { Int($0.filter(\.isNumber)) } ?? 0
        }
        return Self(
            descriptors: entries("fd"),
            threads: entries("task"),
            residentKiB: kibibytes("VmRSS:"),
            peakKiB: kibibytes("VmHWM:")
        )
    }

    /// Raises the limit of descriptors of this process, at most to its hard limit, and returns it.
    static func raiseDescriptorLimit(to count: UInt) throws -> Int {
        var limit = rlimit()
        try require(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        limit.rlim_cur = min(limit.rlim_max, max(limit.rlim_cur, count))
        try require(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        return Int(clamping: limit.rlim_cur)
    }

    /// Returns the state once it resembles an earlier one, or after ten seconds.
    ///
    /// A peer's threads end shortly after their connections.
    static func settled(like before: Self) async throws -> Self {
        // The first sleep of a process creates descriptors for its timers; later ones don't.
        try await Task.sleep(for: .milliseconds(1))
        let patience = ContinuousClock.now + .seconds(10)
        while .now < patience, !now.isLike(before) { try await Task.sleep(for: .milliseconds(20)) }
        return now
    }

    /// Returns whether the numbers of descriptors and threads haven't grown.
    ///
    /// It allows for the few that Swift's runtime creates on first use. A leak occurs with each
    /// transport or request and exceeds that.
    func isLike(_ before: Self) -> Bool {
        descriptors <= before.descriptors + 4 && threads <= before.threads + 4
    }

    /// Appends a line to the file named by `STRESS_REPORT`, because the output of an exit test's
    /// process isn't shown.
    static func report(_ line: String) {
        guard let path = ProcessInfo.processInfo.environment["STRESS_REPORT"],
            let file = FileHandle(forWritingAtPath: path)
        else { return }
        _ = try? file.seekToEnd()
        try? file.write(contentsOf: Data((line + "\n").utf8))
        try? file.close()
    }

    var description: String {
        "\(descriptors) descriptors, \(threads) threads, \(residentKiB) KiB resident, at most \(peakKiB) KiB"
    }
}

struct Unmet: Error { let line: Int }

/// Fails the process of an exit test if a condition isn't met.
func require(_ isMet: Bool, line: Int = #line) throws {
    guard isMet else { throw Unmet(line: line) }
}
