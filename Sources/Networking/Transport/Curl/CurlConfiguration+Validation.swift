import CCurl
import Foundation
import OpenSSLCrypto

extension CurlTransport.Configuration {
    /// Throws `invalidRequest` for a value that isn't valid, and `transportUnavailable` for one
    /// that this version of libcurl doesn't support.
    func validate() throws(NetworkError) {
        try NetworkError.require(connectTimeout > .zero, "connectTimeout must be greater than zero")
        try NetworkError.require(idleTimeout >= .zero, "idleTimeout can't be negative")
        try NetworkError.require(happyEyeballsDelay > .zero, "happyEyeballsDelay must be greater than zero")
        try NetworkError.require((1...64).contains(engineCount), "engineCount must be 1…64")
        try NetworkError.require(maximumConnectionsPerHost > 0, "maximumConnectionsPerHost must be at least 1")
        try NetworkError.require(maximumConnections > 0, "maximumConnections must be at least 1")
        try NetworkError.require((1 << 10...1 << 30).contains(streamBufferSize), "streamBufferSize must be 1 KiB…1 GiB")
        try NetworkError.require(maximumHeaderSize > 0, "maximumHeaderSize must be greater than zero")
        try NetworkError.require(
            (1...1_000_000).contains(maximumExpansion ?? 1),
            "maximumExpansion must be 1…1000000, or nil"
        )
        try NetworkError.require(
            (1...1_000_000).contains(maximumStreamsPerConnection),
            "maximumStreamsPerConnection must be 1…1000000"
        )
        try NetworkError.require(dnsCacheLifetime >= .zero, "dnsCacheLifetime can't be negative")
        try keepAlive?.validate()
        for entry in resolverEntries { try entry.validate() }
        try validateLocalAddress()
        try validateUnixSocket()
        try NetworkError.require(
            !reachesOnlyPublicAddresses || proxy == .none && unixSocketPath == nil,
            "reachesOnlyPublicAddresses can't be used with a proxy or a Unix-domain socket; set proxy to .none"
        )
        if case .server(let server) = proxy.wrapped { try server.validate() }
        if protocolVersion == .http2PriorKnowledge {
            try CurlLibrary.require(CCURL_FEATURE_HTTP2, "speak HTTP/2")
        }
    }

    private func validateUnixSocket() throws(NetworkError) {
        guard let path = unixSocketPath else { return }
        // The size of `sockaddr_un.sun_path`, including the terminator.
        try NetworkError.require(
            (1...107).contains(path.utf8.count) && !path.utf8.contains(0),
            "unixSocketPath must be 1…107 bytes"
        )
        if case .server = proxy.wrapped {
            throw NetworkError(.invalidRequest, "a Unix-domain socket can't be used with a proxy; set only one of them")
        }
        try CurlLibrary.require(CCURL_FEATURE_UNIX_SOCKETS, "connect to Unix-domain sockets")
    }

    /// Considers the local address.
    var usedFamily: CurlTransport.AddressFamily {
        guard let address = localAddress.flatMap({ IPAddress($0) }) else { return addressFamily }
        return address.octets.count == 4 ? .ipv4 : .ipv6
    }

    private func validateLocalAddress() throws(NetworkError) {
        guard let localAddress else { return }
        try NetworkError.require(
            unixSocketPath == nil,
            "localAddress can't be used with a Unix-domain socket; set only one of them"
        )
        guard let address = IPAddress(localAddress) else {
            // The kernel's rules for the name of an interface. A percent sign separates the zone of
            // an address, which isn't supported.
            return try NetworkError.require(
                (1...15).contains(localAddress.utf8.count) && ![".", ".."].contains(localAddress)
                    && localAddress.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !"/:%".utf8.contains($0) },
                "localAddress must be an IPv4 or IPv6 address, or the name of a network interface"
            )
        }
        let (other, name) =
            address.octets.count == 4 ? (.ipv6, "IPv6") : (CurlTransport.AddressFamily.ipv4, "IPv4")
        try NetworkError.require(
            addressFamily != other,
            "localAddress isn't an \(name) address, which addressFamily requires"
        )
    }
}

