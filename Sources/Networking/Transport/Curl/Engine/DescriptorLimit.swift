import Glibc

extension NetworkError {
    /// The error of a system call that could make no descriptor, so that no request was sent.
    ///
    /// - Parameters:
    ///   - number: The system's error number.
    ///   - failure: What can't be done for the lack of it.
    /// - Returns: The error.
    static func noDescriptor(_ number: Int32, _ failure: String) -> Self {
        switch number {
        case EMFILE:
            var limit = rlimit()
            let code = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let size = code == 0 ? " of \(limit.rlim_cur)" : ""
            return Self(
                .transportUnavailable,
                "\(failure): the process has as many open files as its limit\(size) allows (EMFILE); raise RLIMIT_NOFILE "
                    + "(ulimit -n, or LimitNOFILE= in a systemd unit) or lower maximumConnections",
                isUnprocessed: true
            )
        case ENFILE:
            return Self(
                .transportUnavailable,
                "\(failure): the system has as many open files as its limit allows (ENFILE); raise fs.file-max",
                isUnprocessed: true
            )
        default:
            return Self(
                .transportUnavailable,
                "\(failure): the system has no descriptor for it (error \(number))",
                isUnprocessed: true
            )
        }
    }

    /// A Boolean value that indicates whether an error number says that there are too many open files.
    static func isDescriptorLimit(_ number: Int32) -> Bool { number == EMFILE || number == ENFILE }
}
