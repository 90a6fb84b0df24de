internal import OpenSSLCrypto

/// The certificates that a chain has to end in: the caller's, and no others.
///
/// Nothing that the system trusts is used.
public struct CertificateRoots: Sendable {
    let certificates: [Certificate]

    /// Reads certificates from PEM.
    ///
    /// - Parameter pem: A text with one `CERTIFICATE` block or more.
    /// - Throws: ``TokenError`` with the code `malformedKey` or `unsupportedKey`.
    public init(pem: String) throws(TokenError) {
        certificates = try TokenError.refusingKey { () throws(CryptoError) in try Certificate.list(pem: pem) }
    }

    /// Reads certificates from DER.
    ///
    /// - Parameter der: The octets of one certificate or more.
    /// - Throws: ``TokenError`` with the code `malformedKey`.
    public init(der: [some Sequence<UInt8>]) throws(TokenError) {
        certificates = try TokenError.refusingKey { () throws(CryptoError) in
            var certificates: [Certificate] = []
            for octets in der { certificates.append(try Certificate(der: Array(octets))) }
            return certificates
        }
    }
}
