import Foundation
import TokenGeneration

/// The resident memory before and after signing and verifying, or encrypting and decrypting, as
/// many tokens as the time allows.
struct MemorySuite {
    private let arguments: Arguments
    private static let most = 1_000_000

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    func run() throws {
        if !arguments.isJSON {
            print(Self.padded("case") + "     tokens   RSS before    RSS after    growth (KiB)")
        }
        for algorithm in TokenAlgorithm.all where arguments.wants(algorithm.name) {
            let ours = try Ours(KeyMaterial(algorithm))
            try measure(algorithm.name) {
                use(try ours.sign())
                use(try ours.verify())
            }
        }
        for name in EncryptionCase.names where arguments.wants(name) {
            let ours = try EncryptionCase(name)
            try measure(name) {
                use(try ours.encrypt())
                use(try ours.decrypt())
            }
        }
    }

    private func measure(_ name: String, _ operation: () throws -> Void) throws {
        // Warms up: one-time allocations and malloc's caches must not count as growth.
        try exercise(atMost: 2000, seconds: 5, operation)
        let before = Self.residentKiB
        let done = try exercise(atMost: Self.most, seconds: arguments.seconds, operation)
        let after = Self.residentKiB
        if arguments.isJSON {
            print(
                """
                {"suite":"memory","case":"\(name)","operations":\(done),\
                "before_kib":\(before),"after_kib":\(after)}
                """
            )
        } else {
            print(Self.padded(name) + String(format: "%11d %12d %12d %15d", done, before, after, after - before))
        }
        fflush(nil)
    }

    @discardableResult
    private func exercise(atMost count: Int, seconds: Int, _ operation: () throws -> Void) throws -> Int {
        let end = WallClock.now + UInt64(seconds) * 1_000_000_000
        for done in 0..<count {
            if done.isMultiple(of: 64), WallClock.now > end { return done }
            try operation()
        }
        return count
    }

    private static func padded(_ name: String) -> String {
        name + String(repeating: " ", count: max(0, 30 - name.count))
    }

    /// The resident memory of the process
    /// ([proc(5)](https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html)).
    private static var residentKiB: Int {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
        let fields = text.split(separator: " ")
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE)) / 1024 : 0
    }
}
