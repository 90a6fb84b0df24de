import CCurl
internal import OpenSSLCrypto

// TLS as the transport's configuration says.
extension CurlSettings {
    mutating func setTLS(_ configuration: CurlTransport.Configuration, of handle: CurlHandle) {
        set(CCURL_LONG_SSL_VERIFYPEER, 1)
        set(CCURL_LONG_SSL_VERIFYHOST, 2)
        set(CCURL_LONG_SSLVERSION, CCURL_TLS_1_2)
        if let age = configuration.tls.maximumConnectionAge {
            set(CCURL_LONG_MAXLIFETIME_CONN, (age.milliseconds + 999) / 1000)
        }
        guard let policy = configuration.tlsPolicy else { return }
        // The policy has the roots; libcurl's own would be read for each connection, and not be used.
        for option in [
            CCURL_STRING_CAINFO, CCURL_STRING_CAPATH, CCURL_STRING_PROXY_CAINFO, CCURL_STRING_PROXY_CAPATH,
        ] {
            unsafe set { unsafe ccurl_easy_set_string($0, option, nil) }
        }
        if !policy.allowsResumption { set(CCURL_LONG_SSL_SESSIONID_CACHE, 0) }
        let context = unsafe Unmanaged.passUnretained(handle).toOpaque()
        unsafe set { easy in
            unsafe ccurl_easy_set_tls_function(
                easy,
                { _, tlsContext, context in
                    guard let tlsContext = unsafe tlsContext,
                        let transfer = unsafe CurlHandle.behind(context)?.transfer,
                        unsafe transfer.beginHandshake(tlsContext)
                    else { return Int32(CCURL_SSL_CONNECT_ERROR) }
                    return Int32(CCURL_OK)
                },
                context
            )
        }
    }
}

extension CurlTransfer {
    /// Holds a connection that is about to be made to the policy; false if that is impossible.
    fileprivate func beginHandshake(_ context: UnsafeMutableRawPointer) -> Bool {
        guard let tlsPolicy = configuration.tlsPolicy else { return false }
        let handshake = TLSHandshake(
            policy: tlsPolicy,
            host: origin.scheme == "https" ? origin.plainHost : nil,
            proxyHost: configuration.proxy.secureHost
        )
        do throws(CryptoError) {
            try unsafe handshake.apply(to: context)
            self.handshake = handshake
            return true
        } catch {
            failure = NetworkError(
                .transportUnavailable,
                "no TLS connection to \(origin) can be held to its policy: \(error.message)",
                cause: error
            )
            return false
        }
    }

    /// Why libcurl's result is the refusal of a TLS handshake, if it is.
    func refusal(code: Int32) -> NetworkError? {
        guard Int(code) != CCURL_OK, !head.isComplete, let problem = handshake?.problem else { return nil }
        return NetworkError(problem, origin: origin)
    }
}

extension CurlTransport.ProxySelection {
    /// Whether there may be a proxy on the way that is spoken to over TLS.
    func mayNeedTLS(to origin: HTTPOrigin) -> Bool {
        switch wrapped {
        case .none: false
        case .server(let server): server.isSecure
        // Its variables may name one.
        case .environment: !origin.isLoopback
        }
    }

    /// The host of a proxy that is spoken to over TLS, as far as it is known here; without brackets.
    fileprivate var secureHost: String? {
        guard case .server(let server) = wrapped, server.isSecure else { return nil }
        return HTTPOrigin(server.url)?.plainHost
    }
}

extension CurlTransport.Configuration {
    /// Works out what holds for TLS connections.
    ///
    /// - Throws: ``NetworkError`` with the code `transportUnavailable` if it can't be held to.
    mutating func prepareTLS(with library: CurlLibrary.Description) throws(NetworkError) {
        guard library.sharesTLSLibrary else {
            guard tls.isOrdinary else {
                throw NetworkError(
                    .transportUnavailable,
                    "the TLS configuration can't be held to: libcurl uses \(library.tlsBackend.isEmpty ? "no TLS library" : library.tlsBackend), "
                        + "and this process \(OpenSSLLibrary.version); use a libcurl that is built on the same OpenSSL"
                )
            }
            return
        }
        if tls.maximumConnectionAge != nil, !library.limitsConnectionAge {
            throw NetworkError(
                .transportUnavailable,
                "libcurl \(library.version) can't limit the age of connections; that needs 7.80 or later"
            )
        }
        tlsPolicy = try tls.policy()
    }
}
