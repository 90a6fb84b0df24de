/// Text that isn't empty.
///
/// An empty value is almost always an unset shell variable. `--claim NAME=` sets an empty claim on
/// purpose.
struct NonEmptyText: ArgumentValue {
    let text: String

    init(argument: String) throws(ValueError) {
        guard !argument.isEmpty else { throw ValueError(message: "must not be empty") }
        text = argument
    }
}
