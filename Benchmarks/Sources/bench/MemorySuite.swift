import Foundation
import TokenGeneration

/// The resident memory before and after signing and verifying as many tokens as the time allows.
struct MemorySuite {
    private let arguments: Arguments
    private static let most = 1_000_000

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    func run() throws {
        if !arguments.isJSON { print("case            sign+verify   RSS before    RSS after    growth (KiB)") }
        for algorithm in TokenAlgorithm.all where arguments.wants(algorithm.name) {
            let ours = try Ours(KeyMaterial(algorithm))
            // Warms up: one-time allocations and malloc's caches must not count as growth.
            try exercise(ours, atMost: 2000, seconds: 5)
            let before = Self.residentKiB
            let done = try exercise(ours, atMost: Self.most, seconds: arguments.seconds)
            let after = Self.residentKiB
            if arguments.isJSON {
                print(
                    """
                    {"suite":"memory","case":"\(algorithm.name)","operations":\(done),\
                    "before_kib":\(before),"after_kib":\(after)}
                    """
                )
            } else {
                let name = algorithm.name + String(repeating: " ", count: max(0, 16 - algorithm.name.count))
                print(name + String(format: "%11d %12d %12d %15d", done, before, after, after - before))
            }
            fflush(nil)
        }
    }

    @discardableResult
    private func exercise(_ ours: Ours, atMost count: Int, seconds: Int) throws -> Int {
        let end = WallClock.now + UInt64(seconds) * 1_000_000_000
        for done in 0..<count {
            if done.isMultiple(of: 64), WallClock.now > end { return done }
            use(try ours.sign())
            use(try ours.verify())
        }
        return count
    }

    /// The resident memory of the process
    /// ([proc(5)](https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html)).
    private static var residentKiB: Int {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
        let fields = text.split(separator: " ")
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE)) / 1024 : 0
    }
}
