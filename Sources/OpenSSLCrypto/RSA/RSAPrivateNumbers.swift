/// The numbers of an RSA private key, checked against each other and against the public ones.
struct RSAPrivateNumbers {
    let d: BigNumber
    let p: BigNumber
    let q: BigNumber
    let dp: BigNumber
    let dq: BigNumber
    let qi: BigNumber

    /// Checks the numbers of a key.
    init(_ numbers: RSAPublicNumbers, d privateExponent: SecretBytes, _ factors: RSAFactors) throws(CryptoError) {
        let size = numbers.n.octetCount
        d = try Self.number(privateExponent, "private exponent", atMost: size)
        p = try Self.number(factors.p, "first prime", atMost: size)
        q = try Self.number(factors.q, "second prime", atMost: size)
        dp = try Self.number(factors.dp, "first exponent", atMost: size)
        dq = try Self.number(factors.dq, "second exponent", atMost: size)
        qi = try Self.number(factors.qi, "coefficient", atMost: size)
        try check(against: numbers, BigNumberArithmetic())
    }

    /// Recovers the primes of a key that is given without them.
    ///
    /// Such a key would sign eight times slower.
    init(_ numbers: RSAPublicNumbers, d privateExponent: SecretBytes) throws(CryptoError) {
        let arithmetic = try BigNumberArithmetic()
        d = try Self.number(privateExponent, "private exponent", atMost: numbers.n.octetCount)
        // The larger first, as OpenSSL generates them.
        (p, q) = try RSAFactorization.primes(of: numbers, d, arithmetic)
        guard !p.isOne, !q.isOne, let qi = try arithmetic.inverse(of: q, modulo: p) else { throw Self.mismatch }
        self.qi = qi
        dp = try arithmetic.remainder(of: d, dividingBy: arithmetic.predecessor(of: p))
        dq = try arithmetic.remainder(of: d, dividingBy: arithmetic.predecessor(of: q))
        try check(against: numbers, arithmetic)
    }

    static let mismatch = CryptoError(
        .keyMismatch,
        "The private and the public numbers of the RSA key don't belong together"
    )

    /// Checks everything that RFC 8017 §3.2 says about the numbers.
    ///
    /// This costs two exponentiations modulo the primes; everything else is a fixed number of products and divisions.
    private func check(against numbers: RSAPublicNumbers, _ arithmetic: BigNumberArithmetic) throws(CryptoError) {
        guard d < numbers.n, p < numbers.n, q < numbers.n, p != q, try arithmetic.product(p, q) == numbers.n else {
            throw Self.mismatch
        }
        try checkSizes(of: numbers, arithmetic)
        try check(p, exponent: dp, of: numbers, arithmetic)
        try check(q, exponent: dq, of: numbers, arithmetic)
        guard qi < p, try arithmetic.remainder(of: arithmetic.product(qi, q), dividingBy: p).isOne else {
            throw Self.mismatch
        }
    }

    /// Checks that the primes have the same size and are not close to each other
    /// ([FIPS 186-5 §A.1.1](https://doi.org/10.6028/NIST.FIPS.186-5)), with some tolerance for the sizes.
    ///
    /// This also bounds what the exponentiations cost.
    private func checkSizes(of numbers: RSAPublicNumbers, _ arithmetic: BigNumberArithmetic) throws(CryptoError) {
        let minimum = numbers.n.bitCount / 2 - 100
        guard p.bitCount >= minimum, q.bitCount >= minimum else {
            throw CryptoError(
                .weakKey,
                "One of the RSA key's primes is much shorter than the other: make a new key pair"
            )
        }
        guard try arithmetic.difference(max(p, q), min(p, q)).bitCount > minimum else {
            throw CryptoError(.weakKey, "The RSA key's primes are too close to each other: make a new key pair")
        }
    }

    private func check(
        _ prime: BigNumber,
        exponent: BigNumber,
        of numbers: RSAPublicNumbers,
        _ arithmetic: BigNumberArithmetic
    ) throws(CryptoError) {
        let order = try arithmetic.predecessor(of: prime)
        guard
            !order.isZero,
            try arithmetic.remainder(of: d, dividingBy: order) == exponent,
            // For both primes together this says that d · e is 1 modulo their least common multiple.
            try arithmetic.remainder(of: arithmetic.product(exponent, numbers.e), dividingBy: order).isOne
        else { throw Self.mismatch }
        // The equations hold for other numbers than primes too. One round of Fermat's test is enough here: it is about
        // damage, as who gives away a key pair knows it anyway.
        guard try arithmetic.power(BigNumber(2), order, modulo: prime).isOne else {
            throw CryptoError(.keyMismatch, "A factor of the RSA modulus is not prime")
        }
    }

    /// Reads a secret number, which may have leading zeros: some writers pad.
    private static func number(
        _ octets: SecretBytes,
        _ name: StaticString,
        atMost size: Int
    ) throws(CryptoError) -> BigNumber {
        guard (1...size).contains(octets.count) else {
            throw CryptoError(
                .malformedKey,
                "The RSA \(name) has \(octets.count) octets: it has 1 to \(size), as many as the modulus"
            )
        }
        let number = try octets.withBytes { bytes throws(CryptoError) in try BigNumber(bytes) }
        guard !number.isZero else { throw CryptoError(.malformedKey, "The RSA \(name) is zero") }
        return number
    }
}
