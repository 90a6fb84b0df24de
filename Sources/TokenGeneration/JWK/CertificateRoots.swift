internal import OpenSSLCrypto

/// The root certificates that a chain must end in.
///
/// Only the caller's roots count. The system's trust store isn't used.
public struct CertificateRoots: Sendable {
    let certificates: [Certificate]

    /// Parses certificates from PEM.
    ///
    /// - Parameter pem: A text with at least one `CERTIFICATE` block.
    /// - Throws: ``TokenError`` with the code `malformedKey` or `unsupportedKey`.
    public init(pem: String) throws(TokenError) {
        certificates = try TokenError.refusingKey(Certificate.list(pem: pem))
    }

    /// Parses certificates from DER.
    ///
    /// - Parameter der: The bytes of at least one certificate.
    /// - Throws: ``TokenError`` with the code `malformedKey`.
    public init(der: [some Sequence<UInt8>]) throws(TokenError) {
        certificates = try der.map { octets throws(TokenError) in
            try TokenError.refusingKey(Certificate(der: Array(octets)))
        }
    }
}
