internal import CProcess
import Glibc

/// The protection of the process and of what it holds in memory.
enum ProcessProtection {
    /// Protects the process, before it reads anything.
    ///
    /// Keys and tokens never get into a core dump: the limit stops the kernel from writing one itself, and a process that isn't
    /// dumpable isn't handed to a crash reporter either, which the limit doesn't stop. Other processes of the same user can't
    /// attach to it or read its memory.
    static func begin() {
        _ = CProcess_forbid_dumps()
        // Swift's runtime would print the registers and the memory that they point to, and with them parts of keys and tokens.
        for number in [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV, SIGTRAP] where !isIgnored(number) {
            signal(number, SIG_DFL)
        }
        // write(2) reports a closed pipe and a file size limit, where the command can clean up and say so.
        for number in [SIGPIPE, SIGXFSZ] { signal(number, SIG_IGN) }
        var limit = rlimit(rlim_cur: 0, rlim_max: 0)
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
    }

    /// Returns whether the process ignores a signal, as `nohup` and shells have it do.
    static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard unsafe sigaction(number, nil, &action) == 0 else { return false }
        let handler = unsafe action.__sigaction_handler.sa_handler
        return unsafe unsafeBitCast(handler, to: Int.self) == 1  // reason: a pointer, and SIG_IGN is 1
    }
}
