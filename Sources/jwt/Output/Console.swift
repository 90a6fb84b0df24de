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

/// Escaping of untrusted text for terminals.
///
/// JSON leaves many invisible or dangerous characters unescaped: DEL and the C1 controls, one of
/// which starts terminal commands; characters that reverse the direction of text; and invisible
/// characters that can hide a message.
enum VisibleText {
    /// Returns JSON of the same meaning with those characters escaped.
    ///
    /// In JSON, they occur only in strings.
    static func json(_ text: String) -> String {
        escaped(text, keepsLineBreaks: true)
    }

    /// Returns a single safe line for text that may contain line breaks and terminal commands, such
    /// as a file name.
    static func line(_ text: String) -> String {
        escaped(text, keepsLineBreaks: false)
    }

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

    /// Returns whether a terminal interprets or hides the character.
    ///
    /// These are the categories Cc, Cf, Zl, Zp and Cn, and the default-ignorable code points, such
    /// as variation selectors and Hangul fillers.
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

/// Colored JSON for terminals: blue names, green strings and yellow literals.
enum ColoredJSON {
    private static let name = "\u{1B}[1;34m"
    private static let text = "\u{1B}[32m"
    private static let literal = "\u{1B}[33m"
    private static let plain = "\u{1B}[0m"

    /// Adds colors to JSON with escaped control characters, as ``VisibleText/json(_:)`` returns it.
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

/// Readable JSON whose outer members are in a given order.
enum OrderedJSON {
    /// Returns an object with the members in order, unlike those inside them, which are sorted.
    static func text(_ members: [(name: String, value: JSONValue)]) -> String {
        // The only member of an object is already indented.
        let lines = members.map { JSONObject([($0.name, $0.value)]).prettyPrinted().dropFirst(2).dropLast(2) }
        return "{\n" + lines.joined(separator: ",\n") + "\n}"
    }
}
