import Glibc

/// How many files and sockets this process may have open.
enum DescriptorLimit {
    /// Raises the limit as far as the system lets it: five hundred connections have a thousand ends in this process.
    static func raise() {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        // Never down: all tests share the process.
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 65_536))
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
