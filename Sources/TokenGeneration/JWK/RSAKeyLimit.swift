internal import OpenSSLCrypto

/// The largest RSA moduli that are accepted, in bits, by where a key comes from.
package enum RSAKeyLimit {
    /// For keys that the caller gives: 8192 bits.
    package static let configuration = RSAPublicKey.maximumBitCount
    /// For keys that come with a message or are fetched: 4096 bits.
    package static let message = 4_096
}
