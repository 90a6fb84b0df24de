import CFloor
import Foundation

/// Two threads on two processors against one: whether anything shared holds them up.
struct ScalingSuite {
    private let arguments: Arguments
    /// How long one measurement takes, in seconds.
    private static let slice = 0.1

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    func run() async throws {
        if !arguments.isJSON {
            print(
                """
                One key, used by one thread and by two. “scaling” is two threads' throughput against one's by wall clock;
                “by CPU” is what it would be had the machine nothing else to do: 2 × CPU time of an operation of one / of two.
                “control” shares nothing: what the machine itself allows. “blocked” is how often a thread waited.
                """
            )
            print("case                1 thread/s  2 threads/s   scaling    by CPU   blocked/s")
        }
        try report("control") { floor_spin(1000) }
        for algorithm in TokenAlgorithm.all {
            let names = ["\(algorithm.name) sign", "\(algorithm.name) verify"]
            guard names.contains(where: arguments.wants) else { continue }
            let ours = try Ours(KeyMaterial(algorithm))
            if arguments.wants(names[0]) { try report(names[0]) { use(try ours.sign()) } }
            if arguments.wants(names[1]) { try report(names[1]) { use(try ours.verify()) } }
        }
    }

    private func report(_ name: String, _ operation: @escaping @Sendable () throws -> Void) throws {
        try operation()
        var ones: [Run] = []
        var twos: [Run] = []
        for _ in 0..<arguments.rounds {
            ones.append(try Run(threads: 1, seconds: Self.slice, operation))
            twos.append(try Run(threads: 2, seconds: Self.slice, operation))
        }
        let one = ones.map(\.throughput).median
        let two = twos.map(\.throughput).median
        let byCPU = 2 * ones.map(\.timePerOperation).median / twos.map(\.timePerOperation).median
        let blocked = twos.map(\.blocked).median
        if arguments.isJSON {
            print(
                String(
                    format: #"{"suite":"scaling","case":"%@","one_per_s":%.0f,"two_per_s":%.0f,"#
                        + #""scaling":%.3f,"scaling_by_cpu":%.3f,"blocked_per_s":%.1f}"#,
                    name,
                    one,
                    two,
                    two / one,
                    byCPU,
                    blocked
                )
            )
        } else {
            let cells = String(format: "%12.0f %12.0f %9.2f %9.2f %11.1f", one, two, two / one, byCPU, blocked)
            print(name + String(repeating: " ", count: max(0, 17 - name.count)) + cells)
        }
        fflush(nil)
    }
}

/// What a number of threads got done in a time.
private struct Run {
    /// Operations per second of wall-clock time.
    let throughput: Double
    /// CPU time of one operation, in nanoseconds.
    let timePerOperation: Double
    /// How often a second a thread waited for something, such as a lock.
    let blocked: Double

    init(threads count: Int, seconds: Double, _ operation: @escaping @Sendable () throws -> Void) throws {
        let results = Results()
        let waitsBefore = Self.waits
        let cpuBefore = CPUClock.now
        let start = WallClock.now
        let end = start + UInt64(seconds * 1e9)
        let threads = (0..<count).map { _ in
            Thread {
                var done = 0
                do {
                    // The clock is not looked at each time, for that would be measured, too.
                    while WallClock.now < end {
                        for _ in 0..<16 { try operation() }
                        done += 16
                    }
                    results.add(done, at: WallClock.now)
                } catch {
                    results.fail(error)
                }
            }
        }
        for thread in threads { thread.start() }
        let (operations, finish) = try results.wait(for: count)
        let elapsed = Double(finish - start) / 1e9
        throughput = Double(operations) / elapsed
        timePerOperation = Double(CPUClock.now - cpuBefore) / Double(operations)
        blocked = Double(Self.waits - waitsBefore) / elapsed
    }

    /// How often the process gave a processor up of its own accord.
    private static var waits: Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_nvcsw
    }
}

/// Where threads leave what they did.
// reason: everything is behind the condition's lock.
private final class Results: @unchecked Sendable {
    private let condition = NSCondition()
    private var finished = 0
    private var operations = 0
    private var finish: UInt64 = 0
    private var failure: (any Error)?

    func add(_ count: Int, at time: UInt64) {
        condition.withLock {
            finished += 1
            operations += count
            finish = max(finish, time)
            condition.signal()
        }
    }

    func fail(_ error: any Error) {
        condition.withLock {
            finished += 1
            failure = error
            condition.signal()
        }
    }

    func wait(for threads: Int) throws -> (operations: Int, finish: UInt64) {
        try condition.withLock {
            while finished < threads { condition.wait() }
            if let failure { throw failure }
            return (operations, finish)
        }
    }
}
