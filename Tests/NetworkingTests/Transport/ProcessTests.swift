import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Networking

/// Effects that can be observed only in a separate process: leaks, memory and inherited
/// descriptors.
@Suite("CurlTransport and its process", .limitedConcurrency(timeLimit: .seconds(1200)))
struct ProcessTests {
    @Test("Leaks no threads or descriptors, however a transport ends")
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
                let long = HTTPTransportRequest(url: peer.url("/long"))
                let response = try await transport.open(long, limits: .generous())
                let body = HTTPBody.stream { AsyncStream<Data> { _ in } }
                let upload = HTTPTransportRequest(method: .put, url: peer.url("/long"), body: body)
                let uploading = Task { try? await transport.send(upload, limits: .generous()) }
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

    @Test("Programs that the process starts don't inherit connections")
    func inheritance() async {
        await #expect(processExitsWith: .success) {
            // This process may have inherited sockets from URLSession in its parent process.
            let inherited = Set((3..<1024).filter { ProcessTests.isInternetSocket($0) })
            let peer = try TCPPeer { connection in
                try connection.readHead()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
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
    @Test("Limits the memory for a response that's read slowly")
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
            let limits = HTTPTransportLimits(maximumBodySize: .max)
            let response = try await transport.open(HTTPTransportRequest(url: peer.url), limits: limits)
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
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
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
            let request = HTTPTransportRequest(method: .put, url: peer.url, body: try .file(file))
            let response = try await transport.send(request, limits: HTTPTransportLimits())
            let after = ProcessState.now
            ProcessState.report("upload of \(size >> 20) MiB: before: \(before), after: \(after)")
            try require(response.status == 200 && received.load(ordering: .relaxed) == size)
            try require(!ProcessState.isMemoryTelling || after.peakKiB - before.residentKiB < limitKiB)
        }
        peer.stop()
    }
}
