internal import OpenSSLCrypto

/// A supported TLS version; older versions aren't available
/// ([RFC 8996](https://www.rfc-editor.org/rfc/rfc8996)).
public struct TLSVersion: Hashable, Sendable, Comparable, CustomStringConvertible {
    let version: TLSProtocolVersion

    /// TLS 1.2.
    public static let tls12 = Self(version: .tls12)
    /// TLS 1.3.
    public static let tls13 = Self(version: .tls13)

    /// Returns a Boolean value that indicates whether a version is older than another.
    ///
    /// - Parameters:
    ///   - left: A version.
    ///   - right: Another version.
    /// - Returns: `true` if `left` is older.
    public static func < (left: Self, right: Self) -> Bool { left == .tls12 && right == .tls13 }

    /// `TLS 1.2` or `TLS 1.3`.
    public var description: String { self == .tls12 ? "TLS 1.2" : "TLS 1.3" }
}
