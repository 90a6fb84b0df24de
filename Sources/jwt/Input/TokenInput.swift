import Glibc

/// Where a command gets its token: the argument, or standard input.
struct TokenInput: Equatable {
    /// The operand of the commands that take a token.
    static let operand = OperandDefinition(
        name: "TOKEN",
        summary: "The token; - or nothing reads it from standard input, where other users of the machine cannot see it"
    )

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
        let bytes = try argument.map { Array($0.utf8) } ?? InputFile.standardInput.read().bytes
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

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0D).contains(byte)
    }
}
