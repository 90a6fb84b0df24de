import Glibc

/// What the user's terminal wants.
enum Terminal {
    /// Whether what is written to a stream may have colors: only at a terminal that has some, and not if `NO_COLOR` is set to
    /// anything ([no-color.org](https://no-color.org)).
    static func showsColor(_ stream: Int32) -> Bool {
        guard FileDescriptor.standard(stream).isTerminal else { return false }
        guard !EnvironmentVariable.isSet("NO_COLOR") else { return false }
        return (try? EnvironmentVariable.text(of: "TERM")) != "dumb"
    }
}
