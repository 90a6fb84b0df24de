internal import OpenSSLCrypto

/// A hash algorithm of an SD-JWT or a thumbprint, identified by its name in the IANA registry of
/// named information ([RFC 9901 §4.1.1](https://www.rfc-editor.org/rfc/rfc9901#section-4.1.1),
/// [RFC 9278 §5](https://www.rfc-editor.org/rfc/rfc9278#section-5)).
///
/// Other algorithms of the registry are truncated, and aren't supported.
public struct NamedHash: RegisteredName {
    /// The name.
    public let rawValue: String

    private let function: HashFunction

    /// SHA-256, the usual choice and the default of SD-JWTs.
    public static let sha256 = NamedHash(rawValue: "sha-256", function: .sha256)
    /// SHA-384.
    public static let sha384 = NamedHash(rawValue: "sha-384", function: .sha384)
    /// SHA-512.
    public static let sha512 = NamedHash(rawValue: "sha-512", function: .sha512)

    static let implemented: [NamedHash] = [.sha256, .sha384, .sha512]

    /// Returns the hash of bytes in base64url.
    ///
    /// - Throws: ``TokenError`` with the given code if OpenSSL doesn't offer the function.
    func digest(
        of bytes: [UInt8],
        failure: TokenError.Code = .unsupportedAlgorithm
    ) throws(TokenError) -> String {
        do throws(CryptoError) {
            return Base64URL.encode(try function.hash(bytes.span.octets))
        } catch {
            throw TokenError(failure, "can't compute the hash: \(error.message)", cause: error)
        }
    }
}
