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
                “OpenSSL” is the same of OpenSSL alone, where each thread has a key and contexts of its own.
                “control” shares nothing: what the machine itself allows. “blocked” is how often a thread waited.
                """
            )
            print("case                1 thread/s  2 threads/s   scaling    by CPU   blocked/s   OpenSSL    by CPU")
        }
        try report("control", [Operation](repeating: { floor_spin(1000) }, count: 2), floor: nil)
        for algorithm in TokenAlgorithm.all {
            let names = ["\(algorithm.name) sign", "\(algorithm.name) verify"]
            guard names.contains(where: arguments.wants) else { continue }
            let material = try KeyMaterial(algorithm)
            let ours = try Ours(material)
            let floors = try (0..<2).map { _ in try Floor(algorithm, material, token: ours.token) }
            if arguments.wants(names[0]) {
                try report(
                    names[0],
                    [Operation](repeating: { use(try ours.sign()) }, count: 2),
                    floor: floors.map { floor in { try floor.sign(times: 16) } }
                )
            }
            if arguments.wants(names[1]) {
                try report(
                    names[1],
                    [Operation](repeating: { use(try ours.verify()) }, count: 2),
                    floor: floors.map { floor in { try floor.verify(times: 16) } }
                )
            }
        }
    }

    /// Measures what each of two threads does, alone and beside the other.
    private func report(_ name: String, _ operations: [Operation], floor: [Operation]?) throws {
        try operations[0]()
        var ours = Scaling()
        var floors = Scaling()
        for _ in 0..<arguments.rounds {
            try ours.measure(operations, seconds: Self.slice)
            if let floor { try floors.measure(floor, seconds: Self.slice) }
        }
        if arguments.isJSON {
            print(
                String(
                    format: #"{"suite":"scaling","case":"%@","one_per_s":%.0f,"two_per_s":%.0f,"#
                        + #""scaling":%.3f,"scaling_by_cpu":%.3f,"blocked_per_s":%.1f"#,
                    name,
                    ours.one,
                    ours.two,
                    ours.byClock,
                    ours.byCPU,
                    ours.blocked
                )
                    + (floor == nil
                        ? "}"
                        : String(
                            format: #","floor_scaling":%.3f,"floor_scaling_by_cpu":%.3f}"#,
                            floors.byClock,
                            floors.byCPU
                        ))
            )
        } else {
            let cells = String(
                format: "%12.0f %12.0f %9.2f %9.2f %11.1f",
                ours.one,
                ours.two,
                ours.byClock,
                ours.byCPU,
                ours.blocked
            )
            let floorCells = floor == nil ? "" : String(format: " %9.2f %9.2f", floors.byClock, floors.byCPU)
            print(name + String(repeating: " ", count: max(0, 17 - name.count)) + cells + floorCells)
        }
        fflush(nil)
    }
}

/// What one thread does again and again.
private typealias Operation = @Sendable () throws -> Void

/// One thread against two, in turns.
private struct Scaling {
    private var ones: [Run] = []
    private var twos: [Run] = []

    mutating func measure(_ operations: [Operation], seconds: Double) throws {
        ones.append(try Run([operations[0]], seconds: seconds))
        twos.append(try Run(operations, seconds: seconds))
    }

    var one: Double { ones.map(\.throughput).median }
    var two: Double { twos.map(\.throughput).median }
    var byClock: Double { two / one }
    var byCPU: Double { 2 * ones.map(\.timePerOperation).median / twos.map(\.timePerOperation).median }
    var blocked: Double { twos.map(\.blocked).median }
}

/// What a number of threads got done in a time.
private struct Run {
    /// Operations per second of wall-clock time.
    let throughput: Double
    /// CPU time of one operation, in nanoseconds.
    let timePerOperation: Double
    /// How often a second a thread waited for something, such as a lock.
    let blocked: Double

    /// Lets each operation have a thread.
    init(_ operations: [Operation], seconds: Double) throws {
        let results = Results()
        let waitsBefore = Self.waits
        let cpuBefore = CPUClock.now
        let start = WallClock.now
        let end = start + UInt64(seconds * 1e9)
        let threads = operations.map { operation in
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
        let (count, finish) = try results.wait(for: threads.count)
        let elapsed = Double(finish - start) / 1e9
        throughput = Double(count) / elapsed
        timePerOperation = Double(CPUClock.now - cpuBefore) / Double(count)
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
