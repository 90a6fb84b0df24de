public import Foundation
internal import OpenSSLCrypto

extension CurlTransport {
    /// The proxy that a ``CurlTransport`` uses.
    ///
    /// Requests for `https` URLs use a tunnel (`CONNECT`), so the proxy sees only the host.
    /// Requests for `http` URLs are forwarded to an HTTP proxy unchanged. A request's
    /// `Proxy-Authorization` field is sent only to an HTTP proxy.
    ///
    /// If a proxy requires credentials, a tunnel fails with
    /// ``NetworkError/Code/proxyAuthenticationRequired``. A 407 for `http` is an ordinary response.
    public struct ProxySelection: Equatable, Sendable {
        enum Wrapped: Equatable {
            case environment, none
            case server(Server)
        }

        struct Server: Equatable {
            var schemes: [String]
            var url: URL
            var credentials: ProxyCredentials?
            var noProxy: [String]
        }

        let wrapped: Wrapped

        /// The proxy from the environment variables `http_proxy` (lowercase only), `https_proxy`,
        /// `all_proxy` and `no_proxy`; loopback hosts don't use a proxy.
        public static let environment = Self(wrapped: .environment)
        /// No proxy, regardless of the environment.
        public static let none = Self(wrapped: .none)

        /// Selects an HTTP proxy with a plain-text connection.
        ///
        /// - Parameters:
        ///   - url: The proxy's URL: `http`, the host and the port.
        ///   - credentials: The credentials, sent with the `Basic` scheme. The default is `nil`.
        ///   - noProxy: The hosts to connect to directly, on any port: names, which include their
        ///     subdomains (`*.example.org` equals `example.org`); IP addresses; networks such as
        ///     `10.0.0.0/8` (libcurl 7.86); or `*` for all hosts. The default is empty.
        /// - Returns: The selection.
        public static func http(_ url: URL, credentials: ProxyCredentials? = nil, noProxy: [String] = []) -> Self {
            Self(["http"], url, credentials, noProxy)
        }

        /// Selects an HTTP proxy with a TLS connection.
        ///
        /// - Parameters:
        ///   - url: The proxy's URL: `https`, the host and the port.
        ///   - credentials: The credentials, sent with the `Basic` scheme. The default is `nil`.
        ///   - noProxy: The hosts to connect to directly. The default is empty.
        /// - Returns: The selection.
        public static func https(_ url: URL, credentials: ProxyCredentials? = nil, noProxy: [String] = []) -> Self {
            Self(["https"], url, credentials, noProxy)
        }

        /// Selects a SOCKS5 proxy ([RFC 1928](https://www.rfc-editor.org/rfc/rfc1928)), which also
        /// resolves names.
        ///
        /// - Parameters:
        ///   - url: The proxy's URL: `socks5` or `socks5h`, the host and the port.
        ///   - credentials: The credentials ([RFC 1929](https://www.rfc-editor.org/rfc/rfc1929)).
        ///     The default is `nil`.
        ///   - noProxy: The hosts to connect to directly. The default is empty.
        /// - Returns: The selection.
        public static func socks5(_ url: URL, credentials: ProxyCredentials? = nil, noProxy: [String] = []) -> Self {
            Self(["socks5", "socks5h"], url, credentials, noProxy)
        }

        private init(wrapped: Wrapped) {
            self.wrapped = wrapped
        }

        private init(_ schemes: [String], _ url: URL, _ credentials: ProxyCredentials?, _ noProxy: [String]) {
            wrapped = .server(Server(schemes: schemes, url: url, credentials: credentials, noProxy: noProxy))
        }
    }

    /// Proxy credentials whose descriptions, dumps and mirrors don't reveal the password.
    public struct ProxyCredentials: Equatable, Sendable {
        /// The username.
        package let username: String
        private let secret: SecretBytes

        /// Creates credentials.
        ///
        /// - Parameters:
        ///   - username: The username. For an HTTP proxy, it can't contain a colon.
        ///   - password: The password.
        public init(username: String, password: String) {
            self.username = username
            secret = [UInt8](password.utf8).withBytes { SecretBytes(copying: $0) }
        }

        /// The password, for libcurl.
        var password: String {
            secret.withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) } }
        }
    }
}

extension CurlTransport.ProxySelection.Server {
    /// In libcurl's notation; a SOCKS proxy always resolves names.
    var location: String {
        let scheme = schemes.contains("socks5") ? "socks5h" : schemes[0]
        let host = url.host(percentEncoded: true) ?? ""
        return "\(scheme)://\(host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host):\(url.port ?? 0)"
    }

    /// In libcurl's notation, which doesn't allow brackets, or `*` along with other entries.
    var exceptions: String {
        noProxy.contains("*") ? "*" : noProxy.map { String(Self.exception($0)) }.joined(separator: ",")
    }

    /// Removes a leading `*.` and surrounding brackets.
    static func exception(_ text: String) -> Substring {
        if text.hasPrefix("*.") { return text.dropFirst(2) }
        return text.hasPrefix("[") && text.hasSuffix("]") ? text.dropFirst().dropLast() : text[...]
    }

    var isSOCKS: Bool { schemes.contains("socks5") }
    var isSecure: Bool { schemes.contains("https") }
}

enum ProxyVariable {
    /// Determines the proxy's name as libcurl would for a URL's scheme.
    static func name(for scheme: String, _ value: (String) -> String?) -> NameLookup.Name? {
        // In a CGI program, the client controls `HTTP_PROXY`.
        let names = ["\(scheme)_proxy"] + (scheme == "http" ? [] : ["HTTPS_PROXY"]) + ["all_proxy", "ALL_PROXY"]
        for name in names {
            if let text = value(name), !text.isEmpty { return self.name(in: text) }
        }
        return nil
    }

    private static func name(in text: String) -> NameLookup.Name? {
        var rest = text[...]
        var port = 1080
        if let separator = rest.range(of: "://") {
            if rest[..<separator.lowerBound].lowercased() == "https" { port = 443 }
            rest = rest[separator.upperBound...]
        }
        rest = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        if let sign = rest.lastIndex(of: "@") { rest = rest[rest.index(after: sign)...] }
        var host = rest
        if rest.hasPrefix("["), let bracket = rest.firstIndex(of: "]") {
            host = rest[rest.index(after: rest.startIndex)..<bracket]
            rest = rest[rest.index(after: bracket)...]
            if rest.hasPrefix(":") { port = Int(rest.dropFirst()) ?? port }
        } else if let colon = rest.lastIndex(of: ":") {
            host = rest[..<colon]
            port = Int(rest[rest.index(after: colon)...]) ?? port
        }
        guard !host.isEmpty, (1...65535).contains(port) else { return nil }
        return NameLookup.Name(host: host.lowercased(), port: port, isProxy: true)
    }
}
