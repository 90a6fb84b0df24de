import CCurl
internal import OpenSSLCrypto

/// The libcurl of this process, which FoundationNetworking brings along.
enum CurlLibrary {
    /// What the library is, read once.
    struct Description: Sendable {
        /// The version, such as `7.88.1`.
        let version: String
        /// The TLS library that libcurl uses, such as `OpenSSL/3.0.19`; empty if it has none.
        let tlsBackend: String
        /// Whether that library is the one that this process's own calls reach.
        let sharesTLSLibrary: Bool
        /// Whether connections can be given up at a certain age.
        let limitsConnectionAge: Bool
    }

    /// The oldest libcurl that has all that is needed: refusing HTTP/0.9, limiting the age of idle connections, and taking a
    /// name's addresses for a limited time.
    private static let minimumVersion: UInt32 = 0x07_4B00
    private static let minimumVersionText = "7.75.0"

    private static let packages = "package libcurl4 of Debian and Ubuntu, libcurl of Fedora and Amazon Linux"

    /// libcurl's global state is made here, once, before any handle.
    ///
    /// Before libcurl 7.84 that was not safe against FoundationNetworking doing the same at that very moment on another
    /// thread.
    private static let loaded: Result<Description, NetworkError> = {
        guard ccurl_is_available() else {
            return unavailable(
                "this process has no libcurl; install libcurl \(minimumVersionText) or later (\(packages))"
            )
        }
        let version = unsafe ccurl_version().map { unsafe String(cString: $0) } ?? "unknown"
        guard ccurl_version_number() >= minimumVersion else {
            return unavailable(
                "libcurl \(version) is too old; install libcurl \(minimumVersionText) or later (\(packages))"
            )
        }
        // Otherwise libcurl would initialize OpenSSL with its exit handler, which frees what an engine thread still uses.
        OpenSSLLibrary.prepare()
        guard ccurl_global_init() == Int32(CCURL_OK) else {
            return unavailable("libcurl \(version) could not be initialized")
        }
        let backend = unsafe ccurl_tls_backend().map { unsafe String(cString: $0) } ?? ""
        let telling = unsafe ccurl_tls_function(OpenSSLLibrary.tellingFunction)
        return .success(
            Description(
                version: version,
                tlsBackend: backend,
                sharesTLSLibrary: unsafe OpenSSLLibrary.isShared(backend: backend, functionAddress: telling),
                limitsConnectionAge: ccurl_version_number() >= 0x07_5000
            )
        )
    }()

    /// Whether a kept plain connection that speaks HTTP/2 can be used again.
    ///
    /// 7.88 begins HTTP/2 anew on it.
    static let keepsPlainHTTP2 = ccurl_version_number() >> 8 != 0x07_58

    /// A Boolean value that indicates whether a response over HTTP/2 that comes before the request is sent may be lost.
    static let losesEarlyAnswers = ccurl_version_number() < 0x08_0100

    /// A Boolean value that indicates whether libcurl asks before each request.
    static let asksBeforeRequests = ccurl_version_number() >= 0x07_5000

    /// Prepares the library.
    ///
    /// - Returns: What the library is.
    /// - Throws: ``NetworkError`` with the code `transportUnavailable` if it is missing, too old or does not start.
    static func load() throws(NetworkError) -> Description {
        try loaded.get()
    }

    /// Checks for something that a libcurl may be built without.
    ///
    /// - Parameters:
    ///   - feature: The bit that stands for it.
    ///   - ability: What it allows, for the message.
    /// - Throws: ``NetworkError`` with the code `transportUnavailable` if it is not there.
    static func require(_ feature: Int, _ ability: String) throws(NetworkError) {
        guard ccurl_features() & Int32(feature) != 0 else {
            throw NetworkError(.transportUnavailable, "this libcurl was built without what it takes to \(ability)")
        }
    }

    private static func unavailable(_ message: String) -> Result<Description, NetworkError> {
        .failure(NetworkError(.transportUnavailable, message))
    }
}
