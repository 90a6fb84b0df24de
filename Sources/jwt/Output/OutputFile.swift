/// An output file that the user specifies; `-` is standard output.
struct OutputFile: ArgumentValue, Equatable {
    static let standardOutput = OutputFile(path: "-")

    static let valueKind = OptionDefinition.ValueKind.file
    static let placeholder = "FILE"

    let path: String

    init(argument: String) throws(ValueError) {
        guard !argument.isEmpty, !argument.hasSuffix("/") else {
            throw ValueError(message: "must name a file, or - for standard output")
        }
        path = argument
    }

    private init(path: String) {
        self.path = path
    }

    var isStandardOutput: Bool { path == "-" }
}
