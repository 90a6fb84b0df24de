/// The public key of an RSA key pair, checked when it is made.
///
/// A value may be used from several threads at once.
package struct RSAPublicKey: Sendable {
    /// The modulus, big-endian and without leading zeros.
    package let modulus: [UInt8]
    /// The public exponent, big-endian and without leading zeros.
    package let exponent: [UInt8]
    /// The size of the modulus in bits, 2048 to 8192.
    package let bitCount: Int

    let key: EVPKey

    /// Makes a key from its numbers, as a JWK has them.
    ///
    /// - Parameters:
    ///   - modulus: The modulus, big-endian, 2048 to 8192 bits and odd. One leading zero octet, which some writers
    ///     take over from DER, is dropped.
    ///   - exponent: The public exponent, big-endian, odd, at least 3 and less than 2⁶⁴, likewise.
    ///   - maximumBitCount: The largest size of the modulus in bits, at most ``maximumBitCount``, which is the default.
    /// - Throws: ``CryptoError/Code/malformedKey``, ``CryptoError/Code/weakKey`` (a modulus under 2048 bits, one that
    ///   the vulnerable library of CVE-2017-15361 made, one with a small factor or with primes that are close to each other;
    ///   an exponent of 1), ``CryptoError/Code/keyTooLarge``.
    package init(
        modulus: [UInt8],
        exponent: [UInt8],
        maximumBitCount: Int = maximumBitCount
    ) throws(CryptoError) {
        try self.init(RSAPublicNumbers(modulus: modulus, exponent: exponent, maximumBitCount: maximumBitCount))
    }

    /// The largest modulus that any key may have: 8192 bits.
    package static let maximumBitCount = RSAPublicNumbers.bitCounts.upperBound

    init(_ numbers: RSAPublicNumbers) throws(CryptoError) {
        try self.init(numbers, key: EVPKey.make(numbers, nil))
    }

    /// Wraps the public half of a key pair; `key` may well have the private half too, which is not used.
    init(_ numbers: RSAPublicNumbers, key: EVPKey) throws(CryptoError) {
        modulus = try numbers.n.octets()
        exponent = try numbers.e.octets()
        bitCount = numbers.n.bitCount
        self.key = key
    }

    /// The size of the modulus, and so of a signature, in octets.
    package var modulusSize: Int { modulus.count }

    /// Makes the key ready to verify signatures of one kind.
    ///
    /// - Parameters:
    ///   - padding: The padding.
    ///   - hash: SHA-256, SHA-384 or SHA-512.
    /// - Returns: The verifier; make it once and keep it.
    /// - Throws: ``CryptoError/Code/invalidArgument`` for a broken hash function, ``CryptoError/Code/openSSL`` if the
    ///   library fails.
    package func verifier(_ padding: RSASignaturePadding, hash: HashFunction) throws(CryptoError) -> RSAVerifier {
        try RSAVerifier(key, padding, hash, signatureSize: modulusSize)
    }
}

extension RSAPublicKey: Equatable {
    /// Whether two keys have the same numbers.
    package static func == (left: Self, right: Self) -> Bool {
        left.modulus == right.modulus && left.exponent == right.exponent
    }
}
