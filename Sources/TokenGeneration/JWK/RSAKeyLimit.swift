internal import OpenSSLCrypto

/// The maximum sizes of RSA moduli in bits, by the origin of a key.
package enum RSAKeyLimit {
    /// The limit for keys that the caller provides, 8192 bits.
    package static let configuration = RSAPublicKey.maximumBitCount
    /// The limit for keys that come with a message or are fetched, 4096 bits.
    package static let message = 4_096
}
