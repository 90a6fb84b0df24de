import Glibc

/// The capabilities of the user's terminal.
enum Terminal {
    /// Returns whether to use colors on a stream: only on a terminal that supports them, and only
    /// if `NO_COLOR` isn't set ([no-color.org](https://no-color.org)).
    static func showsColor(_ stream: Int32) -> Bool {
        guard FileDescriptor.standard(stream).isTerminal else { return false }
        guard !EnvironmentVariable.isSet("NO_COLOR") else { return false }
        return (try? EnvironmentVariable.text(of: "TERM")) != "dumb"
    }
}
