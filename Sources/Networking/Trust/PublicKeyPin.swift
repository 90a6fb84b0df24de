public import Foundation
internal import OpenSSLCrypto

/// The SHA-256 hash that identifies a certificate's public key
/// ([RFC 7469 §2.4](https://www.rfc-editor.org/rfc/rfc7469#section-2.4)).
///
/// The hash covers the SubjectPublicKeyInfo, so a renewed certificate with the same key has the
/// same pin. `jwt pin` prints the pins of a server or a certificate.
public struct PublicKeyPin: Hashable, Sendable, CustomStringConvertible {
    /// The 32 bytes of the hash.
    let octets: [UInt8]

    /// The hash in the customary form: `sha256/` followed by base64, such as
    /// `sha256/++MBgDH5WGvL9Bcn5Be30cRcL0f5O+NyoXuWtQdX1aI=`.
    public var description: String { Self.prefix + Data(octets).base64EncodedString() }

    /// Creates a pin from its text.
    ///
    /// - Parameter text: The base64 encoding of 32 bytes, with or without the prefix `sha256/`.
    ///   Anything else gives `nil`.
    public init?(_ text: some StringProtocol) {
        let base64 = text.hasPrefix(Self.prefix) ? String(text.dropFirst(Self.prefix.count)) : String(text)
        guard let octets = Data(base64Encoded: base64), octets.count == 32 else { return nil }
        self.octets = [UInt8](octets)
    }

    /// Creates the pin of a certificate.
    ///
    /// - Parameter certificate: A certificate in DER or PEM. Only the first of several counts.
    /// - Throws: ``TrustConfigurationError/Code/malformedCertificate``, or
    ///   ``TrustConfigurationError/Code/cryptography`` if OpenSSL fails.
    public init(certificate: Data) throws(TrustConfigurationError) {
        // The list of certificates is never empty.
        try self.init(TrustFile.certificates(in: [UInt8](certificate), from: nil)[0])
    }

    init(_ certificate: Certificate) throws(TrustConfigurationError) {
        do throws(CryptoError) {
            octets = try certificate.publicKeyHash()
        } catch {
            throw TrustConfigurationError(error)
        }
    }

    init(octets: [UInt8]) {
        self.octets = octets
    }

    private static let prefix = "sha256/"
}
