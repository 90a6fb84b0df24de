import Glibc
import Synchronization

/// The temporary files of the process, which are removed if a catchable signal ends it.
///
/// A thread waits for the signals, restores the terminal of a ``PasswordPrompt``, removes the files
/// and lets the signal end the process. Because
/// it isn't a signal handler, it can use a lock: each file either is registered and removed, or has
/// its final name.
enum TemporaryFiles {
    private static let paths = Mutex<Set<String>>([])

    /// The signals that end the process, without those that it inherits as ignored, for example
    /// from `nohup`.
    private static let signals: sigset_t = {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for number in [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2]
        where !ProcessProtection.isIgnored(number) {
            unsafe sigaddset(&signals, number)
        }
        return signals
    }()

    /// Starts the thread that handles the signals.
    ///
    /// Call this method before creating other threads, because threads inherit the set of blocked
    /// signals.
    static func removeOnSignals() {
        var signals = signals
        guard unsafe pthread_sigmask(SIG_BLOCK, &signals, nil) == 0 else { return }
        var thread = pthread_t()
        let wait: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { _ in
            TemporaryFiles.waitForSignal()
            return nil
        }
        if unsafe pthread_create(&thread, nil, wait, nil) != 0 {
            unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        }
    }

    private static func waitForSignal() {
        var signals = signals
        var number: Int32 = 0
        while unsafe sigwait(&signals, &number) != 0 {}
        PasswordPrompt.restoreTerminal()
        // Hold the lock until the process ends, so that no new file can be created.
        paths.withLock { paths in
            for path in paths { _ = unsafe unlink(path) }
            unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            raise(number)
            _exit(128 + number)
        }
    }

    static func create(_ path: String, mode: mode_t) throws(FileDescriptor.Failure) -> FileDescriptor {
        try paths.withLock { paths throws(FileDescriptor.Failure) in
            let file = try FileDescriptor(creating: path, mode: mode)
            paths.insert(path)
            return file
        }
    }

    /// Removes a file, if it still exists.
    static func remove(_ path: String) {
        paths.withLock { paths in
            if paths.remove(path) != nil { _ = unsafe unlink(path) }
        }
    }

    /// Renames a file to its final path, and returns 0 or the system's error number.
    static func rename(_ path: String, to finalPath: String) -> Int32 {
        paths.withLock { paths in
            guard unsafe Glibc.rename(path, finalPath) == 0 else { return errno }
            paths.subtract([path, finalPath])
            return 0
        }
    }
}
