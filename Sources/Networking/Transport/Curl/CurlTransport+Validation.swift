import CCurl
import Foundation
import OpenSSLCrypto

extension CurlTransport.Configuration {
    /// Checks that the values make sense and that this libcurl can do what they ask for.
    ///
    /// - Throws: ``NetworkError`` with the code `invalidRequest`, naming the value, or `transportUnavailable`.
    func validate() throws(NetworkError) {
        try require(connectTimeout > .zero, "connectTimeout must be more than zero")
        try require(idleTimeout >= .zero, "idleTimeout must not be negative")
        try require(happyEyeballsDelay > .zero, "happyEyeballsDelay must be more than zero")
        try require(maximumConnectionsPerHost > 0, "maximumConnectionsPerHost must be at least 1")
        try require(maximumConnections > 0, "maximumConnections must be at least 1")
        try require((1 << 10...1 << 30).contains(streamBufferSize), "streamBufferSize must be 1 KiB…1 GiB")
        try require(maximumHeaderSize > 0, "maximumHeaderSize must be more than zero")
        try require((1...1_000_000).contains(maximumExpansion ?? 1), "maximumExpansion must be 1…1000000, or nil")
        for entry in resolverEntries { try entry.validate() }
        try validateUnixSocket()
        if case .server(let server) = proxy.wrapped { try server.validate() }
        if protocolVersion == .http2PriorKnowledge {
            try CurlLibrary.require(CCURL_FEATURE_HTTP2, "speak HTTP/2")
        }
    }

    private func validateUnixSocket() throws(NetworkError) {
        guard let path = unixSocketPath else { return }
        // The size of `sockaddr_un.sun_path`, with its end.
        try require(
            (1...107).contains(path.utf8.count) && !path.utf8.contains(0),
            "unixSocketPath must have 1…107 octets"
        )
        if case .server = proxy.wrapped {
            throw NetworkError(.invalidRequest, "a Unix-domain socket can't be reached through a proxy; choose one")
        }
        try CurlLibrary.require(CCURL_FEATURE_UNIX_SOCKETS, "connect to Unix-domain sockets")
    }
}

extension CurlTransport.ResolverEntry {
    fileprivate func validate() throws(NetworkError) {
        try require(isHost(host) && !host.contains(":"), "a resolver entry's host must be a name as in a URL")
        try require((1...65535).contains(port), "a resolver entry's port must be 1…65535")
        try require(
            !addresses.isEmpty && addresses.allSatisfy { IPAddress($0) != nil },
            "a resolver entry's addresses must be IPv4 or IPv6 addresses, at least one"
        )
    }

    /// The entry as libcurl takes it.
    var line: String {
        "\(host):\(port):" + addresses.map { $0.contains(":") ? "[\($0)]" : $0 }.joined(separator: ",")
    }
}

extension CurlTransport.ProxySelection.Server {
    fileprivate func validate() throws(NetworkError) {
        try require(
            schemes.contains(url.scheme?.lowercased() ?? ""),
            "the proxy's URL must begin with \(schemes.map { "\($0)://" }.joined(separator: " or "))"
        )
        try require(isHost(url.host(percentEncoded: true) ?? ""), "the proxy's URL has no host")
        try require((1...65535).contains(url.port ?? 0), "the proxy's URL must name its port")
        try require(
            url.user == nil && url.password == nil,
            "the proxy's URL has user information; give it as credentials instead"
        )
        try require(
            ["", "/"].contains(url.path(percentEncoded: true)) && url.query == nil && url.fragment == nil,
            "the proxy's URL must end after its port"
        )
        try require(
            noProxy.allSatisfy { isException($0) },
            "each entry of noProxy must be one host, address or network, without a port"
        )
        if let credentials { try validate(credentials) }
        if isSecure { try CurlLibrary.require(CCURL_FEATURE_HTTPS_PROXY, "use an HTTPS proxy") }
    }

    /// Whether libcurl would understand the entry; it leaves out what it does not, and the proxy would see what it must not.
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
        try require(!credentials.username.isEmpty, "the proxy's credentials have no user name")
        for text in [credentials.username, credentials.password] {
            try require(
                text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F },
                "the proxy's credentials have a control character"
            )
            // RFC 1929 counts both in one octet.
            try require(!isSOCKS || text.utf8.count <= 255, "a SOCKS proxy's credentials have at most 255 octets each")
        }
        // RFC 7617 §2: the first colon ends the name.
        try require(
            isSOCKS || !credentials.username.contains(":"),
            "the user name for an HTTP proxy must have no colon"
        )
    }
}

private func require(_ isRight: Bool, _ message: String) throws(NetworkError) {
    guard isRight else { throw NetworkError(.invalidRequest, message) }
}

/// Whether the text is a host name or address as URLs have it.
private func isHost(_ text: String) -> Bool {
    !text.isEmpty
        && text.utf8.allSatisfy {
            HTTPSyntax.isTokenByte($0) && $0 != UInt8(ascii: "*") && $0 != UInt8(ascii: "+") || ":[]".utf8.contains($0)
        }
}
