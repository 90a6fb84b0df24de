import Glibc

/// A file the user named to read from; `-` is standard input.
struct InputFile: ArgumentValue, Equatable {
    /// What a file holds, and who may read it.
    struct Content {
        var bytes: [UInt8]
        /// The permissions and the name of the file, where known.
        var status: FileStatus?
    }

    /// More than any key or claims have; protects against reading an endless file.
    static let sizeLimit = 1 << 20

    static let standardInput = InputFile(path: "-")

    static var valueKind: OptionDefinition.ValueKind { .file }

    let path: String

    init(argument: String) throws(ValueError) {
        guard !argument.isEmpty else { throw ValueError(message: "must name a file, or - for standard input") }
        path = argument
    }

    private init(path: String) {
        self.path = path
    }

    var isStandardInput: Bool { path == "-" }

    /// How messages call the file.
    var name: String { isStandardInput ? "standard input" : path }

    /// Reads the whole file.
    ///
    /// - Parameter limit: The most octets it may have.
    /// - Returns: What it holds.
    /// - Throws: ``CommandFailure`` that names the file if it cannot be read or is larger than the limit.
    func read(limit: Int = sizeLimit) throws(CommandFailure) -> Content {
        do throws(FileDescriptor.Failure) {
            if isStandardInput { return try content(of: .standard(STDIN_FILENO), limit) }
            return try content(of: FileDescriptor(reading: path), limit)
        } catch {
            let reason = error.number == EFBIG ? "larger than \(limit >> 20) MiB" : "cannot be read: \(error.reason)"
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
