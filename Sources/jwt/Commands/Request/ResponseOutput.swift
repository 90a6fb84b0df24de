import Foundation
import Glibc
import Networking
import TokenGeneration

/// The output of a response.
struct ResponseOutput: Sendable {
    private static let out = Option<OutputFile>(
        "out",
        short: "o",
        "The output file for the body, created only when the body is complete (default: standard output)"
    )
    private static let force = Flag("force", "Replace an existing file")
    private static let includesHead = Flag(
        "include",
        short: "i",
        "Print the status and the header fields before the body"
    )
    private static let fails = Flag(
        "fail",
        short: "f",
        "Treat a status of 400 or more as a failure: exit with 1 and discard the body"
    )
    private static let failsWithBody = Flag("fail-with-body", "Like --fail, but print the body")

    static let options = OptionDefinition.section("Response", [out, force, includesHead, fails, failsWithBody])

    /// The maximum size of a body that is held in memory, for a terminal or JSON.
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
        if fails, failsWithBody { throw arguments.usageError("--fail and --fail-with-body can't be combined") }
        if force, out.isStandardOutput { throw arguments.usageError("--force requires --out FILE") }
    }

    /// Creates the output file before the request is sent, so that a request isn't sent in vain.
    func file() throws(CommandFailure) -> StagedFile? {
        out.isStandardOutput ? nil : try StagedFile(path: out.path, mode: 0o644, replaces: force)
    }

    /// Returns whether to output the body of a response.
    func wantsBody(_ head: HTTPResponse) -> Bool { !(fails && head.status >= 400) }

    /// Prints a response; only the end of the body stream may tell whether the body is authentic.
    func print(_ head: HTTPResponse, to file: borrowing StagedFile?, verifiesBody: Bool) async throws {
        let isHeld = console.writesJSON || verifiesBody || FileDescriptor.standard(STDOUT_FILENO).isTerminal
        if includesHead, !console.writesJSON { try console.print(Self.text(of: head), terminator: "") }
        var held = Data()
        if wantsBody(head) {
            for try await part in head.stream {
                switch file {
                case .some(let file): try file.append(Array(part))
                case .none where isHeld:
                    held.append(part)
                    guard held.count <= Self.heldLimit else {
                        throw CommandFailure(.failed, "the body is larger than 64 MiB; use --out FILE")
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

    /// Checks the status for the exit code.
    func check(_ head: HTTPResponse, name: String) throws(CommandFailure) {
        guard fails || failsWithBody, head.status >= 400 else { return }
        throw CommandFailure(
            .rejected,
            "\(name): the server responded with \(head.status)",
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
