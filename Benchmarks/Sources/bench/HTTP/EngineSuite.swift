import Foundation
import Glibc
import Networking

/// The costs of the transport's engines: processor time with one and two of them, the time of one
/// engine's thread, and the memory, threads and descriptors of clients, connections and streams.
struct EngineSuite {
    private let arguments: Arguments

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    func run() async throws {
        let server = try BenchmarkServer()
        defer { server.stop() }
        for tasks in [32, 256] { try await compare(server.plain, tasks: tasks) }
        try await measureThread(server.plain)
        try await measureResources(server.plain)
    }

    /// Alternates between one and two engines.
    private func compare(_ url: URL, tasks: Int) async throws {
        let sides = [try HTTPSide.transport(url, engines: 1), try HTTPSide.transport(url, engines: 2)]
        var turns: [[HTTPFigures]] = [[], []]
        for side in sides { _ = try await side.run(tasks: tasks, nanoseconds: 300_000_000) }
        for round in 0..<arguments.rounds {
            for index in round.isMultiple(of: 2) ? [0, 1] : [1, 0] {
                turns[index].append(try await sides[index].run(tasks: tasks, nanoseconds: 100_000_000))
            }
        }
        for side in sides { try await side.stop() }
        let (one, two) = (HTTPFigures(middleOf: turns[0]), HTTPFigures(middleOf: turns[1]))
        report(
            "\(tasks) tasks",
            [
                ("us_per_request_1_engine", 1e6 / one.perProcessorSecond),
                ("us_per_request_2_engines", 1e6 / two.perProcessorSecond),
                ("ratio", one.perProcessorSecond / two.perProcessorSecond),
                ("per_second_1_engine", one.perSecond), ("per_second_2_engines", two.perSecond),
            ]
        )
    }

    /// Measures the processor time of an engine's thread for each request, the part that only more
    /// engines make faster.
    private func measureThread(_ url: URL) async throws {
        let side = try HTTPSide.transport(url, engines: 1)
        _ = try await side.run(tasks: 256, nanoseconds: 300_000_000)
        var times: [Double] = []
        for _ in 0..<arguments.rounds {
            let before = ThreadTimes.engines
            let start = WallClock.now
            let figures = try await side.run(tasks: 256, nanoseconds: 100_000_000)
            let count = figures.perSecond * Double(WallClock.now - start) / 1e9
            times.append(Double(ThreadTimes.engines - before) / 1e3 / count)
        }
        try await side.stop()
        let time = times.sorted()[times.count / 2]
        report(
            "engine thread",
            [("us_per_request", time)] + [1, 2, 4, 8].map { ("ceiling_\($0)_engines", Double($0) * 1e6 / time) }
        )
    }

    private func measureResources(_ url: URL) async throws {
        func get(_ transport: CurlTransport, _ url: URL) async throws {
            _ = try await transport.send(HTTPRequest(url: url), limits: HTTPTransportLimits())
        }
        let first = try CurlTransport()
        try await get(first, url)
        await first.close()

        var start = Resources.now
        let unused = try (0..<1000).map { _ in try CurlTransport() }
        report("client, never used", Resources.now.each(since: start, of: unused.count))
        start = .now
        let used = unused.prefix(200)
        for transport in used { try await get(transport, url) }
        report("client, one connection", Resources.now.each(since: start, of: used.count))
        for transport in unused { await transport.close() }

        var configuration = CurlTransport.Configuration()
        (configuration.maximumConnectionsPerHost, configuration.maximumConnections) = (512, 512)
        let transport = try CurlTransport(configuration: configuration)
        let silence = try SilentListener()
        try await get(transport, url)
        for isStreamed in [false, true] {
            start = .now
            var limits = HTTPTransportLimits()
            limits.streamsBody = isStreamed
            let tasks = (0..<400).map { [url = silence.url, limits] _ in
                Task { try await transport.send(HTTPRequest(url: url), limits: limits) }
            }
            while transport.poolState[silence.url]?.busyConnections != tasks.count {
                try await Task.sleep(for: .milliseconds(10))
            }
            report(
                isStreamed ? "stream, waiting" : "request, waiting",
                Resources.now.each(since: start, of: tasks.count)
            )
            for task in tasks { task.cancel() }
            for task in tasks { _ = try? await task.value }
        }
        await transport.close()
    }

    private func report(_ name: String, _ figures: [(name: String, value: Double)]) {
        if arguments.isJSON {
            let members = figures.map { "\"\($0.name)\":\(String(format: "%.3f", $0.value))" }.joined(separator: ",")
            print("{\"suite\":\"engines\",\"case\":\"\(name)\",\(members)}")
        } else {
            print(name)
            for figure in figures { print("    \(figure.name): \(String(format: "%.3f", figure.value))") }
        }
        fflush(nil)
    }
}

/// The processor times of threads.
enum ThreadTimes {
    /// The time of all engines' threads, in nanoseconds.
    static var engines: UInt64 {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tasks.reduce(0) { sum, task in
            let folder = "/proc/self/task/\(task)"
            guard (try? String(contentsOfFile: "\(folder)/comm", encoding: .utf8))?.hasPrefix("http-engine") ?? false
            else { return sum }
            let text = (try? String(contentsOfFile: "\(folder)/schedstat", encoding: .utf8)) ?? ""
            return sum + (text.split(separator: " ").first.flatMap { UInt64($0) } ?? 0)
        }
    }
}

/// The resources that the process uses.
private struct Resources {
    let kibibytes: Int
    let threads: Int
    let descriptors: Int

    static var now: Self {
        func entries(_ folder: String) -> Int {
            (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/" + folder).count) ?? 0
        }
        let memory = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = memory.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return Self(
            kibibytes: pages * sysconf(Int32(_SC_PAGESIZE)) / 1024,
            threads: entries("task"),
            descriptors: entries("fd")
        )
    }

    func each(since start: Self, of count: Int) -> [(name: String, value: Double)] {
        [
            ("kibibytes", Double(kibibytes - start.kibibytes) / Double(count)),
            ("threads", Double(threads - start.threads) / Double(count)),
            ("descriptors", Double(descriptors - start.descriptors) / Double(count)),
        ]
    }
}

/// A listener that lets the kernel accept connections and never responds.
private final class SilentListener {
    let url: URL
    private let socket: Int32

    init() throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = socket
        let isListening = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(socket, address, size) == 0 && listen(socket, 4096) == 0
                    && getsockname(socket, address, &size) == 0
            }
        }
        guard isListening else { throw UsageError(text: "bench: Can't listen on loopback.") }
        url = try BenchmarkServer.url("http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/")
    }

    deinit { close(socket) }
}
