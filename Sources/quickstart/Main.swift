internal import CProcess
import Foundation

/// A single-page example with the servers that it needs.
protocol Example: SendableMetatype {
    static var name: String { get }
    static var summary: String { get }

    static func run() async throws
}

/// Runs an example: `swift run quickstart`, optionally followed by a name.
@main
struct Main {
    private static let examples: [any Example.Type] = [
        Quickstart.self, BackendService.self, ProtectedAPI.self, RemoteSigner.self, TokenExchange.self,
        MutualTLS.self, DeviceLogin.self,
    ]

    static func main() async {
        let name = unsafe cprocess_argument(1).map { unsafe String(cString: $0) } ?? Quickstart.name
        if name == "--list" {
            for example in examples { print("\(example.name): \(example.summary)") }
            return
        }
        guard let example = examples.first(where: { $0.name == name }) else {
            fail("unknown example “\(name)”; examples: \(examples.map { $0.name }.joined(separator: ", "))", status: 64)
        }
        guard cprocess_can_run_tasks() else {
            fail("\(name) needs /proc, which isn't mounted; mount it as container engines do", status: 1)
        }
        do {
            try await example.run()
        } catch {
            fail("\(name) failed: \(error)", status: 1)
        }
    }

    private static func fail(_ message: String, status: Int32) -> Never {
        try? FileHandle.standardError.write(contentsOf: Data("\(message)\n".utf8))
        exit(status)
    }
}

struct Surprise: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    static func unless(_ condition: Bool, _ description: String) throws {
        if !condition { throw Surprise(description) }
    }
}
