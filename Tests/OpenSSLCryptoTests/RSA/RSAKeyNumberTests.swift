import OpenSSLCrypto
import TestSupport
import Testing

@Suite("RSA keys from numbers", .computing) struct RSAKeyNumberTests {
    /// A change to the numbers of a valid key.
    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let code: CryptoError.Code
        let apply: @Sendable (inout RSATestKeyNumbers) -> Void

        init(
            _ name: String,
            _ code: CryptoError.Code,
            _ apply: @escaping @Sendable (inout RSATestKeyNumbers) -> Void
        ) {
            testDescription = name
            self.code = code
            self.apply = apply
        }
    }

    @Test("Keeps the numbers of a key pair", .shows("RFC 8017 §3.2, §8")) func numbers() throws {
        let numbers = RSATestKeyNumbers()
        let key = try numbers.key()
        #expect(key.bitCount == 2048)
        #expect(key.publicKey.modulus == numbers.n)
        #expect(key.publicKey.exponent == numbers.e)
        #expect(key.publicKey.modulusSize == 256)
        #expect(try key.privateExponent().exposed == numbers.d)
        let factors = try key.factors()
        #expect(factors.p.exposed == numbers.p)
        #expect(factors.q.exposed == numbers.q)
        #expect(factors.dp.exposed == numbers.dp)
        #expect(factors.dq.exposed == numbers.dq)
        #expect(factors.qi.exposed == numbers.qi)
        #expect(try key.publicKey == numbers.publicKey())
    }

    @Test("Recovers the primes from n, e and d") func recovery() throws {
        let numbers = RSATestKeyNumbers()
        let key = try numbers.keyWithoutFactors()
        let factors = try key.factors()
        let primes = [factors.p.exposed, factors.q.exposed]
        #expect(Set(primes) == [numbers.p, numbers.q])
        // The signature uses the recovered primes.
        let signature = try key.signer(.pkcs1v15, hash: .sha256).signature(for: [1])
        #expect(try signature == numbers.key().signer(.pkcs1v15, hash: .sha256).signature(for: [1]))
    }

    @Test("Recovers the primes of keys of any size", arguments: [2048, 2056, 2560, 3072])
    func recoveryOfOthers(bitCount: Int) throws {
        let key = try RSAPrivateKey.generate(bitCount: bitCount)
        #expect(key.bitCount == bitCount)
        let again = try RSAPrivateKey(
            modulus: key.publicKey.modulus,
            exponent: key.publicKey.exponent,
            privateExponent: key.privateExponent()
        )
        let expected = try key.factors()
        let found = try again.factors()
        #expect(Set([found.p.exposed, found.q.exposed]) == Set([expected.p.exposed, expected.q.exposed]))
        let signature = try again.signer(.pss, hash: .sha512).signature(for: [1])
        #expect(try key.publicKey.verifier(.pss, hash: .sha512).isValidSignature(signature, for: [1]))
    }

    @Test("Drops one leading zero of public numbers and all of private numbers") func leadingZeros() throws {
        var numbers = RSATestKeyNumbers()
        let expected = try numbers.publicKey()
        numbers.n.insert(0, at: 0)
        numbers.e.insert(0, at: 0)
        numbers.p.insert(contentsOf: [0, 0], at: 0)
        numbers.qi = [UInt8](repeating: 0, count: 256 - numbers.qi.count) + numbers.qi
        #expect(try numbers.publicKey() == expected)
        #expect(try numbers.key().publicKey == expected)
        #expect(try numbers.key().factors().p.exposed == RSATestKeyNumbers().p)
    }

    @Test("Accepts the primes in either order") func swappedPrimes() throws {
        var numbers = RSATestKeyNumbers()
        swap(&numbers.p, &numbers.q)
        swap(&numbers.dp, &numbers.dq)
        numbers.qi = RSAWeakNumbers.swappedCoefficient
        let key = try numbers.key()
        #expect(try key.factors().p.exposed == numbers.p)
        let signature = try key.signer(.pkcs1v15, hash: .sha384).signature(for: [2])
        #expect(try signature == RSAPrivateKey.test().signer(.pkcs1v15, hash: .sha384).signature(for: [2]))
    }

    static let publicChanges = [
        Change("no modulus", .malformedKey) { $0.n = [] },
        Change("zero modulus", .malformedKey) { $0.n = [0] },
        Change("even modulus", .malformedKey) { $0.n[255] &= 0xFE },
        Change("two leading zeros", .malformedKey) { $0.n = [0, 0] + $0.n },
        Change("1024 bits", .weakKey) { $0.n = RSAWeakNumbers.shortModulus },
        Change("2047 bits", .weakKey) { $0.n[0] = 0x7F },
        Change("ROCA", .weakKey) { $0.n = RSAWeakNumbers.rocaModulus },
        Change("factor 7", .weakKey) { $0.n[200] ^= 1 },
        Change("factor 4093", .weakKey) { $0.n = RSAWeakNumbers.smallFactorModulus },
        Change("neighboring primes", .weakKey) { $0.n = RSAWeakNumbers.neighborModulus },
        Change("primes with equal halves", .weakKey) { $0.n = RSAWeakNumbers.closeModulus },
        Change("square of a prime", .weakKey) { $0.n = RSAWeakNumbers.squareModulus },
        Change("8193 bits", .keyTooLarge) { $0.n = RSAWeakNumbers.modulus(bitCount: 8193, last: 1) },
        Change("8200 bits", .keyTooLarge) { $0.n = [UInt8](repeating: 0xFF, count: 1025) },
        Change("16384 bits", .keyTooLarge) { $0.n = [UInt8](repeating: 0xFF, count: 2048) },
        Change("8 million bits", .keyTooLarge) { $0.n = [UInt8](repeating: 0xFF, count: 1_000_000) },
        Change("no exponent", .malformedKey) { $0.e = [] },
        Change("exponent 0", .malformedKey) { $0.e = [0] },
        Change("exponent 1", .weakKey) { $0.e = [1] },
        Change("exponent 2", .malformedKey) { $0.e = [2] },
        Change("even exponent", .malformedKey) { $0.e = [1, 0, 0] },
        Change("exponent of 72 bits", .keyTooLarge) { $0.e = [1, 0, 0, 0, 0, 0, 0, 0, 1] },
        Change("exponent of a million bytes", .keyTooLarge) { $0.e = [UInt8](repeating: 1, count: 1_000_000) },
    ]

    @Test(
        "Rejects public numbers of invalid or weak keys",
        .shows("C9", "C10", "K4", "FAPI 2.0 §5.4.1 (2)"),
        arguments: publicChanges
    )
    func refusedPublic(change: Change) {
        var numbers = RSATestKeyNumbers()
        change.apply(&numbers)
        #expect(code { _ = try numbers.publicKey() } == change.code)
        #expect(code { _ = try numbers.key() } == change.code)
        #expect(code { _ = try numbers.keyWithoutFactors() } == change.code)
    }

    static let privateChanges = [
        Change("another d", .keyMismatch) { $0.d[100] ^= 1 },
        Change("d of 1", .keyMismatch) { $0.d = [1] },
        Change("zero d", .malformedKey) { $0.d = [0] },
        Change("no d", .malformedKey) { $0.d = [] },
        Change("d longer than the modulus", .malformedKey) { $0.d = [0] + [UInt8](repeating: 1, count: 256) },
        Change("d not less than the modulus", .keyMismatch) { $0.d = [UInt8](repeating: 0xFF, count: 256) },
        Change("another e", .keyMismatch) { $0.e = [3] },
        Change("another n", .keyMismatch) { $0.n[201] ^= 1 },
        Change("another p", .keyMismatch) { $0.p = RSAWeakNumbers.otherPrime },
        Change("p and q swapped", .keyMismatch) { swap(&$0.p, &$0.q) },
        Change("p = n, q = 1", .keyMismatch) { ($0.p, $0.q) = ($0.n, [1]) },
        Change("zero p", .malformedKey) { $0.p = [0, 0] },
        Change("no p", .malformedKey) { $0.p = [] },
        Change("p longer than the modulus", .malformedKey) { $0.p = [UInt8](repeating: 1, count: 257) },
        Change("another dp", .keyMismatch) { $0.dp[10] ^= 1 },
        Change("another dq", .keyMismatch) { $0.dq[10] ^= 1 },
        Change("dp and dq swapped", .keyMismatch) { swap(&$0.dp, &$0.dq) },
        Change("d for dp", .keyMismatch) { $0.dp = $0.d },
        Change("another qi", .keyMismatch) { $0.qi[10] ^= 1 },
        Change("qi of 1", .keyMismatch) { $0.qi = [1] },
    ]

    @Test("Rejects private numbers that don't match", arguments: privateChanges)
    func refusedPrivate(change: Change) {
        var numbers = RSATestKeyNumbers()
        change.apply(&numbers)
        #expect(code { _ = try numbers.key() } == change.code)
    }

    @Test(
        "Rejects another key's exponent in a key without primes",
        arguments: privateChanges.filter { change in
            ["d", "e", "n"].contains { change.testDescription.split(separator: " ").contains($0) }
                && !change.testDescription.contains("dp")
        }
    )
    func refusedWithoutFactors(change: Change) {
        var numbers = RSATestKeyNumbers()
        change.apply(&numbers)
        #expect(code { _ = try numbers.keyWithoutFactors() } == change.code)
    }

    @Test("Rejects a composite factor") func compositeFactor() throws {
        // All equations can hold, so only the primality test detects it. p and q are chosen such
        // that e is invertible modulo p - 1 and q - 1.
        let composite = RSATestKeyNumbers(pkcs1: RSAWeakNumbers.compositeFactor)
        let error = error { _ = try composite.key() }
        #expect(error?.code == .keyMismatch)
        #expect(error?.message.contains("isn't prime") == true)
    }

    @Test("Accepts a modulus of the maximum size, which the caller may lower", .shows("K1"))
    func largestModulus() throws {
        let largest = RSAWeakNumbers.modulus(bitCount: 8192, last: 3)
        #expect(try RSAPublicKey(modulus: largest, exponent: [3]).bitCount == 8192)
        for (bitCount, last) in [(4096, 3), (4097, 1), (8192, 3)] as [(Int, UInt8)] {
            let modulus = RSAWeakNumbers.modulus(bitCount: bitCount, last: last)
            let found = code { _ = try RSAPublicKey(modulus: modulus, exponent: [3], maximumBitCount: 4096) }
            #expect(found == (bitCount > 4096 ? .keyTooLarge : nil))
        }
    }

    // The method has no loop whose length depends on the numbers. Its result is checked once.
    @Test(
        "Rejects a key pair with close or uneven primes, and exponents for a modulus of one or three primes",
        .shows("K1", "K4"),
        arguments: [
            (RSAWeakNumbers.similarModulus, RSAWeakNumbers.similarExponent, .weakKey, "close"),
            (RSAWeakNumbers.unevenModulus, RSAWeakNumbers.unevenExponent, .weakKey, "shorter"),
            (RSAWeakNumbers.primeModulus, RSAWeakNumbers.primeExponent, .keyMismatch, ""),
            (RSAWeakNumbers.threePrimeModulus, RSAWeakNumbers.threePrimeExponent, .keyMismatch, ""),
        ] as [([UInt8], [UInt8], CryptoError.Code, String)]
    )
    func unsafePrimes(modulus: [UInt8], exponent: [UInt8], expected: CryptoError.Code, word: String) {
        var numbers = RSATestKeyNumbers()
        (numbers.n, numbers.d) = (modulus, exponent)
        // The modulus alone doesn't show it.
        if expected == .weakKey { #expect(code { _ = try numbers.publicKey() } == nil) }
        let refusal = error { _ = try numbers.keyWithoutFactors() }
        #expect(refusal?.code == expected)
        #expect(word.isEmpty || refusal?.message.contains(word) == true)
    }

    @Test("Doesn't generate keys of unsupported sizes", arguments: [1024, 2047, 8193, .min, .max])
    func generate(bitCount: Int) {
        let expected = bitCount > 8192 ? CryptoError.Code.keyTooLarge : .weakKey
        #expect(code { _ = try RSAPrivateKey.generate(bitCount: bitCount) } == expected)
    }

    @Test("Doesn't include private numbers in errors") func secrecy() throws {
        for change in Self.privateChanges {
            var numbers = RSATestKeyNumbers()
            change.apply(&numbers)
            let text = try #require(error { _ = try numbers.key() }).description.lowercased()
            for number in [numbers.d, numbers.p, numbers.q] where number.count > 8 {
                #expect(!text.contains([UInt8](number.suffix(8)).hex))
            }
        }
    }
}
