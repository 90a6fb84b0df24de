/// A hash function.
package enum HashFunction: Sendable, Hashable {
    /// MD5 (RFC 1321); broken, only for identifiers that an existing system computes with it.
    case md5
    /// SHA-1 (FIPS 180-4); broken, only for identifiers that an existing system computes with it.
    case sha1
    /// SHA-256 (FIPS 180-4).
    case sha256
    /// SHA-384 (FIPS 180-4).
    case sha384
    /// SHA-512 (FIPS 180-4).
    case sha512

    /// The size of a hash in bytes.
    package var digestSize: Int {
        switch self {
        case .md5: 16
        case .sha1: 20
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }

    /// Returns the hash of bytes, ``digestSize`` bytes.
    ///
    /// It throws `openSSL` if OpenSSL doesn't offer the function. A FIPS configuration doesn't
    /// offer MD5, for example.
    package func hash(_ bytes: RawSpan) throws(CryptoError) -> [UInt8] {
        try MessageDigest.fetched(for: self).hash(bytes)
    }

    /// A Boolean value that indicates whether the function is suitable for signatures and message
    /// authentication codes.
    var isCollisionResistant: Bool {
        switch self {
        case .md5, .sha1: false
        case .sha256, .sha384, .sha512: true
        }
    }

    /// OpenSSL's name for the function.
    var openSSLName: String {
        switch self {
        case .md5: "MD5"
        case .sha1: "SHA1"
        case .sha256: "SHA2-256"
        case .sha384: "SHA2-384"
        case .sha512: "SHA2-512"
        }
    }
}
