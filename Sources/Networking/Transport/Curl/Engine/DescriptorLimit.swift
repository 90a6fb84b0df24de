import Glibc

extension NetworkError {
    /// Returns the error for an operation that found no descriptor, before any request was sent.
    static func noDescriptor(_ number: Int32, _ failure: String) -> Self {
        let reason: String
        switch number {
        case EMFILE:
            var limit = rlimit()
            let code = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let size = code == 0 ? " of \(limit.rlim_cur)" : ""
            reason =
                "the process has reached its limit\(size) for open files (EMFILE); raise RLIMIT_NOFILE "
                + "(ulimit -n, or LimitNOFILE= in a systemd unit) or lower maximumConnections"
        case ENFILE: reason = "the system has reached its limit of open files (ENFILE); raise fs.file-max"
        default: reason = "the system has no descriptor available (error \(number))"
        }
        return Self(.transportUnavailable, "\(failure): \(reason)", isUnprocessed: true)
    }

    /// Returns whether an error number indicates too many open files.
    static func isDescriptorLimit(_ number: Int32) -> Bool { number == EMFILE || number == ENFILE }

    /// The error number if there are too many open files, for functions that don't report it.
    static var missingDescriptor: Int32? {
        let probe = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard probe < 0 else {
            close(probe)
            return nil
        }
        return isDescriptorLimit(errno) ? errno : nil
    }
}
