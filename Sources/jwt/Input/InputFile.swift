import Glibc

/// An input file that the user specifies; `-` is standard input.
struct InputFile: ArgumentValue, Equatable {
    struct Content {
        var bytes: [UInt8]
        /// The permissions and the path of the file, if known.
        var status: FileStatus?
    }

    /// The maximum size in bytes of a key or claims file, which protects against endless files.
    static let sizeLimit = 1 << 20

    static let standardInput = InputFile(path: "-")

    static let valueKind = OptionDefinition.ValueKind.file
    static let placeholder = "FILE"

    let path: String

    init(argument: String) throws(ValueError) {
        guard !argument.isEmpty else { throw ValueError(message: "must name a file, or - for standard input") }
        path = argument
    }

    init(path: String) {
        self.path = path
    }

    var isStandardInput: Bool { path == "-" }

    /// The name of the file in messages.
    var name: String { isStandardInput ? "standard input" : path }

    /// Reads the file, up to a maximum size in bytes.
    func read(limit: Int = sizeLimit) throws(CommandFailure) -> Content {
        do throws(FileDescriptor.Failure) {
            if isStandardInput { return try content(of: .standard(STDIN_FILENO), limit) }
            return try content(of: FileDescriptor(reading: path), limit)
        } catch {
            let reason = error.number == EFBIG ? "larger than \(limit >> 20) MiB" : "can't be read: \(error.message)"
            throw CommandFailure(.failed, "\(name): \(reason)", cause: error)
        }
    }

    private func content(of file: borrowing FileDescriptor, _ limit: Int) throws(FileDescriptor.Failure) -> Content {
        guard let bytes = try file.readAll(limit: limit) else {
            throw FileDescriptor.Failure(number: EFBIG)
        }
        return Content(bytes: bytes, status: file.status(path: isStandardInput ? nil : path))
    }
}
