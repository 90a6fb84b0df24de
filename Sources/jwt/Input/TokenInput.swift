import Glibc

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
    /// - Throws: ``UsageError`` if there is no token and standard input is a terminal: waiting there would look like hanging.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        let operand = arguments.operands.first
        argument = operand == "-" ? nil : operand
        if operand == nil, FileDescriptor.standard(STDIN_FILENO).isTerminal {
            throw arguments.usageError("no token: give it as an argument, or - to type it")
        }
    }

    var isStandardInput: Bool { argument == nil }

    /// The token without the white space around it.
    ///
    /// - Throws: ``CommandFailure`` if standard input cannot be read or holds no text.
    func read() throws(CommandFailure) -> String {
        let bytes = if let argument { Array(argument.utf8) } else { try Self.readStandardInput() }
        guard let first = bytes.firstIndex(where: { !Self.isSpace($0) }),
            let last = bytes.lastIndex(where: { !Self.isSpace($0) })
        else {
            throw CommandFailure(.rejected, "no token: \(isStandardInput ? "standard input" : "the argument") is empty")
        }
        guard let token = String(validating: bytes[first...last], as: UTF8.self) else {
            throw CommandFailure(.rejected, "not a token: it is not text")
        }
        return token
    }

    private static func readStandardInput() throws(CommandFailure) -> [UInt8] {
        do throws(FileDescriptor.Failure) {
            let bytes = try FileDescriptor.standard(STDIN_FILENO).readAll(limit: sizeLimit)
            if let bytes { return bytes }
        } catch {
            throw CommandFailure(.failed, "standard input: cannot be read: \(error.reason)", cause: error)
        }
        throw CommandFailure(.rejected, "not a token: larger than 2 MiB")
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0D).contains(byte)
    }
}
