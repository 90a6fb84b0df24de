/// An RSA key pair with two primes, checked when it is made.
///
/// A value may be used from several threads at once.
package struct RSAPrivateKey: Sendable {
    /// The public key.
    package let publicKey: RSAPublicKey

    let key: EVPKey

    /// Makes a new key pair with the public exponent 65537.
    ///
    /// - Parameter bitCount: The size of the modulus, 2048 to 8192 bits. 4096 take a second, 8192 ten.
    /// - Returns: The key pair.
    /// - Throws: ``CryptoError/Code/weakKey`` and ``CryptoError/Code/keyTooLarge`` for another size,
    ///   ``CryptoError/Code/openSSL`` if the library fails, for example because it has no random numbers.
    package static func generate(bitCount: Int = 2048) throws(CryptoError) -> RSAPrivateKey {
        let possible = RSAPublicNumbers.bitCounts
        guard possible.contains(bitCount) else {
            throw CryptoError(
                bitCount < possible.lowerBound ? .weakKey : .keyTooLarge,
                "An RSA key of \(bitCount) bits was asked for: \(possible.lowerBound) to \(possible.upperBound) are possible"
            )
        }
        let key = try EVPKey.generateRSA(bitCount: bitCount)
        return try RSAPrivateKey(RSAPublicNumbers(generated: key.rsaNumber(.n), key.rsaNumber(.e)), key: key)
    }

    /// Makes a key pair from its numbers, as a JWK has them; big-endian.
    ///
    /// The private numbers may have leading zeros, up to the size of the modulus.
    ///
    /// - Parameters:
    ///   - modulus: The modulus, as for ``RSAPublicKey/init(modulus:exponent:)``.
    ///   - exponent: The public exponent, likewise.
    ///   - privateExponent: The private exponent.
    ///   - factors: The numbers that come from the primes; without them they are computed.
    /// - Throws: ``CryptoError/Code/malformedKey``, ``CryptoError/Code/weakKey`` (also for primes of different sizes, and
    ///   for primes that are close to each other), ``CryptoError/Code/keyTooLarge``, and
    ///   ``CryptoError/Code/keyMismatch`` if the numbers don't belong together.
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

    /// Reads the private exponent.
    ///
    /// - Returns: The number, big-endian and without leading zeros.
    /// - Throws: ``CryptoError/Code/openSSL`` if the key can't be read out.
    package func privateExponent() throws(CryptoError) -> SecretBytes {
        try key.rsaNumber(.d).secretOctets()
    }

    /// Reads the numbers that come from the primes.
    ///
    /// - Returns: The numbers, big-endian and without leading zeros.
    /// - Throws: ``CryptoError/Code/openSSL`` if the key can't be read out.
    package func factors() throws(CryptoError) -> RSAFactors {
        try RSAFactors(
            p: key.rsaNumber(.p).secretOctets(),
            q: key.rsaNumber(.q).secretOctets(),
            dp: key.rsaNumber(.dp).secretOctets(),
            dq: key.rsaNumber(.dq).secretOctets(),
            qi: key.rsaNumber(.qi).secretOctets()
        )
    }

    /// Makes the key pair ready to make signatures of one kind.
    ///
    /// - Parameters:
    ///   - padding: The padding.
    ///   - hash: SHA-256, SHA-384 or SHA-512.
    /// - Returns: The signer; make it once and keep it.
    /// - Throws: ``CryptoError/Code/invalidArgument`` for a broken hash function, ``CryptoError/Code/openSSL`` if the
    ///   library fails.
    package func signer(_ padding: RSASignaturePadding, hash: HashFunction) throws(CryptoError) -> RSASigner {
        try RSASigner(key, padding, hash, signatureSize: publicKey.modulusSize)
    }
}
