public import Foundation
internal import OpenSSLCrypto

extension CurlTransport {
    /// Which proxy a ``CurlTransport`` uses.
    ///
    /// Requests for `https` URLs go through a tunnel (`CONNECT`), so that the proxy sees the host and nothing else; requests for `http` URLs are
    /// handed to an HTTP proxy as they are. A `Proxy-Authorization` field of a request is sent to an HTTP proxy and to nobody
    /// else.
    ///
    /// A proxy that asks for credentials fails a tunnel with ``NetworkError/Code/proxyAuthenticationRequired``; its 407 to a request
    /// for an `http` URL is a response like any other.
    public struct ProxySelection: Hashable, Sendable {
        enum Wrapped: Hashable {
            case environment, none
            case server(Server)
        }

        struct Server: Hashable {
            var schemes: [String]
            var url: URL
            var credentials: ProxyCredentials?
            var noProxy: [String]
        }

        let wrapped: Wrapped

        /// What the environment variables `http_proxy` (in lower case only), `https_proxy`, `all_proxy` and `no_proxy` say;
        /// none for loopback hosts.
        public static let environment = Self(wrapped: .environment)
        /// No proxy, whatever the environment says.
        public static let none = Self(wrapped: .none)

        /// An HTTP proxy that is spoken to in plain text.
        ///
        /// - Parameters:
        ///   - url: Where it is: `http`, the host and the port.
        ///   - credentials: What it wants to know, sent with the `Basic` scheme.
        ///   - noProxy: The hosts that are reached without it, whatever their ports: names, which stand for their subdomains too, as
        ///     `*.example.org` does for `example.org`; IP addresses; networks such as `10.0.0.0/8` (libcurl 7.86); or `*` for all.
        /// - Returns: The selection.
        public static func http(_ url: URL, credentials: ProxyCredentials? = nil, noProxy: [String] = []) -> Self {
            Self(["http"], url, credentials, noProxy)
        }

        /// An HTTP proxy that is spoken to over TLS.
        ///
        /// - Parameters:
        ///   - url: Where it is: `https`, the host and the port.
        ///   - credentials: What it wants to know, sent with the `Basic` scheme.
        ///   - noProxy: The hosts that are reached without it.
        /// - Returns: The selection.
        public static func https(_ url: URL, credentials: ProxyCredentials? = nil, noProxy: [String] = []) -> Self {
            Self(["https"], url, credentials, noProxy)
        }

        /// A SOCKS5 proxy ([RFC 1928](https://www.rfc-editor.org/rfc/rfc1928)), which also resolves the hosts' names.
        ///
        /// - Parameters:
        ///   - url: Where it is: `socks5` or `socks5h`, the host and the port.
        ///   - credentials: What it wants to know ([RFC 1929](https://www.rfc-editor.org/rfc/rfc1929)).
        ///   - noProxy: The hosts that are reached without it.
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

    /// A user's name and password for a proxy; no description, dump or mirror shows the password.
    public struct ProxyCredentials: Hashable, Sendable {
        /// The user's name.
        public let username: String
        private let secret: SecretBytes

        /// Makes credentials.
        ///
        /// - Parameters:
        ///   - username: The user's name; it can't have a colon for an HTTP proxy.
        ///   - password: The password.
        public init(username: String, password: String) {
            self.username = username
            secret = [UInt8](password.utf8).withBytes { SecretBytes(copying: $0) }
        }

        /// The password, for libcurl.
        var password: String {
            secret.withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) } }
        }

        /// Whether name and password are the same.
        ///
        /// - Parameters:
        ///   - left: Credentials.
        ///   - right: Other credentials.
        /// - Returns: Whether they are equal.
        public static func == (left: Self, right: Self) -> Bool {
            left.username == right.username && left.secret == right.secret
        }

        /// Hashes the name, and nothing of the password.
        ///
        /// - Parameter hasher: Takes the name.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(username)
        }
    }
}

extension CurlTransport.ProxySelection.Server {
    /// The proxy as libcurl takes it: of a SOCKS proxy we always want that it resolves names.
    var location: String {
        let scheme = schemes.contains("socks5") ? "socks5h" : schemes[0]
        let host = url.host(percentEncoded: true) ?? ""
        return "\(scheme)://\(host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host):\(url.port ?? 0)"
    }

    /// The hosts that are reached without it as libcurl takes them: it knows no `*` beside others, and no brackets.
    var exceptions: String {
        noProxy.contains("*") ? "*" : noProxy.map { String(Self.exception($0)) }.joined(separator: ",")
    }

    /// A name, an address or a network without what may stand around it.
    static func exception(_ text: String) -> Substring {
        if text.hasPrefix("*.") { return text.dropFirst(2) }
        return text.hasPrefix("[") && text.hasSuffix("]") ? text.dropFirst().dropLast() : text[...]
    }

    /// Whether requests for `http` URLs are handed to it with their header.
    var isSOCKS: Bool { schemes.contains("socks5") }
    /// Whether it is spoken to over TLS.
    var isSecure: Bool { schemes.contains("https") }
}
