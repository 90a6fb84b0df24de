/// Checks for RSA moduli that anyone can factor quickly.
///
/// Each check costs a fixed number of operations with numbers of the modulus's size.
enum RSAModulusCheck {
    /// Returns whether the modulus has a prime factor below 4096 other than 2.
    ///
    /// [NIST SP 800-89 §5.3.3](https://doi.org/10.6028/NIST.SP.800-89) requires this check for
    /// primes up to 752.
    static func hasSmallFactor(_ modulus: BigNumber) -> Bool {
        primeProducts.contains { product, primes in
            let remainder = modulus.remainder(dividingBy: product)
            return primes.contains { remainder.isMultiple(of: $0) }
        }
    }

    /// The odd primes below 4096, grouped into products of up to 32 bits, so that one division of
    /// the modulus checks several primes.
    private static let primeProducts: [(product: UInt, primes: [UInt])] = {
        var products: [(product: UInt, primes: [UInt])] = []
        var isComposite = [Bool](repeating: false, count: 4096)
        for number in stride(from: 3, to: isComposite.count, by: 2) where !isComposite[number] {
            for multiple in stride(from: number * number, to: isComposite.count, by: number) {
                isComposite[multiple] = true
            }
            let prime = UInt(number)
            if let last = products.last, last.product * prime <= UInt(UInt32.max) {
                products[products.count - 1] = (last.product * prime, last.primes + [prime])
            } else {
                products.append((prime, [prime]))
            }
        }
        return products
    }()

    /// Returns whether Fermat's method factors the modulus within 100 steps, as it does if both
    /// primes have the same size and the same upper half.
    ///
    /// If `n` is `p · q`, the square of `(p + q) / 2` exceeds `n` by a square. The method tries
    /// numbers upward from the square root of `n`.
    static func hasClosePrimes(_ modulus: BigNumber) throws(CryptoError) -> Bool {
        let arithmetic = try BigNumberArithmetic()
        let root = try arithmetic.squareRoot(of: modulus)
        guard try arithmetic.product(root, root) != modulus else { return true }
        let moduli = squareTests.map { test in
            (root: root.remainder(dividingBy: test.modulus), n: modulus.remainder(dividingBy: test.modulus))
        }
        for step in 1...UInt(fermatSteps) {
            let mayBeSquare = zip(squareTests, moduli).allSatisfy { test, remainders in
                let base = (remainders.root + step) % test.modulus
                return test.isSquare[Int((base * base + test.modulus - remainders.n) % test.modulus)]
            }
            // By chance, 1 in 3,000 steps passes this test.
            guard mayBeSquare else { continue }
            let base = try arithmetic.sum(root, BigNumber(step))
            let rest = try arithmetic.difference(arithmetic.product(base, base), modulus)
            let restRoot = try arithmetic.squareRoot(of: rest)
            if try arithmetic.product(restRoot, restRoot) == rest { return true }
        }
        return false
    }

    private static let fermatSteps = 100

    /// Small moduli, and the remainders that squares can have.
    private static let squareTests: [(modulus: UInt, isSquare: [Bool])] = [64, 63, 65, 11, 17, 19, 23, 29, 31].map {
        var isSquare = [Bool](repeating: false, count: $0)
        for number in 0..<$0 { isSquare[number * number % $0] = true }
        return (UInt($0), isSquare)
    }
}
