import CCurl
import Glibc
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
    /// Returns `false` if the policy can't be applied.
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

    func refusal(code: Int32) -> NetworkError? {
        guard Int(code) != CCURL_OK, !head.isComplete, let problem = handshake?.problem else { return nil }
        return NetworkError(problem, origin: origin)
    }
}

/// The receiver of a TLS connection's records, for one transfer after another.
private final class CurlRecords {
    private let loopState: CurlLoopState
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
    func mayNeedTLS(to origin: HTTPOrigin) -> Bool {
        switch wrapped {
        case .none: false
        case .server(let server): server.isSecure
        // The environment may name such a proxy.
        case .environment: !origin.isLoopback
        }
    }

    /// Without brackets.
    fileprivate var secureHost: String? {
        guard case .server(let server) = wrapped, server.isSecure else { return nil }
        return HTTPOrigin(server.url)?.plainHost
    }
}

extension CurlTransport.Configuration {
    /// Throws `transportUnavailable` if libcurl can't apply the policy.
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
        tlsPolicy = try tls.policy()
    }
}

struct CurlSocketDefect: Error {
    let words: String
}

// The options of a new socket that libcurl doesn't set.
extension CurlTransport.Configuration {
    /// For a TCP socket that isn't connected; fails if it can't use the local address.
    func apply(to socket: Int32, family: Int32) throws(CurlSocketDefect) {
        guard family == AF_INET || family == AF_INET6 else { return }
        if let keepAlive { setKeepAlive(keepAlive, socket) }
        guard let localAddress else { return }
        if let address = IPAddress(localAddress) {
            try bind(socket, to: address, localAddress, family: family)
        } else {
            try bind(socket, toInterface: localAddress)
        }
    }

    private func setKeepAlive(_ keepAlive: CurlTransport.KeepAlive, _ socket: Int32) {
        let interval = Int32(clamping: (keepAlive.interval.milliseconds + 999) / 1000)
        set(socket, SOL_SOCKET, SO_KEEPALIVE, 1)
        set(socket, Int32(IPPROTO_TCP), TCP_KEEPIDLE, interval)
        set(socket, Int32(IPPROTO_TCP), TCP_KEEPINTVL, interval)
        // Replaces the number of probes (tcp(7)).
        set(socket, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, Int32(clamping: keepAlive.patience.milliseconds))
    }

    private func set(_ socket: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        // The system accepts these options for every TCP socket.
        _ = unsafe withUnsafeBytes(of: value) { bytes in
            unsafe setsockopt(socket, level, option, bytes.baseAddress, socklen_t(bytes.count))
        }
    }

    private func bind(_ socket: Int32, to address: IPAddress, _ text: String, family: Int32) throws(CurlSocketDefect) {
        guard (address.octets.count == 4) == (family == AF_INET) else {
            throw CurlSocketDefect(words: "\(text) belongs to another address family than the server's address")
        }
        // Otherwise the system would choose the port here, without knowing the peer, and could run
        // out of them.
        set(socket, Int32(IPPROTO_IP), Self.choosesPortLater, 1)
        let code: Int32
        if family == AF_INET {
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            unsafe withUnsafeMutableBytes(of: &name.sin_addr) { unsafe $0.copyBytes(from: address.octets) }
            code = Self.bind(socket, to: name)
        } else {
            var name = sockaddr_in6()
            name.sin6_family = sa_family_t(AF_INET6)
            unsafe withUnsafeMutableBytes(of: &name.sin6_addr) { unsafe $0.copyBytes(from: address.octets) }
            code = Self.bind(socket, to: name)
        }
        guard code != 0 else { return }
        let number = errno
        throw CurlSocketDefect(
            words: number == EADDRNOTAVAIL
                ? "this machine doesn't have the address \(text)" : "\(text) can't be used (error \(number))"
        )
    }

    /// IP_BIND_ADDRESS_NO_PORT of Linux 4.2, which the C library's overlay lacks.
    private static let choosesPortLater: Int32 = 24

    private static func bind<Name>(_ socket: Int32, to name: Name) -> Int32 {
        unsafe withUnsafeBytes(of: name) { bytes in
            guard let start = bytes.baseAddress else { return -1 }
            return unsafe Glibc.bind(socket, start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
    }

    private func bind(_ socket: Int32, toInterface name: String) throws(CurlSocketDefect) {
        let octets = Array(name.utf8)
        let code = unsafe octets.withUnsafeBytes { bytes in
            unsafe setsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, bytes.baseAddress, socklen_t(bytes.count))
        }
        guard code != 0 else { return }
        let number = errno
        let words =
            switch number {
            case ENODEV: "this machine has no network interface \(name)"
            case EPERM: "binding to the interface \(name) requires the capability CAP_NET_RAW"
            default: "the interface \(name) can't be used (error \(number))"
            }
        throw CurlSocketDefect(words: words)
    }
}

extension CurlTransfer {
    /// Records the failure and returns `false`.
    func setUp(_ socket: Int32, family: Int32) -> Bool {
        do throws(CurlSocketDefect) {
            try configuration.apply(to: socket, family: family)
            return true
        } catch {
            failure = NetworkError(
                .cannotConnect,
                "can't connect to \(origin) from the localAddress: \(error.words)"
            )
            return false
        }
    }
}