extension CurlTransport.KeepAlive {
    fileprivate func validate() throws(NetworkError) {
        // Linux limits the interval.
        try NetworkError.require(
            interval >= .seconds(1) && interval <= .seconds(32_767),
            "the interval of keepAlive must be 1…32767 seconds"
        )
        try NetworkError.require(
            patience > interval && patience <= .seconds(86_400),
            "the patience of keepAlive must be longer than its interval, and at most a day"
        )
    }
}

extension CurlTransport.ResolverEntry {
    fileprivate func validate() throws(NetworkError) {
        try NetworkError.require(
            isHost(host) && !host.contains(":"),
            "a resolver entry's host must be a host name as in a URL"
        )
        try NetworkError.require((1...65535).contains(port), "a resolver entry's port must be 1…65535")
        try NetworkError.require(
            !addresses.isEmpty && addresses.allSatisfy { IPAddress($0) != nil },
            "a resolver entry's addresses must be one or more IPv4 or IPv6 addresses"
        )
    }

    var line: String {
        "\(host):\(port):" + addresses.map { $0.contains(":") ? "[\($0)]" : $0 }.joined(separator: ",")
    }
}

extension CurlTransport.ProxySelection.Server {
    fileprivate func validate() throws(NetworkError) {
        try NetworkError.require(
            schemes.contains(url.scheme?.lowercased() ?? ""),
            "the proxy's URL must begin with \(schemes.map { "\($0)://" }.joined(separator: " or "))"
        )
        try NetworkError.require(isHost(url.host(percentEncoded: true) ?? ""), "the proxy's URL has no host")
        try NetworkError.require((1...65535).contains(url.port ?? 0), "the proxy's URL must include its port")
        try NetworkError.require(
            url.user == nil && url.password == nil,
            "the proxy's URL has user information; pass it as credentials instead"
        )
        try NetworkError.require(
            ["", "/"].contains(url.path(percentEncoded: true)) && url.query == nil && url.fragment == nil,
            "the proxy's URL must end after its port"
        )
        try NetworkError.require(
            noProxy.allSatisfy { isException($0) },
            "each entry of noProxy must be one host, address or network, without a port"
        )
        if let credentials { try validate(credentials) }
        if isSecure { try CurlLibrary.require(CCURL_FEATURE_HTTPS_PROXY, "use an HTTPS proxy") }
    }

    /// libcurl ignores entries that it doesn't understand, so their hosts would be reached through
    /// the proxy.
    private func isException(_ text: String) -> Bool {
        let parts = Self.exception(text).split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard text != "*" else { return true }
        guard parts.count == 1 else {
            guard parts.count == 2, let address = IPAddress(parts[0]), let width = UInt8(parts[1]) else { return false }
            return width <= 8 * address.octets.count
        }
        return IPAddress(parts[0]) != nil
            || isHost(parts[0]) && !parts[0].utf8.contains { [0x2C, 0x3A, 0x5B, 0x5D].contains($0) }
    }

    private func validate(_ credentials: CurlTransport.ProxyCredentials) throws(NetworkError) {
        try NetworkError.require(!credentials.username.isEmpty, "the proxy's credentials have no username")
        for text in [credentials.username, credentials.password] {
            try NetworkError.require(
                text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F },
                "the proxy's credentials contain a control character"
            )
            // RFC 1929 limits each length to one byte.
            try NetworkError.require(
                !isSOCKS || text.utf8.count <= 255,
                "the username and password for a SOCKS proxy are limited to 255 bytes each"
            )
        }
        // RFC 7617 §2: the first colon ends the username.
        try NetworkError.require(
            isSOCKS || !credentials.username.contains(":"),
            "the username for an HTTP proxy can't contain a colon"
        )
    }
}

/// Accepts a host name or address in URL notation.
private func isHost(_ text: String) -> Bool {
    !text.isEmpty
        && text.utf8.allSatisfy {
            HTTPSyntax.isTokenByte($0) && $0 != UInt8(ascii: "*") && $0 != UInt8(ascii: "+") || ":[]".utf8.contains($0)
        }
}
