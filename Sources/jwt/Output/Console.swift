import Foundation
import Glibc
import OAuth2
import TokenGeneration

struct Console: Sendable {
    let prefix: String
    /// A Boolean value that indicates whether messages are lines of JSON, for programs.
    var writesJSON = false

    /// - Throws: ``CommandFailure``, whose message is empty if the reader of a pipe has exited.
    func print(_ text: String, terminator: String = "\n") throws(CommandFailure) {
        try write(Array((text + terminator).utf8))
    }

    func print(_ text: String, terminator: String = "\n", as member: String) throws(CommandFailure) {
        guard writesJSON else { return try print(text, terminator: terminator) }
        try print([member: .string(text)])
    }

    func print(_ object: JSONObject) throws(CommandFailure) { try print(VisibleText.json(object.serialized())) }

    func show(_ json: String) throws(CommandFailure) {
        let visible = VisibleText.json(json)
        try print(Self.showsColor ? ColoredJSON.text(visible) : visible)
    }

    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        do throws(FileDescriptor.Failure) {
            try FileDescriptor.standard(STDOUT_FILENO).writeAll(bytes)
        } catch {
            let message = error.number == EPIPE ? "" : "can't write to standard output: \(error.message)"
            throw CommandFailure(.failed, message, cause: error)
        }
    }

    /// Prints a result: unchanged to a file or a pipe, and as escaped text to a terminal.
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

    func explain(_ text: String) {
        // A closed standard error can't be reported anywhere.
        try? FileDescriptor.standard(STDERR_FILENO).writeAll(Array(text.utf8))
    }

    func note(_ line: String) { report("note", .string(line), text: line) }

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
        report("error", .object(failure.report), text: "\(prefix): \(failure.message)\(serverText(of: failure))")
    }

    /// A server's text may repeat secrets, so it's for the user's eyes and not for a log.
    private func serverText(of failure: CommandFailure) -> String {
        guard let text = (failure.cause as? OAuth2Error)?.serverText else { return "" }
        return Self.isAtTerminal
            ? "; the server's text: \(text.expose { $0 })" : "; run the command in a terminal to see the server's text"
    }

    /// A Boolean value that indicates whether messages go to a terminal, not to a log.
    static var isAtTerminal: Bool { FileDescriptor.standard(STDERR_FILENO).isTerminal }

    func fail(_ error: UsageError) {
        report("error", ["code": "usage", "message": .string(error.message)], text: error.line)
    }

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

/// Escaping of untrusted text for terminals.
///
/// JSON leaves DEL and the C1 controls unescaped, one of which starts terminal commands, and
/// characters that reverse or hide text.
enum VisibleText {
    static func json(_ text: String) -> String { escaped(text, keepsLineBreaks: true) }

    /// Returns one safe line for text with line breaks or terminal commands, such as a file name.
    static func line(_ text: String) -> String { escaped(text, keepsLineBreaks: false) }

    private static func escaped(_ text: String, keepsLineBreaks: Bool) -> String {
        let isEscaped = { (scalar: Unicode.Scalar) in isHidden(scalar) && !(keepsLineBreaks && scalar == "\n") }
        guard text.unicodeScalars.contains(where: isEscaped) else { return text }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            if isEscaped(scalar) {
                result += escape(scalar)
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
    }

    /// Returns whether a terminal interprets or hides it: Cc, Cf, Zl, Zp, Cn and the
    /// default-ignorable code points, such as variation selectors.
    static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        if (0x20...0x7E).contains(scalar.value) { return false }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .surrogate: return true
        default: return scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// Returns the character as a JSON escape such as `\u001b`, or as a surrogate pair beyond
    /// U+FFFF.
    static func escape(_ scalar: Unicode.Scalar) -> String {
        UTF16.encode(scalar).map { unit in
            unit.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        } ?? ""
    }
}

enum ColoredJSON {
    private static let name = "\u{1B}[1;34m"
    private static let text = "\u{1B}[32m"
    private static let literal = "\u{1B}[33m"
    private static let plain = "\u{1B}[0m"

    static func text(_ json: String) -> String {
        var result = ""
        var rest = Array(json.unicodeScalars)[...]
        while let scalar = rest.first {
            if scalar == "\"" {
                let string = stringToken(rest)
                rest = rest[string.endIndex...]
                let isName = rest.first { $0 != " " } == ":"
                append(string, isName ? name : text, to: &result)
            } else if scalar == "-" || ("0"..."9").contains(scalar) || ("a"..."z").contains(scalar) {
                let token = rest.prefix { !",]} \n".unicodeScalars.contains($0) }
                rest = rest[token.endIndex...]
                append(token, literal, to: &result)
            } else {
                result.unicodeScalars.append(scalar)
                rest = rest.dropFirst()
            }
        }
        return result
    }

    private static func stringToken(_ rest: ArraySlice<Unicode.Scalar>) -> ArraySlice<Unicode.Scalar> {
        var index = rest.startIndex + 1
        while index < rest.endIndex, rest[index] != "\"" {
            index += rest[index] == "\\" ? 2 : 1
        }
        return rest[..<min(index + 1, rest.endIndex)]
    }

    private static func append(_ token: ArraySlice<Unicode.Scalar>, _ color: String, to result: inout String) {
        result += color
        result.unicodeScalars.append(contentsOf: token)
        result += plain
    }
}

enum OrderedJSON {
    /// Returns an object with the members in order, unlike those inside them, which are sorted.
    static func text(_ members: [(name: String, value: JSONValue)]) -> String {
        // The only member of an object is already indented.
        let lines = members.map { JSONObject([($0.name, $0.value)]).prettyPrinted().dropFirst(2).dropLast(2) }
        return "{\n" + lines.joined(separator: ",\n") + "\n}"
    }
}
