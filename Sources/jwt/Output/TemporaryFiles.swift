import Glibc
import Synchronization

/// The temporary files of the process, which no signal that can be caught leaves behind.
///
/// A thread waits for the signals that end a process, removes the files and then lets the signal end the process. It isn't a signal handler,
/// so it may take a lock: a file is either registered and removed, or has its final name.
enum TemporaryFiles {
    private static let paths = Mutex<Set<String>>([])

    /// The signals that would end the process; what its parent has it ignore, as `nohup` does, stays ignored.
    private static let signals: sigset_t = {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for number in [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2]
        where !ProcessProtection.isIgnored(number) {
            unsafe sigaddset(&signals, number)
        }
        return signals
    }()

    /// Has signals remove the files.
    ///
    /// Threads that are made later inherit which signals are blocked, so this must come before any of them.
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
        // The lock is held until the process has ended, so that no file is made after this.
        paths.withLock { paths in
            for path in paths { _ = unsafe unlink(path) }
            unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            raise(number)
            _exit(128 + number)
        }
    }

    /// Makes a file.
    ///
    /// - Throws: `FileDescriptor.Failure`.
    static func create(_ path: String, mode: mode_t) throws(FileDescriptor.Failure) -> FileDescriptor {
        try paths.withLock { paths throws(FileDescriptor.Failure) in
            let file = try FileDescriptor(creating: path, mode: mode)
            paths.insert(path)
            return file
        }
    }

    /// Removes a file, if it is still there.
    static func remove(_ path: String) {
        paths.withLock { paths in
            if paths.remove(path) != nil { _ = unsafe unlink(path) }
        }
    }

    /// Gives a file its final name, which replaces a file of that name.
    ///
    /// - Returns: The system's error, or 0.
    static func rename(_ path: String, to finalPath: String) -> Int32 {
        paths.withLock { paths in
            guard unsafe Glibc.rename(path, finalPath) == 0 else { return errno }
            paths.subtract([path, finalPath])
            return 0
        }
    }
}
