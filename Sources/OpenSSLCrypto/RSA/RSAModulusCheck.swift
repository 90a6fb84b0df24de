/// Recognizes RSA moduli that anyone can factor in a moment.
///
/// Each check costs a fixed number of operations with numbers of the modulus's size.
enum RSAModulusCheck {
    /// Returns whether an odd prime below 4096 divides a modulus.
    ///
    /// [NIST SP 800-89 §5.3.3](https://doi.org/10.6028/NIST.SP.800-89) demands it for the primes up to 752.
    static func hasSmallFactor(_ modulus: BigNumber) -> Bool {
        primeProducts.contains { product, primes in
            let remainder = modulus.remainder(dividingBy: product)
            return primes.contains { remainder.isMultiple(of: $0) }
        }
    }

    /// The odd primes below 4096, and their products as far as they fit into 32 bits: one division of the modulus checks
    /// several of them.
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

    /// Returns whether Fermat's method factors a modulus within 100 steps, as it does for primes of one size whose upper
    /// halves are the same.
    ///
    /// If `n` is `p · q`, the square of `(p + q) / 2` is greater than `n` by a square. The method tries the numbers from the
    /// root of `n` upward.
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
            // One step in 3,000 comes to this point by chance.
            guard mayBeSquare else { continue }
            let base = try arithmetic.sum(root, BigNumber(step))
            let rest = try arithmetic.difference(arithmetic.product(base, base), modulus)
            let restRoot = try arithmetic.squareRoot(of: rest)
            if try arithmetic.product(restRoot, restRoot) == rest { return true }
        }
        return false
    }

    private static let fermatSteps = 100

    /// Small moduli, and which remainders of them a square can have.
    private static let squareTests: [(modulus: UInt, isSquare: [Bool])] = [64, 63, 65, 11, 17, 19, 23, 29, 31].map {
        var isSquare = [Bool](repeating: false, count: $0)
        for number in 0..<$0 { isSquare[number * number % $0] = true }
        return (UInt($0), isSquare)
    }
}
