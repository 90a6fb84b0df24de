/// An invalid command line.
struct UsageError: Error, Equatable {
    /// The path of the command, such as `["jwt", "sign"]`.
    var path: [String]
    /// The problem and the solution, without a final period.
    var message: String

    var line: String {
        let command = path.joined(separator: " ")
        return "\(command): \(message) (see \(command) --help)"
    }
}
