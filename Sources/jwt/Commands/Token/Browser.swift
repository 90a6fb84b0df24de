import Foundation
import Glibc

/// The user's browser.
enum Browser {
    /// Shows a page, if there is a browser; whoever has none opens it by hand.
    ///
    /// `BROWSER` is a command that takes a URL; without it, a desktop has `xdg-open`. Nobody waits for it, and whether it works is not
    /// found out: the page's address is said in any case.
    static func open(_ url: URL) {
        guard let command else { return }
        // The address is an argument of the shell's, not a part of its script: nothing in it is a command.
        spawn("/bin/sh", ["sh", "-c", "\(command) \"$1\"", "sh", url.absoluteString])
    }

    private static var command: String? {
        // A command that is not text is not run in a repaired form.
        if EnvironmentVariable.isSet("BROWSER") { return try? EnvironmentVariable.text(of: "BROWSER") }
        return ["DISPLAY", "WAYLAND_DISPLAY"].contains(where: EnvironmentVariable.isSet) ? "xdg-open" : nil
    }

    /// Starts a program that stays when this one ends, be it by Control-C, and has nothing of it: standard output is for the token, and
    /// all else that is open, such as locks on kept tokens, is closed in it (`O_CLOEXEC`).
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
        // A child would inherit which signals this program ignores, and which this thread blocks.
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
