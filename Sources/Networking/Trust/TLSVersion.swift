internal import OpenSSLCrypto

/// A supported TLS version; older versions aren't available
/// ([RFC 8996](https://www.rfc-editor.org/rfc/rfc8996)).
@nonexhaustive
public enum TLSVersion: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// TLS 1.2.
    case tls12
    /// TLS 1.3.
    case tls13

    init(_ version: TLSProtocolVersion) {
        self = version == .tls12 ? .tls12 : .tls13
    }

    var version: TLSProtocolVersion { self == .tls12 ? .tls12 : .tls13 }

    /// `TLS 1.2` or `TLS 1.3`.
    public var description: String { self == .tls12 ? "TLS 1.2" : "TLS 1.3" }
}
