import Foundation
import Glibc
import TokenGeneration

/// Where a command prints: results on standard output, everything else on standard error.
struct Console: Sendable {
    /// What stands before each message: the names of the commands, "jwt sign".
    let prefix: String
    /// Whether a program reads what is printed, so that each message is a line of JSON.
    var writesJSON = false

    /// Prints a result.
    ///
    /// - Parameters:
    ///   - text: What to print.
    ///   - terminator: What follows it.
    /// - Throws: ``CommandFailure`` if standard output takes no more; it has no message if the reader of a pipe has left.
    func print(_ text: String, terminator: String = "\n") throws(CommandFailure) {
        try write(Array((text + terminator).utf8))
    }

    /// Prints a result for a program, in one line.
    func print(_ object: JSONObject) throws(CommandFailure) {
        try print(VisibleText.json(object.serialized()))
    }

    /// Prints JSON for a person, in color if that person sits at a terminal.
    func show(_ json: String) throws(CommandFailure) {
        let visible = VisibleText.json(json)
        try print(Terminal.showsColor(STDOUT_FILENO) ? ColoredJSON.text(visible) : visible)
    }

    /// Prints octets of a result as they are.
    ///
    /// - Throws: ``CommandFailure`` as ``print(_:terminator:)`` does.
    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        do throws(FileDescriptor.Failure) {
            try FileDescriptor.standard(STDOUT_FILENO).writeAll(bytes)
        } catch {
            let message = error.number == EPIPE ? "" : "cannot write to standard output: \(error.reason)"
            throw CommandFailure(.failed, message, cause: error)
        }
    }

    /// Prints octets of a result: as they are into a file or a pipe, and as text on which a terminal doesn't act to a terminal.
    ///
    /// - Parameters:
    ///   - content: The octets.
    ///   - noun: What they are, for a message.
    ///   - advice: What to do if they aren't text and the output is a terminal.
    /// - Throws: ``CommandFailure`` as ``print(_:terminator:)`` does, and if they aren't text and the output is a terminal.
    func show(content: Data, _ noun: String, advice: String) throws(CommandFailure) {
        guard FileDescriptor.standard(STDOUT_FILENO).isTerminal else { return try write(Array(content)) }
        guard let text = String(validating: content, as: UTF8.self), !text.utf8.contains(0) else {
            throw CommandFailure(.failed, "the \(noun) is not text, nothing for a terminal; \(advice)")
        }
        let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            // To Swift, both characters of a CRLF are one.
            let line = line.last == "\r" ? line.dropLast() : line
            return line.split(separator: "\t", omittingEmptySubsequences: false).map { VisibleText.line(String($0)) }
                .joined(separator: "\t")
        }
        try print(lines.joined(separator: "\n"), terminator: text.utf8.last == 0x0A ? "" : "\n")
    }

    /// Prints several lines of our own on standard error.
    func explain(_ text: String) {
        // There is no place left to report that standard error is closed.
        try? FileDescriptor.standard(STDERR_FILENO).writeAll(Array(text.utf8))
    }

    /// Prints one line on standard error.
    func note(_ line: String) {
        explain((writesJSON ? Self.line("note", .string(line)) : VisibleText.line(line)) + "\n")
    }

    /// Tells somebody how to sign in; a program gets the parts of it, by the names that OAuth 2.0 has for them.
    func tellSignIn(_ line: String, _ parts: [(name: String, value: JSONValue?)]) {
        guard writesJSON else { return note(line) }
        let parts = parts.compactMap { part in part.value.map { (part.name, $0) } }
        explain(Self.line("signIn", .object(JSONObject(parts))) + "\n")
    }

    /// Prints a warning on standard error.
    func warn(_ message: String) {
        explain(
            (writesJSON
                ? Self.line("warning", .object(["message": .string(message)]))
                : VisibleText.line("\(prefix): warning: \(message)")) + "\n"
        )
    }

    /// Warns if standard output is a file that other users may read or change, before something secret goes there.
    ///
    /// - Parameter noun: What goes there.
    func warnOfReaders(of noun: String) {
        let status = FileDescriptor.standard(STDOUT_FILENO).status()
        if let warning = status?.secretWarning("standard output", noun) { warn(warning) }
    }

    /// Prints what went wrong on standard error.
    func fail(_ failure: CommandFailure) {
        guard !failure.message.isEmpty else { return }
        explain(
            (writesJSON
                ? Self.line("error", .object(failure.report))
                : VisibleText.line("\(prefix): \(failure.message)")) + "\n"
        )
    }

    /// Prints what is wrong with the command line on standard error.
    func fail(_ error: UsageError) {
        let report: JSONObject = ["code": "usage", "message": .string(error.message)]
        explain((writesJSON ? Self.line("error", .object(report)) : VisibleText.line(error.line)) + "\n")
    }

    private static func line(_ name: String, _ value: JSONValue) -> String {
        VisibleText.json(JSONObject([(name, value)]).serialized())
    }
}
