/// Finds the primes of an RSA modulus when both exponents are known.
///
/// The way is that of [NIST SP 800-56B, Appendix C.1](https://doi.org/10.6028/NIST.SP.800-56Br2).
///
/// `d · e - 1` is a multiple of the order of every number modulo `n`. Halving it from there leads, for at least every
/// second number, to a square root of 1 that is neither 1 nor -1, and that has a factor in common with `n`.
struct RSAFactorization {
    private let n: BigNumber
    private let minusOne: BigNumber
    private let one: BigNumber
    private let oddPart: BigNumber
    private let halvings: Int
    private let arithmetic: BigNumberArithmetic

    init(_ numbers: RSAPublicNumbers, _ d: BigNumber, _ arithmetic: BigNumberArithmetic) throws(CryptoError) {
        let multiple = try arithmetic.predecessor(of: arithmetic.product(d, numbers.e))
        guard d < numbers.n, !multiple.isZero, !multiple.isOdd else { throw RSAPrivateNumbers.mismatch }
        n = numbers.n
        one = try BigNumber(1)
        minusOne = try arithmetic.predecessor(of: n)
        halvings = multiple.trailingZeroBitCount
        oddPart = try arithmetic.shifted(multiple, rightBy: halvings)
        self.arithmetic = arithmetic
    }

    /// A factor of the modulus.
    func factor() throws(CryptoError) -> BigNumber {
        for _ in 0..<Self.attempts {
            if let factor = try factor(startingFrom: arithmetic.random(below: n)) { return factor }
        }
        throw RSAPrivateNumbers.mismatch
    }

    /// Each finds the primes of a genuine key with a probability of at least a half.
    private static let attempts = 48

    private func factor(startingFrom base: BigNumber) throws(CryptoError) -> BigNumber? {
        guard !base.isZero else { return nil }
        var root = try arithmetic.power(base, oddPart, modulo: n)
        guard !root.isOne, root != minusOne else { return nil }
        for _ in 0..<halvings {
            let square = try arithmetic.square(root, modulo: n)
            if square.isOne {
                return try arithmetic.greatestCommonDivisor(arithmetic.predecessor(of: root), n)
            }
            guard square != minusOne else { return nil }
            root = square
        }
        // The order of `base` does not divide d · e - 1: the exponents are not those of this modulus.
        throw RSAPrivateNumbers.mismatch
    }
}
