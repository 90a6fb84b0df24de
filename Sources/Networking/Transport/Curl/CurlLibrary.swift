import CCurl
import Glibc
internal import OpenSSLCrypto

/// The libcurl of this process, which is opened for the first transport.
enum CurlLibrary {
    struct Description: Sendable {
        let version: String
        /// Such as `OpenSSL/3.0.19`, or an empty string.
        let tlsBackend: String
        let sharesTLSLibrary: Bool
    }

    private static let minimumVersion: UInt32 = 0x07_5100
    private static let advice =
        "install libcurl 7.81.0 or later (package libcurl4 of Debian and Ubuntu, libcurl of Fedora and Amazon Linux)"

    /// Initializes libcurl once, before any handle exists.
    ///
    /// Before libcurl 7.84, this wasn't safe if FoundationNetworking initialized it at the same
    /// time on another thread.
    static let loaded: Result<Description, NetworkError> = {
        guard ccurl_is_available() else {
            return unavailable("libcurl is missing; \(advice)")
        }
        let version = unsafe ccurl_version().map { unsafe String(cString: $0) } ?? "unknown"
        guard ccurl_version_number() >= minimumVersion else {
            return unavailable("libcurl \(version) is too old; \(advice)")
        }
        // Otherwise libcurl would initialize OpenSSL with an exit handler that frees memory an
        // engine's thread still uses.
        OpenSSLLibrary.prepare()
        guard ccurl_global_init() == Int32(CCURL_OK) else {
            return unavailable("libcurl \(version) failed to initialize")
        }
        let backend = unsafe ccurl_tls_backend().map { unsafe String(cString: $0) } ?? ""
        let telling = unsafe ccurl_tls_function(OpenSSLLibrary.tellingFunction)
        return .success(
            Description(
                version: version,
                tlsBackend: backend,
                sharesTLSLibrary: unsafe OpenSSLLibrary.isShared(backend: backend, functionAddress: telling)
            )
        )
    }()

    /// libcurl 7.88 starts HTTP/2 again on a kept plain connection.
    static let keepsPlainHTTP2 = ccurl_version_number() >> 8 != 0x07_58

    /// libcurl may lose an HTTP/2 response that arrives before the request is sent, and reports
    /// success for a body that an error of the connection cuts.
    static let losesEarlyAnswers = ccurl_version_number() < 0x08_0100

    /// The message names an optional feature by what it enables.
    static func require(_ feature: Int, _ ability: String) throws(NetworkError) {
        guard ccurl_features() & Int32(feature) != 0 else {
            throw NetworkError(.transportUnavailable, "this libcurl was built without the feature to \(ability)")
        }
    }

    private static func unavailable(_ message: String) -> Result<Description, NetworkError> {
        .failure(NetworkError(.transportUnavailable, message))
    }
}

extension NetworkError {
    /// No request was sent.
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

    static func isDescriptorLimit(_ number: Int32) -> Bool { number == EMFILE || number == ENFILE }

    /// For functions that don't report the error number.
    static var missingDescriptor: Int32? {
        let probe = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard probe < 0 else {
            close(probe)
            return nil
        }
        return isDescriptorLimit(errno) ? errno : nil
    }
}
