internal import CProcess
import Glibc

/// The protection of the process and its memory.
enum ProcessProtection {
    /// Protects the process, and must be called before the process reads secrets.
    ///
    /// Core dumps would contain keys and tokens. The limit stops the kernel from writing one.
    /// Because the process isn't dumpable, the kernel doesn't pass it to a crash reporter either,
    /// which the limit alone doesn't prevent. Other processes of the same user can't attach to it
    /// or read its memory.
    static func begin() {
        _ = cprocess_forbid_dumps()
        // Swift's backtraces print registers and the memory around them, which can contain parts of
        // keys and tokens.
        for number in [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV, SIGTRAP] where !isIgnored(number) {
            signal(number, SIG_DFL)
        }
        // Ignore these signals, so that write(2) fails instead and the command can clean up and
        // report the error.
        for number in [SIGPIPE, SIGXFSZ] { signal(number, SIG_IGN) }
        var limit = rlimit(rlim_cur: 0, rlim_max: 0)
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
    }

    /// Returns whether the process ignores a signal, for example because it was started by `nohup`.
    static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard unsafe sigaction(number, nil, &action) == 0 else { return false }
        let handler = unsafe action.__sigaction_handler.sa_handler
        return unsafe unsafeBitCast(handler, to: Int.self) == 1  // reason: a pointer, and SIG_IGN is 1
    }
}
