/// The public key of an RSA key pair, validated on creation.
package struct RSAPublicKey: Sendable {
    /// The modulus, big-endian and without leading zeros.
    package let modulus: [UInt8]
    /// The public exponent, big-endian and without leading zeros.
    package let exponent: [UInt8]
    /// The size of the modulus in bits, 2048 to 8192.
    package let bitCount: Int

    let key: EVPKey

    /// Creates a key from its big-endian numbers, which a JWK contains.
    ///
    /// The modulus is odd and has 2048 bits to `maximumBitCount`, at most 8192. The exponent is
    /// odd, at least 3 and less than 2⁶⁴. One leading zero byte, which some writers copy from DER,
    /// is ignored. It throws `malformedKey`, `keyTooLarge` and `weakKey`: for a modulus that's too
    /// short, from a library with the vulnerability CVE-2017-15361, with a small factor or with
    /// primes that are close to each other, and for the exponent 1.
    package init(
        modulus: [UInt8],
        exponent: [UInt8],
        maximumBitCount: Int = maximumBitCount
    ) throws(CryptoError) {
        try self.init(RSAPublicNumbers(modulus: modulus, exponent: exponent, maximumBitCount: maximumBitCount))
    }

    /// The maximum size of a modulus, in bits: 8192.
    package static let maximumBitCount = RSAPublicNumbers.bitCounts.upperBound

    init(_ numbers: RSAPublicNumbers) throws(CryptoError) {
        try self.init(numbers, key: EVPKey.make(numbers, nil))
    }

    /// Creates the public half of a key pair; a private half in `key` is ignored.
    init(_ numbers: RSAPublicNumbers, key: EVPKey) throws(CryptoError) {
        modulus = try numbers.n.octets()
        exponent = try numbers.e.octets()
        bitCount = numbers.n.bitCount
        self.key = key
    }

    /// The size of the modulus and of a signature, in bytes.
    package var modulusSize: Int { modulus.count }

    /// Creates a verifier with SHA-256, SHA-384 or SHA-512, for repeated use; a broken hash
    /// function is an `invalidArgument`.
    package func verifier(_ padding: RSASignaturePadding, hash: HashFunction) throws(CryptoError) -> RSAVerifier {
        try RSAVerifier(key, padding, hash, signatureSize: modulusSize)
    }
}

extension RSAPublicKey: Equatable {
    /// Compares the numbers of two keys.
    package static func == (left: Self, right: Self) -> Bool {
        left.modulus == right.modulus && left.exponent == right.exponent
    }
}
