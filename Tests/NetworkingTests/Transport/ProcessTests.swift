import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Networking

/// Effects that can be observed only in a separate process: leaks, memory and inherited
/// descriptors.
@Suite("CurlTransport and its process", .limitedConcurrency(timeLimit: .seconds(1200)), .tags(.concurrency))
struct ProcessTests {
    @Test("Leaks no threads or descriptors, however a transport ends", .shows("Y8", "0.26"))
    func leaks() async {
        await #expect(processExitsWith: .success) {
            let peer = try TCPPeer { connection in
                while true {
                    let isLong = try connection.readHead().hasPrefix("GET /long")
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(isLong ? 10 : 5)\r\n\r\nhello")
                }
            }
            func round(_ number: Int) async throws {
                let transport = try CurlTransport(configuration: .init(proxy: .none))
                _ = try await transport.get(peer.url)
                let long = HTTPRequest(url: peer.url("/long"))
                let response = try await transport.open(long)
                let body = HTTPBody.stream { AsyncStream<Data> { _ in } }
                let upload = HTTPRequest(method: .put, url: peer.url("/long"), body: body)
                let uploading = Task { try? await transport.send(upload) }
                switch number % 4 {
                case 0: await transport.close()
                case 1: response.body.cancel()
                case 2: await transport.close(within: .milliseconds(1))
                default: break
                }
                uploading.cancel()
                _ = await uploading.value
            }
            for number in 0..<4 { try await round(number) }
            let before = try await ProcessState.settled(like: .now)
            for number in 0..<40 { try await round(number) }
            let after = try await ProcessState.settled(like: before)
            ProcessState.report("before: \(before), after: \(after)")
            try require(after.isLike(before))
            peer.stop()
        }
    }

    @Test("Programs that the process starts don't inherit connections", .shows("H20"))
    func inheritance() async {
        await #expect(processExitsWith: .success) {
            // This process may have inherited sockets from URLSession in its parent process.
            let inherited = Set((3..<1024).filter { ProcessTests.isInternetSocket($0) })
            let peer = try TCPPeer { connection in
                try connection.readHead()
                try connection.send(TCPPeer.empty)
                try connection.waitForClose()
            }
            try await withCurl { transport in
                _ = try await transport.get(peer.url)
                // There are two ends of the connection and the listener.
                let sockets = (3..<1024).filter { ProcessTests.isInternetSocket($0) && !inherited.contains($0) }
                try require(sockets.count >= 3)
                try require(sockets.allSatisfy { fcntl($0, F_GETFD) & FD_CLOEXEC != 0 })
            }
            peer.stop()
        }
    }

    /// `STREAM_MEBIBYTES=2048 swift test --filter ProcessTests` sends 2 GiB in each direction; see
    /// ``ProcessState/report(_:)``.
    @Test("Limits the memory for a response that's read slowly", .shows("Y8"))
    func slowReader() async {
        await #expect(processExitsWith: .success) { try await ProcessTests.download(limitKiB: 24 << 10) }
    }

    @Test("Limits the memory for an upload")
    func upload() async {
        await #expect(processExitsWith: .success) { try await ProcessTests.upload(limitKiB: 24 << 10) }
    }

    private static func isInternetSocket(_ descriptor: Int32) -> Bool {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe getsockname(descriptor, address, &length)
            }
        }
        return result == 0 && address.ss_family == sa_family_t(AF_INET)
    }

    private static var size: Int {
        (ProcessInfo.processInfo.environment["STREAM_MEBIBYTES"].flatMap { Int($0) } ?? 64) << 20
    }
    private static let partSize = 1 << 20

    private static func download(limitKiB: Int) async throws {
        let peer = try TCPPeer { connection in
            try connection.readHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
            let part = [UInt8](repeating: 1, count: partSize)
            for _ in 0..<(size / partSize) { try connection.send(part) }
            try connection.waitForClose()
        }
        try await withCurl { transport in
            let before = ProcessState.now
            let response = try await transport.open(peer.url, HTTPTransportLimits(maximumBodySize: .max))
            var count = 0
            for try await part in response.body {
                // Read much more slowly than data arrives, with occasional long pauses, so that all
                // buffers are full.
                if count % (8 << 20) < part.count { try await Task.sleep(for: .milliseconds(20)) }
                if count % (512 << 20) < part.count { try await Task.sleep(for: .seconds(1)) }
                count += part.count
            }
            let after = ProcessState.now
            ProcessState.report("download of \(size >> 20) MiB: before: \(before), after: \(after)")
            try require(count == size)
            try require(!ProcessState.isMemoryTelling || after.peakKiB - before.residentKiB < limitKiB)
        }
        peer.stop()
    }

    private static func upload(limitKiB: Int) async throws {
        let received = Atomic<Int>(0)
        let peer = try TCPPeer { connection in
            try connection.readHead()
            while received.load(ordering: .relaxed) < size {
                received.add(try connection.read(partSize).count, ordering: .relaxed)
            }
            try connection.send(TCPPeer.empty)
            try connection.waitForClose()
        }
        let file = FileManager.default.temporaryDirectory.appending(path: "upload-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        // A sparse file doesn't use disk space.
        let descriptor = unsafe open(file.path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        try require(descriptor >= 0 && ftruncate(descriptor, off_t(size)) == 0)
        close(descriptor)
        try await withCurl { transport in
            let before = ProcessState.now
            let request = HTTPRequest(method: .put, url: peer.url, body: try .file(file))
            let response = try await transport.send(request, limits: HTTPTransportLimits())
            let after = ProcessState.now
            ProcessState.report("upload of \(size >> 20) MiB: before: \(before), after: \(after)")
            try require(response.status == 200 && received.load(ordering: .relaxed) == size)
            try require(!ProcessState.isMemoryTelling || after.peakKiB - before.residentKiB < limitKiB)
        }
        peer.stop()
    }
}

/// Many concurrent requests, a third of them cancelled at random times.
///
/// `STRESS_REQUESTS=200000 swift test --filter StressTests` makes a long run. `STRESS_URL`
/// specifies a server to use instead of the test's, and `STRESS_AUTHORITY` a file with the
/// authority of its certificate. The test runs in a separate process, so that descriptors, threads
/// and memory can be counted.
@Suite("Stress", .limitedConcurrency(timeLimit: .seconds(1800)), .tags(.concurrency))
struct StressTests {
    @Test("Gives each request one outcome and leaks nothing", .shows("4.42"))
    func storm() async {
        await #expect(processExitsWith: .success) {
            let environment = ProcessInfo.processInfo.environment
            let count = environment["STRESS_REQUESTS"].flatMap { Int($0) } ?? 3000
            let peer = try TCPPeer { connection in
                while true {
                    try connection.readHead()
                    try connection.send(TCPPeer.hello)
                }
            }
            let url = environment["STRESS_URL"].flatMap { URL(string: $0) } ?? peer.url
            try await StressTests.run(url, count: 300, seed: 1)
            let before = try await ProcessState.settled(like: .now)
            let tally = try await StressTests.run(url, count: count, seed: 2)
            let after = try await ProcessState.settled(like: before)
            ProcessState.report("\(count) requests: \(tally); before: \(before), after: \(after)")
            try require(tally.total == count)
            try require(tally.failed == 0)
            try require(tally.cancelled > 0 && tally.answered >= count / 2)
            try require(after.isLike(before))
            try require(!ProcessState.isMemoryTelling || after.residentKiB - before.residentKiB < 16 << 10)
            peer.stop()
        }
    }

    struct Tally {
        var answered = 0
        var cancelled = 0
        var failed = 0
        var total: Int { answered + cancelled + failed }
    }

    @discardableResult
    static func run(_ url: URL, count: Int, seed: UInt64) async throws -> Tally {
        var configuration = CurlTransport.Configuration(proxy: .none)
        configuration.engineCount = 4
        configuration.usesEnginesInTurn = true
        if let authority = ProcessInfo.processInfo.environment["STRESS_AUTHORITY"] {
            configuration.tls = TLSConfiguration(trustRoots: try .file(authority))
        }
        return try await withCurl(configuration) { transport in
            await withTaskGroup(of: Tally.self) { group in
                for worker in 0..<16 {
                    group.addTask {
                        var random = SplitMix(state: seed &+ UInt64(worker) &* 7919)
                        var tally = Tally()
                        for _ in 0..<(count / 16 + (worker < count % 16 ? 1 : 0)) {
                            await exchange(transport, url, &random, &tally)
                        }
                        return tally
                    }
                }
                return await group.reduce(into: Tally()) { sum, tally in
                    sum.answered += tally.answered
                    sum.cancelled += tally.cancelled
                    sum.failed += tally.failed
                }
            }
        }
    }

    private static func exchange(
        _ transport: CurlTransport,
        _ url: URL,
        _ random: inout SplitMix,
        _ tally: inout Tally
    ) async {
        let isStreamed = random.next() % 4 == 0
        let task = Task {
            guard isStreamed else {
                _ = try await transport.get(url)
                return
            }
            let response = try await transport.open(url)
            _ = try await response.body.collect(upTo: 1 << 20)
        }
        if random.next() % 3 == 0 {
            for _ in 0..<(random.next() % 200) { await Task.yield() }
            task.cancel()
        }
        switch await task.result {
        case .success: tally.answered += 1
        case .failure(is CancellationError): tally.cancelled += 1
        case .failure(let error):
            ProcessState.report("unexpected outcome: \(error)")
            tally.failed += 1
        }
    }
}

struct ProcessState: CustomStringConvertible {
    let descriptors: Int
    let threads: Int
    let residentKiB: Int
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

    /// Returns the state once it resembles an earlier one, or after two minutes.
    ///
    /// A peer's threads end shortly after their connections.
    static func settled(like before: Self) async throws -> Self {
        // The first sleep of a process creates descriptors for its timers; later ones don't.
        try await Task.sleep(for: .milliseconds(1))
        let patience = ContinuousClock.now + .seconds(120)
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
