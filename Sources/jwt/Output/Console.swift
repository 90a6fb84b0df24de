import Glibc

/// Where a command prints: results on standard output, everything else on standard error.
struct Console: Sendable {
    /// What stands before each message: the names of the commands, "jwt sign".
    let prefix: String

    /// Prints a result.
    ///
    /// - Parameters:
    ///   - text: What to print.
    ///   - terminator: What follows it.
    /// - Throws: ``CommandFailure`` if standard output takes no more; it has no message if the reader of a pipe has left.
    func print(_ text: String, terminator: String = "\n") throws(CommandFailure) {
        do throws(FileDescriptor.Failure) {
            try FileDescriptor.standard(STDOUT_FILENO).writeAll(Array((text + terminator).utf8))
        } catch {
            let message = error.number == EPIPE ? "" : "cannot write to standard output: \(error.reason)"
            throw CommandFailure(.failed, message, cause: error)
        }
    }

    /// Prints several lines of our own on standard error.
    func explain(_ text: String) {
        // There is no place left to report that standard error is closed.
        try? FileDescriptor.standard(STDERR_FILENO).writeAll(Array(text.utf8))
    }

    /// Prints one line on standard error.
    func note(_ line: String) {
        explain(VisibleText.line(line) + "\n")
    }

    /// Prints a warning on standard error.
    func warn(_ message: String) {
        note("\(prefix): warning: \(message)")
    }

    /// Prints what went wrong on standard error.
    func fail(_ message: String) {
        note("\(prefix): \(message)")
    }
}
