/// The recovery of an RSA modulus's primes from both exponents.
///
/// This is the deterministic method of
/// [NIST SP 800-56B, Appendix C.2](https://doi.org/10.6028/NIST.SP.800-56Br2): a fixed number of
/// multiplications and divisions for all numbers, and no exponentiation.
///
/// `d · e - 1` is a multiple of the least common multiple of `p - 1` and `q - 1`. Multiplied by its
/// greatest common divisor with `n - 1`, it becomes a multiple of `(p - 1) · (q - 1)`, which is `n
/// - (p + q - 1)`. A division by `n` then yields the sum of the primes.
enum RSAFactorization {
    /// Returns the factors, the larger one first, which aren't yet known to be prime; it throws
    /// `keyMismatch` if the exponents don't lead to two factors.
    static func primes(
        of numbers: RSAPublicNumbers,
        _ d: BigNumber,
        _ arithmetic: BigNumberArithmetic
    ) throws(CryptoError) -> (BigNumber, BigNumber) {
        let n = numbers.n
        guard d < n, !d.isOne else { throw RSAPrivateNumbers.mismatch }
        let multiple = try arithmetic.predecessor(of: arithmetic.product(d, numbers.e))
        let common = try arithmetic.greatestCommonDivisor(arithmetic.predecessor(of: n), multiple)
        let product = try arithmetic.product(multiple, common)
        let factor = try arithmetic.sum(arithmetic.quotient(of: product, dividingBy: n), BigNumber(1))
        let rest = try arithmetic.difference(n, arithmetic.remainder(of: product, dividingBy: n))
        guard try arithmetic.remainder(of: rest, dividingBy: factor).isZero else { throw RSAPrivateNumbers.mismatch }
        let sum = try arithmetic.sum(arithmetic.quotient(of: rest, dividingBy: factor), BigNumber(1))
        // (p - q)² = (p + q)² - 4 · n
        let (square, subtrahend) = try (arithmetic.product(sum, sum), arithmetic.product(n, BigNumber(4)))
        guard subtrahend < square, sum < n else { throw RSAPrivateNumbers.mismatch }
        let differenceSquare = try arithmetic.difference(square, subtrahend)
        let difference = try arithmetic.squareRoot(of: differenceSquare)
        guard try arithmetic.product(difference, difference) == differenceSquare else {
            throw RSAPrivateNumbers.mismatch
        }
        return (
            try arithmetic.shifted(arithmetic.sum(sum, difference), rightBy: 1),
            try arithmetic.shifted(arithmetic.difference(sum, difference), rightBy: 1)
        )
    }
}
