import Foundation
import MockNetworking
import Synchronization

/// A program that serves with a certificate on a port of its own, sends what is typed and shows what happens.
final class ChildServer: Sendable {
    struct Silent: Error { let output: String }

    private let listening = Atomic(0)
    private let input: FileHandle
    private let shown = Mutex("")
    private let processIdentifier: Int32

    /// Foundation's own preparations to start a program are not safe against each other: one thread at a time makes them.
    static let starting = Mutex(())

    /// Where a program is, looked for as a shell does; `nil` if it is nowhere.
    static func path(of program: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin").split(separator: ":")
        return folders.map { "\($0)/\(program)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Starts a program; it ends with ``stop()``.
    ///
    /// - Parameters:
    ///   - program: Its name.
    ///   - arguments: Its arguments; `chain.pem` and `key.pem` become the paths of the certificate and its key.
    ///   - fixture: Whose certificate it has.
    ///   - isReady: Finds the port in what the program shows.
    static func start(
        _ program: String,
        _ arguments: [String],
        _ fixture: TLSFixture,
        isReady: @Sendable (String) -> Int?
    ) async throws -> ChildServer {
        let server = try ChildServer(program, arguments, fixture)
        try await server.wait { output in
            guard let port = isReady(output) else { return false }
            server.listening.store(port, ordering: .relaxed)
            return true
        }
        return server
    }

    private init(_ program: String, _ arguments: [String], _ fixture: TLSFixture) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "child-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let files = ["chain.pem": fixture.certificate.chainPEM, "key.pem": fixture.certificate.privateKeyPEM]
        for (name, text) in files {
            try text.write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
        }
        let process = Process()
        process.executableURL = URL(filePath: Self.path(of: program) ?? "/nowhere")
        process.arguments = arguments.map { files[$0] == nil ? $0 : folder.appending(path: $0).path }
        let (typed, output) = (Pipe(), Pipe())
        process.standardInput = typed
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        input = typed.fileHandleForWriting
        try ChildServer.starting.withLock { _ in try process.run() }
        processIdentifier = process.processIdentifier
        let reading = output.fileHandleForReading
        Thread.detachNewThread { [self] in
            while true {
                let part = reading.availableData
                guard !part.isEmpty else { break }
                shown.withLock { $0 += String(decoding: part, as: UTF8.self) }
            }
            process.waitUntilExit()
            try? FileManager.default.removeItem(at: folder)
        }
    }

    /// The port, which the program shows when it listens.
    var port: Int { listening.load(ordering: .relaxed) }

    /// What it has shown so far.
    var output: String { shown.withLock { $0 } }

    func type(_ text: String) {
        try? input.write(contentsOf: Data(text.utf8))
    }

    /// Waits until it has shown a text.
    func waitForOutput(_ text: String) async throws {
        try await wait { $0.contains(text) }
    }

    private func wait(until condition: (String) -> Bool) async throws {
        let patience = ContinuousClock.now + .seconds(120)
        while !condition(output) {
            guard .now < patience else { throw Silent(output: output) }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    func stop() {
        // Threads of Swift's tasks block most signals, and what they start inherits that: it would never hear of SIGTERM.
        kill(processIdentifier, SIGKILL)
        try? input.close()
    }
}
