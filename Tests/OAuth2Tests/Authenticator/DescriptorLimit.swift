import Glibc

/// The maximum number of open files and sockets of this process.
enum DescriptorLimit {
    /// Raises the limit as far as possible: five hundred connections have a thousand ends in this
    /// process.
    static func raise() {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        // Never lowers it, because all tests share the process.
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 65_536))
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
