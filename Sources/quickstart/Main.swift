import Foundation

/// A program on a page, with the servers that it needs.
protocol Example: SendableMetatype {
    static var name: String { get }
    /// What it shows, after its name in a list.
    static var summary: String { get }

    /// Runs it to its end; it throws if anything is not as it should be.
    static func run() async throws
}

/// Runs an example: `swift run quickstart`, or with a name.
@main
struct Main {
    /// An example, without its type.
    private struct Entry: Sendable {
        let name: String
        let summary: String
        let run: @Sendable () async throws -> Void

        init<Chosen: Example>(_ example: Chosen.Type) {
            name = Chosen.name
            summary = Chosen.summary
            run = { try await Chosen.run() }
        }
    }

    private static let examples = [
        Entry(Quickstart.self), Entry(BackendService.self), Entry(ProtectedAPI.self), Entry(RemoteSigner.self),
        Entry(TokenExchange.self), Entry(MutualTLS.self), Entry(DeviceLogin.self),
    ]

    static func main() async {
        let name = CommandLine.arguments.dropFirst().first ?? Quickstart.name
        if name == "--list" {
            for example in examples { print("\(example.name): \(example.summary)") }
            return
        }
        guard let example = examples.first(where: { $0.name == name }) else {
            fail("there is no example “\(name)”, only \(examples.map(\.name).joined(separator: ", "))", status: 64)
        }
        do {
            try await example.run()
        } catch {
            fail("\(name) failed: \(error)", status: 1)
        }
    }

    private static func fail(_ message: String, status: Int32) -> Never {
        FileHandle.standardError.write(Data("\(message)\n".utf8))
        exit(status)
    }
}

/// Something that did not come out as the example says.
struct Surprise: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    /// Throws if a condition does not hold.
    static func unless(_ condition: Bool, _ description: String) throws {
        if !condition { throw Surprise(description) }
    }
}
