import Glibc
import TokenGeneration

/// Where a command gets its token: the argument, or standard input.
struct TokenInput: Equatable {
    /// The operand of the commands that take a token.
    static let operand = OperandDefinition(
        name: "TOKEN",
        summary: "The token; - or nothing reads it from standard input, where other users cannot see it"
    )

    /// More than any token has: claims of a full ``InputFile`` in base64url, and room for the rest.
    static let sizeLimit = 2 * InputFile.sizeLimit

    /// The token on the command line, `nil` to read standard input.
    let argument: String?

    /// Finds the token's place.
    ///
    /// - Parameters:
    ///   - arguments: The command line.
    ///   - name: How help calls the operand.
    /// - Throws: ``UsageError`` if there is no token and standard input is a terminal: waiting there would look like hanging.
    init(_ arguments: ParsedArguments, name: String = "TOKEN") throws(UsageError) {
        let operand = arguments.operands.first
        if arguments.contains(BatchRun.flag), operand != nil {
            throw arguments.usageError("--batch reads the tokens from standard input: leave \(name) out")
        }
        argument = operand == "-" ? nil : operand
        if operand == nil, !arguments.contains(BatchRun.flag), FileDescriptor.standard(STDIN_FILENO).isTerminal {
            throw arguments.usageError("no token: give it as an argument, or - to type it")
        }
    }

    var isStandardInput: Bool { argument == nil }

    /// The token without the white space around it.
    ///
    /// - Throws: ``CommandFailure`` if standard input cannot be read or holds no text.
    func read() throws(CommandFailure) -> String {
        let bytes = if let argument { Array(argument.utf8) } else { try Self.readStandardInput() }
        let trimmed = Self.trimmed(bytes)
        guard !trimmed.isEmpty else {
            let place = isStandardInput ? "standard input" : "the argument"
            throw CommandFailure(.rejected, TokenError(.malformedToken, "no token: \(place) is empty"))
        }
        guard let token = String(validating: trimmed, as: UTF8.self) else {
            throw CommandFailure(.rejected, TokenError(.malformedToken, "not a token: it is not text"))
        }
        if let advice = advice(on: token) {
            throw CommandFailure(.rejected, TokenError(.malformedToken, "not a token: \(advice)"))
        }
        return token
    }

    /// What to say of a text that is not a token but what people take for one.
    private func advice(on text: String) -> String? {
        if String(decoding: text.utf8.prefix(7), as: UTF8.self).isExactlyIgnoringASCIICase("bearer ") {
            return "it begins with “Bearer”, which stands before a token in a header field: leave it out"
        }
        // Three segments can be a token, whatever files are called.
        guard !isStandardInput, text.utf8.count(where: { $0 == UInt8(ascii: ".") }) != 2, unsafe access(text, F_OK) == 0
        else { return nil }
        return "the argument is the name of a file; to read the file, write < before it"
    }

    /// The octets without the white space around them.
    static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        guard let first = bytes.firstIndex(where: { !isSpace($0) }), let last = bytes.lastIndex(where: { !isSpace($0) })
        else { return [] }
        return first == 0 && last == bytes.count - 1 ? bytes : Array(bytes[first...last])
    }

    private static func readStandardInput() throws(CommandFailure) -> [UInt8] {
        do throws(FileDescriptor.Failure) {
            let bytes = try FileDescriptor.standard(STDIN_FILENO).readAll(limit: sizeLimit)
            if let bytes { return bytes }
        } catch {
            throw CommandFailure(.failed, "standard input: cannot be read: \(error.reason)", cause: error)
        }
        throw CommandFailure(.rejected, TokenError(.tooLarge, "not a token: larger than 2 MiB"))
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0D).contains(byte)
    }
}
