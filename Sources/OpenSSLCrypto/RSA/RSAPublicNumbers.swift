/// The numbers of an RSA public key, checked.
struct RSAPublicNumbers {
    let n: BigNumber
    let e: BigNumber

    /// The sizes of a modulus that are accepted, in bits.
    ///
    /// The upper bound keeps the import of a key pair at tens of milliseconds, and a verification below one.
    static let bitCounts = 2048...8192
    /// OpenSSL verifies with longer exponents only under moduli of at most 3072 bits.
    static let maximumExponentSize = 8

    /// Checks the numbers; their sizes before anything is computed with them.
    ///
    /// - Parameters:
    ///   - modulus: The modulus, big-endian.
    ///   - exponent: The public exponent, big-endian.
    ///   - maximumBitCount: The largest size of the modulus, if it is less than that of ``bitCounts``.
    /// - Throws: ``CryptoError/Code/malformedKey``, ``CryptoError/Code/weakKey`` or ``CryptoError/Code/keyTooLarge``.
    init(modulus: [UInt8], exponent: [UInt8], maximumBitCount: Int = bitCounts.upperBound) throws(CryptoError) {
        let modulus = try Self.significant(modulus, "modulus")
        let exponent = try Self.significant(exponent, "public exponent")
        let maximum = min(maximumBitCount, Self.bitCounts.upperBound)
        guard modulus.count <= (maximum + 7) / 8 else {
            throw CryptoError(
                .keyTooLarge,
                "The RSA modulus has \(modulus.count) octets: at most \(maximum / 8) (\(maximum) bits) are accepted here"
            )
        }
        guard exponent.count <= Self.maximumExponentSize else {
            throw CryptoError(
                .keyTooLarge,
                "The RSA public exponent has \(exponent.count) octets: at most \(Self.maximumExponentSize) are accepted"
            )
        }
        n = try modulus.withBytes { bytes throws(CryptoError) in try BigNumber(bytes) }
        e = try exponent.withBytes { bytes throws(CryptoError) in try BigNumber(bytes) }
        guard n.bitCount <= maximum else {
            throw CryptoError(
                .keyTooLarge,
                "The RSA modulus has \(n.bitCount) bits: at most \(maximum) are accepted here"
            )
        }
        guard n.bitCount >= Self.bitCounts.lowerBound else {
            throw CryptoError(
                .weakKey,
                "The RSA modulus has \(n.bitCount) bits: at least \(Self.bitCounts.lowerBound) are needed"
            )
        }
        guard n.isOdd else {
            throw CryptoError(.malformedKey, "The RSA modulus is even: it is no product of two primes")
        }
        guard !e.isOne else {
            throw CryptoError(.weakKey, "The RSA public exponent is 1: every message is its own signature")
        }
        guard e.isOdd else { throw CryptoError(.malformedKey, "The RSA public exponent is even: it has no inverse") }
        guard !ROCA.hasFingerprint(n) else {
            throw CryptoError(
                .weakKey,
                "The RSA modulus was made by the library that CVE-2017-15361 (ROCA) is about and can be factored: make a "
                    + "new key pair"
            )
        }
        guard !RSAModulusCheck.hasSmallFactor(n) else {
            throw CryptoError(
                .weakKey,
                "The RSA modulus has a small prime factor: the key is damaged or was forged. Make a new key pair"
            )
        }
        guard try !RSAModulusCheck.hasClosePrimes(n) else {
            throw CryptoError(
                .weakKey,
                "The primes of the RSA modulus are so close to each other that anyone can find them: make a new key pair"
            )
        }
    }

    /// Takes numbers that OpenSSL has just generated.
    init(generated n: BigNumber, _ e: BigNumber) {
        self.n = n
        self.e = e
    }

    /// Drops one leading zero, which comes from a DER INTEGER; more than one nobody writes for a reason.
    private static func significant(_ octets: [UInt8], _ name: StaticString) throws(CryptoError) -> [UInt8] {
        let significant = octets.first == 0 ? Array(octets.dropFirst()) : octets
        guard let first = significant.first else {
            throw CryptoError(.malformedKey, "The RSA \(name) is \(octets.isEmpty ? "empty" : "zero")")
        }
        guard first != 0 else {
            throw CryptoError(.malformedKey, "The RSA \(name) has more than one leading zero octet")
        }
        return significant
    }
}
