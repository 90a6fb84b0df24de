import Foundation
import Glibc
import Networking
import TokenGeneration

/// Where a response goes, and what of it.
struct ResponseOutput: Sendable {
    static let section = "Response"

    private static let out = Option<OutputFile>(
        "out",
        short: "o",
        value: "FILE",
        section: section,
        "Where the body goes; the file appears when it is whole (default: standard output)"
    )
    private static let force = Flag("force", section: section, "Replace a file that exists")
    private static let includesHead = Flag(
        "include",
        short: "i",
        section: section,
        "Print the status and the header before the body"
    )
    private static let fails = Flag(
        "fail",
        short: "f",
        section: section,
        "Take a status of 400 or more for a failure: exit code 1, and the body goes nowhere"
    )
    private static let failsWithBody = Flag(
        "fail-with-body",
        section: section,
        "The same exit code, but with the body"
    )

    static let options = [
        out.definition, force.definition, includesHead.definition, fails.definition, failsWithBody.definition,
    ]

    /// A body on a terminal, or in JSON, is held in memory.
    private static let heldLimit = 64 << 20

    private let out: OutputFile
    private let force: Bool
    private let includesHead: Bool
    private let fails: Bool
    private let failsWithBody: Bool
    private let console: Console

    init(_ arguments: ParsedArguments, _ console: Console) throws(UsageError) {
        out = try arguments.value(of: Self.out) ?? .standardOutput
        force = arguments.contains(Self.force)
        includesHead = arguments.contains(Self.includesHead)
        fails = arguments.contains(Self.fails)
        failsWithBody = arguments.contains(Self.failsWithBody)
        self.console = console
        if fails, failsWithBody { throw arguments.usageError("--fail and --fail-with-body exclude each other") }
        if force, out.isStandardOutput { throw arguments.usageError("--force is about the file of --out") }
    }

    /// The file, before anything is sent: a request must not be made in vain.
    ///
    /// - Returns: `nil` for standard output.
    /// - Throws: ``CommandFailure`` if it exists or can't be made.
    func file() throws(CommandFailure) -> StagedFile? {
        out.isStandardOutput ? nil : try StagedFile(path: out.path, mode: 0o644, replaces: force)
    }

    /// Whether the body is wanted, whatever the status says.
    func wantsBody(_ head: HTTPResponse) -> Bool { !(fails && head.status >= 400) }

    /// Prints a response.
    ///
    /// - Parameters:
    ///   - head: The response.
    ///   - file: The file for the body, if there is one.
    /// - Throws: ``CommandFailure``, and what the body throws.
    func print(_ head: HTTPResponse, to file: borrowing StagedFile?) async throws {
        let isHeld = console.writesJSON || FileDescriptor.standard(STDOUT_FILENO).isTerminal
        if includesHead, !console.writesJSON { try console.print(Self.text(of: head), terminator: "") }
        var held = Data()
        if wantsBody(head) {
            for try await part in head.stream {
                switch file {
                case .some(let file): try file.append(Array(part))
                case .none where isHeld:
                    held.append(part)
                    guard held.count <= Self.heldLimit else {
                        throw CommandFailure(.failed, "the body has more than 64 MiB; --out FILE takes it")
                    }
                case .none: try console.write(Array(part))
                }
            }
        }
        if console.writesJSON {
            try console.print(json(of: head, out.isStandardOutput && wantsBody(head) ? held : nil))
        } else if isHeld, !held.isEmpty {
            try console.show(content: held, "body", advice: "use --out FILE or a pipe")
        }
        if wantsBody(head) { try file?.commit() }
    }

    /// What a status means for the exit code.
    ///
    /// - Throws: ``CommandFailure`` with the code `rejected` if it counts as a failure.
    func check(_ head: HTTPResponse, name: String) throws(CommandFailure) {
        guard fails || failsWithBody, head.status >= 400 else { return }
        throw CommandFailure(
            .rejected,
            "\(name): the server answered \(head.status)",
            cause: ServerError(endpoint: nil, errorCode: head.status)
        )
    }

    private func json(of head: HTTPResponse, _ body: Data?) -> JSONObject {
        var result: JSONObject = [
            "status": .number(JSONNumber(head.status)), "version": .string(head.version),
            "url": .string(head.url.absoluteString),
            "headers": .array(
                head.headers.map { .object(["name": .string($0.name), "value": .string($0.value)]) }
            ),
        ]
        guard let body else { return result }
        if let text = String(validating: body, as: UTF8.self) {
            result["body"] = .string(text)
        } else {
            result["bodyBase64"] = .string(body.base64EncodedString())
        }
        return result
    }

    private static func text(of head: HTTPResponse) -> String {
        let fields = head.headers.map { VisibleText.line("\($0.name): \($0.value)") + "\n" }.joined()
        return "\(head.version) \(head.status)\n\(fields)\n"
    }
}
