import Foundation
import Glibc
import TokenGeneration

/// The output of a command: results on standard output, everything else on standard error.
struct Console: Sendable {
    /// The prefix of messages, which is the command's path, such as "jwt sign".
    let prefix: String
    /// A Boolean value that indicates whether messages are lines of JSON, for programs.
    var writesJSON = false

    /// Prints a result.
    ///
    /// - Throws: ``CommandFailure``, whose message is empty if the reader of a pipe has exited.
    func print(_ text: String, terminator: String = "\n") throws(CommandFailure) {
        try write(Array((text + terminator).utf8))
    }

    /// Prints a result as text, or as the only member of a JSON object.
    func print(_ text: String, terminator: String = "\n", as member: String) throws(CommandFailure) {
        guard writesJSON else { return try print(text, terminator: terminator) }
        try print([member: .string(text)])
    }

    /// Prints a result as one line of JSON.
    func print(_ object: JSONObject) throws(CommandFailure) {
        try print(VisibleText.json(object.serialized()))
    }

    /// Prints JSON for a person, in color on a terminal.
    func show(_ json: String) throws(CommandFailure) {
        let visible = VisibleText.json(json)
        try print(Self.showsColor ? ColoredJSON.text(visible) : visible)
    }

    /// Prints the bytes of a result unchanged.
    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        do throws(FileDescriptor.Failure) {
            try FileDescriptor.standard(STDOUT_FILENO).writeAll(bytes)
        } catch {
            let message = error.number == EPIPE ? "" : "can't write to standard output: \(error.message)"
            throw CommandFailure(.failed, message, cause: error)
        }
    }

    /// Prints the bytes of a result: unchanged to a file or a pipe, and as escaped text to a
    /// terminal.
    ///
    /// The advice is the alternative to a terminal if the content isn't text.
    func show(content: Data, _ noun: String, advice: String) throws(CommandFailure) {
        guard FileDescriptor.standard(STDOUT_FILENO).isTerminal else { return try write(Array(content)) }
        guard let text = String(validating: content, as: UTF8.self), !text.utf8.contains(0) else {
            throw CommandFailure(.failed, "the \(noun) isn't text and can't be shown on a terminal; \(advice)")
        }
        let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            // Swift treats CRLF as a single character.
            let line = line.last == "\r" ? line.dropLast() : line
            return line.split(separator: "\t", omittingEmptySubsequences: false).map { VisibleText.line(String($0)) }
                .joined(separator: "\t")
        }
        try print(lines.joined(separator: "\n"), terminator: text.utf8.last == 0x0A ? "" : "\n")
    }

    /// Prints trusted text, which can have several lines, on standard error.
    func explain(_ text: String) {
        // A closed standard error can't be reported anywhere.
        try? FileDescriptor.standard(STDERR_FILENO).writeAll(Array(text.utf8))
    }

    func note(_ line: String) {
        report("note", .string(line), text: line)
    }

    /// Shows how to sign in, as JSON with the member names of OAuth 2.0 for programs.
    func tellSignIn(_ line: String, _ parts: [(name: String, value: JSONValue?)]) {
        let parts = parts.compactMap { part in part.value.map { (part.name, $0) } }
        report("signIn", .object(JSONObject(parts)), text: line)
    }

    func warn(_ message: String) {
        report("warning", ["message": .string(message)], text: "\(prefix): warning: \(message)")
    }

    /// Warns, before a secret is printed, if other users can access the file on standard output.
    func warnOfReaders(of noun: String) {
        let status = FileDescriptor.standard(STDOUT_FILENO).status()
        if let warning = status?.secretWarning("standard output", noun) { warn(warning) }
    }

    func fail(_ failure: CommandFailure) {
        guard !failure.message.isEmpty else { return }
        report("error", .object(failure.report), text: "\(prefix): \(failure.message)")
    }

    func fail(_ error: UsageError) {
        report("error", ["code": "usage", "message": .string(error.message)], text: error.line)
    }

    /// Prints a line on standard error: text, or an object with one member.
    private func report(_ member: String, _ value: JSONValue, text: String) {
        let json = JSONObject([(member, value)])
        explain((writesJSON ? VisibleText.json(json.serialized()) : VisibleText.line(text)) + "\n")
    }

    /// Returns whether to use colors on standard output: only on a terminal that supports them, and
    /// only if `NO_COLOR` isn't set ([no-color.org](https://no-color.org)).
    private static var showsColor: Bool {
        guard FileDescriptor.standard(STDOUT_FILENO).isTerminal, !EnvironmentVariable.isSet("NO_COLOR") else {
            return false
        }
        return (try? EnvironmentVariable.text(of: "TERM")) != "dumb"
    }
}
