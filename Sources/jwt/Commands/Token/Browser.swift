import Foundation
import Glibc

/// The user's browser.
enum Browser {
    /// Opens a page, if a browser is available.
    ///
    /// Runs the command in `BROWSER`, or `xdg-open` on a desktop. The method neither waits for the
    /// browser nor checks whether it succeeds, because the command always prints the address, too.
    static func open(_ url: URL) {
        guard let command else { return }
        // Pass the address as a shell argument, so that the shell can't interpret it as code.
        spawn("/bin/sh", ["sh", "-c", "\(command) \"$1\"", "sh", url.absoluteString])
    }

    private static var command: String? {
        // Never run a command that isn't valid UTF-8.
        if EnvironmentVariable.isSet("BROWSER") { return try? EnvironmentVariable.text(of: "BROWSER") }
        return ["DISPLAY", "WAYLAND_DISPLAY"].contains(where: EnvironmentVariable.isSet) ? "xdg-open" : nil
    }

    /// Starts a process that outlives this one, including after Control-C.
    ///
    /// The process can't write to standard output, which is for the token. Other descriptors, such
    /// as locks on cached tokens, are closed on exec (`O_CLOEXEC`).
    private static func spawn(_ path: String, _ arguments: [String]) {
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        guard unsafe posix_spawn_file_actions_init(&actions) == 0 else { return }
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        guard unsafe posix_spawnattr_init(&attributes) == 0 else { return }
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        for number in [STDOUT_FILENO, STDERR_FILENO] {
            unsafe posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_WRONLY, 0)
        }
        // Otherwise the child would inherit the ignored and blocked signals.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        for number in [SIGPIPE, SIGXFSZ] { unsafe sigaddset(&signals, number) }
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        let flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
        let list = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { unsafe list.forEach { unsafe free($0) } }
        var identifier = pid_t()
        _ = unsafe posix_spawn(&identifier, path, &actions, &attributes, list, environ)
    }
}
