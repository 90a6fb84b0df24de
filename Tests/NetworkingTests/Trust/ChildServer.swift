import Foundation
import MockNetworking
import Synchronization
import TestPrograms
import TestSupport

/// A server process with a certificate and its own port, which sends the typed text and prints
/// events.
final class ChildServer: Sendable {
    struct Silent: Error { let output: String }

    private let listening = Atomic(0)
    private let program: ChildProgram
    private let folder: URL

    /// Starts a program, which runs until ``stop()``.
    ///
    /// - Parameters:
    ///   - program: The program's name.
    ///   - arguments: The arguments. `chain.pem` and `key.pem` become the paths of the certificate
    ///     and its key.
    ///   - fixture: The fixture with the certificate.
    ///   - isReady: Finds the port in the program's output.
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
        folder = FileManager.default.temporaryDirectory.appending(path: "child-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let files = ["chain.pem": fixture.certificate.chainPEM, "key.pem": fixture.certificate.privateKeyPEM]
        for (name, text) in files {
            try text.write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
        }
        let place = folder
        self.program = try ChildProgram(
            path: ChildProgram.path(of: program) ?? "/nowhere",
            arguments.map { files[$0] == nil ? $0 : place.appending(path: $0).path },
            input: .typed,
            output: .file(place.appending(path: "shown").path)
        )
    }

    /// The port, which the program prints when it listens.
    var port: Int { listening.load(ordering: .relaxed) }

    /// The output so far.
    var output: String {
        let shown = try? Data(contentsOf: folder.appending(path: "shown"))
        return String(decoding: shown ?? Data(), as: UTF8.self)
    }

    func type(_ text: String) {
        program.type(text)
    }

    /// Waits until the output contains a text.
    func waitForOutput(_ text: String) async throws {
        try await wait { $0.contains(text) }
    }

    private func wait(until condition: (String) -> Bool) async throws {
        guard try await eventually({ condition(output) }) else { throw Silent(output: output) }
    }

    func stop() {
        program.kill()
        try? FileManager.default.removeItem(at: folder)
    }
}
