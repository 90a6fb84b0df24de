/// A command line that cannot be run.
struct UsageError: Error, Equatable {
    /// The names of the commands down to the one concerned: `["jwt", "sign"]`.
    var path: [String]
    /// What is wrong and what to do, without a final period.
    var message: String

    /// One line for standard error.
    var line: String {
        let command = path.joined(separator: " ")
        return "\(command): \(message) (see \(command) --help)"
    }
}
