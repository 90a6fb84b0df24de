import CFloor
import Foundation

/// The throughput of two threads compared with one, to show contention.
struct ScalingSuite {
    private let arguments: Arguments
    /// The duration of a measurement, in seconds.
    private static let slice = 0.1

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    func run() async throws {
        if !arguments.isJSON {
            print(
                """
                One key, used by one thread and by two. “scaling” is the throughput of two threads divided by that of one.
                “by CPU” estimates it for an idle machine: 2 × the CPU time of an operation with one thread / with two.
                “OpenSSL” is OpenSSL alone, where each thread has its own key and contexts. “control” has no shared state,
                so it shows the limit of the machine. “blocked” is the number of times that a thread waited.
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

    /// Measures one thread and then both.
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

/// The operation that a thread repeats.
private typealias Operation = @Sendable () throws -> Void

/// The measurements of one thread and of two, in alternating turns.
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

/// The result of one measurement.
private struct Run {
    /// The operations per second of elapsed time.
    let throughput: Double
    /// The CPU time of an operation, in nanoseconds.
    let timePerOperation: Double
    /// The number of times per second that a thread waited, for example for a lock.
    let blocked: Double

    /// Runs each operation in its own thread.
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
                    // Reads the clock rarely, because that would be measured, too.
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

    /// The number of voluntary context switches of the process.
    private static var waits: Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_nvcsw
    }
}

/// The results of the threads.
// reason: the condition's lock protects all properties.
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
