/// An RSA key pair with two primes, validated on creation.
package struct RSAPrivateKey: Sendable {
    /// The public key.
    package let publicKey: RSAPublicKey

    let key: EVPKey

    /// Generates a key pair with a modulus of 2048 to 8192 bits and the public exponent 65537.
    ///
    /// Generating 4096 bits takes about one second, 8192 bits about ten. It throws `weakKey` or
    /// `keyTooLarge` for any other size.
    package static func generate(bitCount: Int = 2048) throws(CryptoError) -> RSAPrivateKey {
        let possible = RSAPublicNumbers.bitCounts
        guard possible.contains(bitCount) else {
            throw CryptoError(
                bitCount < possible.lowerBound ? .weakKey : .keyTooLarge,
                "An RSA key can't have \(bitCount) bits; use \(possible.lowerBound) to \(possible.upperBound)"
            )
        }
        let key = try EVPKey.generateRSA(bitCount: bitCount)
        return try RSAPrivateKey(RSAPublicNumbers(generated: key.rsaNumber(.n), key.rsaNumber(.e)), key: key)
    }

    /// Creates a key pair from its big-endian numbers, which a JWK contains.
    ///
    /// The public numbers are as for ``RSAPublicKey/init(modulus:exponent:maximumBitCount:)``. The
    /// private ones may have leading zeros, up to the size of the modulus. Missing factors are
    /// computed. It throws `malformedKey`, `weakKey` (also for primes of different sizes and primes
    /// that are close to each other), `keyTooLarge`, and `keyMismatch` if the numbers don't match.
    package init(
        modulus: [UInt8],
        exponent: [UInt8],
        privateExponent: SecretBytes,
        factors: RSAFactors? = nil
    ) throws(CryptoError) {
        let numbers = try RSAPublicNumbers(modulus: modulus, exponent: exponent)
        let privateNumbers =
            if let factors {
                try RSAPrivateNumbers(numbers, d: privateExponent, factors)
            } else {
                try RSAPrivateNumbers(numbers, d: privateExponent)
            }
        try self.init(numbers, key: EVPKey.make(numbers, privateNumbers))
    }

    private init(_ numbers: RSAPublicNumbers, key: EVPKey) throws(CryptoError) {
        publicKey = try RSAPublicKey(numbers)
        self.key = key
    }

    /// The size of the modulus in bits, 2048 to 8192.
    package var bitCount: Int { publicKey.bitCount }

    /// Returns the private exponent, big-endian and without leading zeros.
    package func privateExponent() throws(CryptoError) -> SecretBytes {
        try key.rsaNumber(.d).secretOctets()
    }

    /// Returns the numbers derived from the primes, big-endian and without leading zeros.
    package func factors() throws(CryptoError) -> RSAFactors {
        try RSAFactors(
            p: key.rsaNumber(.p).secretOctets(),
            q: key.rsaNumber(.q).secretOctets(),
            dp: key.rsaNumber(.dp).secretOctets(),
            dq: key.rsaNumber(.dq).secretOctets(),
            qi: key.rsaNumber(.qi).secretOctets()
        )
    }

    /// Creates a signer with SHA-256, SHA-384 or SHA-512, for repeated use; a broken hash function
    /// is an `invalidArgument`.
    package func signer(_ padding: RSASignaturePadding, hash: HashFunction) throws(CryptoError) -> RSASigner {
        try RSASigner(key, padding, hash)
    }
}
