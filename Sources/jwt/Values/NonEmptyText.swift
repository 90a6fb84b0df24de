/// Text that must say something.
///
/// An empty value is nearly always a shell variable that is not set; whoever means it can say `--claim NAME=`.
struct NonEmptyText: ArgumentValue {
    let text: String

    init(argument: String) throws(ValueError) {
        guard !argument.isEmpty else { throw ValueError(message: "must not be empty") }
        text = argument
    }
}
