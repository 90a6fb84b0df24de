/// A check for RSA moduli of the library with the vulnerability CVE-2017-15361 (ROCA).
///
/// The library computed primes as powers of 65537 modulo a product of small primes, plus a multiple
/// of that product. So the modulus is also a power of 65537 modulo each small prime. For other
/// moduli, the probability is 1 in 240 million.
enum ROCA {
    static func hasFingerprint(_ modulus: BigNumber) -> Bool {
        powers.allSatisfy { prime, powers in powers.contains(modulus.remainder(dividingBy: prime)) }
    }

    /// The powers of 65537 modulo the odd primes up to 167, which divide the product for every key
    /// size.
    private static let powers: [(UInt, Set<UInt>)] = stride(from: UInt(3), through: 167, by: 2)
        .filter { number in !(2..<number).contains { number.isMultiple(of: $0) } }
        .map { prime in
            var powers: Set<UInt> = []
            var power: UInt = 1
            while powers.insert(power).inserted {
                power = power * 65537 % prime
            }
            return (prime, powers)
        }
}
