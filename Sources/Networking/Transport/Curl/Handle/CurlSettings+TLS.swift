import CCurl
internal import OpenSSLCrypto

// TLS settings from the transport's configuration.
extension CurlSettings {
    mutating func setTLS(_ configuration: CurlTransport.Configuration) {
        set(CCURL_LONG_SSL_VERIFYPEER, 1)
        set(CCURL_LONG_SSL_VERIFYHOST, 2)
        set(CCURL_LONG_SSLVERSION, CCURL_TLS_1_2)
        if let age = configuration.tls.maximumConnectionAge {
            set(CCURL_LONG_MAXLIFETIME_CONN, (age.milliseconds + 999) / 1000)
        }
        guard let policy = configuration.tlsPolicy else { return }
        // The policy has the roots. libcurl would load its own for each connection, without using
        // them.
        for option in [
            CCURL_STRING_CAINFO, CCURL_STRING_CAPATH, CCURL_STRING_PROXY_CAINFO, CCURL_STRING_PROXY_CAPATH,
        ] {
            set(option, nil)
        }
        if !policy.allowsResumption { set(CCURL_LONG_SSL_SESSIONID_CACHE, 0) }
        unsafe functions.tls = { _, tlsContext, context in
            guard let tlsContext = unsafe tlsContext, let transfer = unsafe CurlHandle.transfer(behind: context),
                unsafe transfer.beginHandshake(tlsContext)
            else { return Int32(CCURL_SSL_CONNECT_ERROR) }
            return Int32(CCURL_OK)
        }
    }
}

extension CurlTransfer {
    /// Applies the policy to a new connection, or returns `false` if that's impossible.
    fileprivate func beginHandshake(_ context: UnsafeMutableRawPointer) -> Bool {
        guard let tlsPolicy = configuration.tlsPolicy else { return false }
        // reason: the engine's thread alone drives the connection, so it alone makes the calls.
        nonisolated(unsafe) let records = CurlRecords(self)
        let handshake = TLSHandshake(
            policy: tlsPolicy,
            host: origin.scheme == "https" ? origin.plainHost : nil,
            proxyHost: configuration.proxy.secureHost,
            onRecord: { unsafe records.receive() }
        )
        do throws(CryptoError) {
            try unsafe handshake.apply(to: context)
            self.handshake = handshake
            return true
        } catch {
            failure = NetworkError(
                .transportUnavailable,
                "can't apply the TLS policy to a connection to \(origin): \(error.message)",
                cause: error
            )
            return false
        }
    }

    /// Returns the policy's error if libcurl's result is a rejected TLS handshake.
    func refusal(code: Int32) -> NetworkError? {
        guard Int(code) != CCURL_OK, !head.isComplete, let problem = handshake?.problem else { return nil }
        return NetworkError(problem, origin: origin)
    }
}

/// The receiver of a TLS connection's records, for one transfer after another.
private final class CurlRecords {
    private let loopState: CurlLoopState
    /// The transfer that last used the connection.
    private weak var transfer: CurlTransfer?

    init(_ transfer: CurlTransfer) {
        loopState = transfer.loopState
        self.transfer = transfer
    }

    func receive() {
        if let acting = loopState.acting { transfer = acting }
        transfer?.receiveRecord()
    }
}

extension CurlTransport.ProxySelection {
    /// Returns whether requests may use a proxy over TLS.
    func mayNeedTLS(to origin: HTTPOrigin) -> Bool {
        switch wrapped {
        case .none: false
        case .server(let server): server.isSecure
        // The environment may name such a proxy.
        case .environment: !origin.isLoopback
        }
    }

    /// The host of a TLS proxy, without brackets, if the configuration specifies one.
    fileprivate var secureHost: String? {
        guard case .server(let server) = wrapped, server.isSecure else { return nil }
        return HTTPOrigin(server.url)?.plainHost
    }
}

extension CurlTransport.Configuration {
    /// Derives the policy for TLS connections, or throws `transportUnavailable` if libcurl can't
    /// apply it.
    mutating func prepareTLS(with library: CurlLibrary.Description) throws(NetworkError) {
        guard library.sharesTLSLibrary else {
            guard tls.isOrdinary else {
                throw NetworkError(
                    .transportUnavailable,
                    "can't apply the TLS configuration: libcurl uses \(library.tlsBackend.isEmpty ? "no TLS library" : library.tlsBackend), "
                        + "and this process \(OpenSSLLibrary.version); use a libcurl that is built on the same OpenSSL"
                )
            }
            return
        }
        if tls.maximumConnectionAge != nil, !CurlLibrary.asksBeforeRequests {
            throw NetworkError(
                .transportUnavailable,
                "libcurl \(library.version) can't limit the age of connections; install 7.80 or later"
            )
        }
        tlsPolicy = try tls.policy()
    }
}
