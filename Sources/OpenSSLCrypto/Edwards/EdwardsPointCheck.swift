/// A check of the encoded point of an Edwards public key, which OpenSSL doesn't validate.
///
/// With a public key of small order, anyone can forge signatures. With the neutral element, one
/// signature is even valid for every message. Non-canonical encodings are rejected too: they'd give
/// a point a second encoding, which matters if keys arrive with the message (a JWK in a token's
/// header) or are compared by their bytes.
struct EdwardsPointCheck {
    private let curve: EdwardsCurve
    private let arithmetic: BigNumberArithmetic
    private let prime: BigNumber
    private let one: BigNumber

    init(_ curve: EdwardsCurve) throws(CryptoError) {
        self.curve = curve
        arithmetic = try BigNumberArithmetic()
        one = try BigNumber(1)
        prime = try Self.prime(of: curve).withBytes { bytes throws(CryptoError) in try BigNumber(bytes) }
    }

    /// Checks an encoded point of the curve's size
    /// ([RFC 8032 §5.1.2 and §5.2.2](https://www.rfc-editor.org/rfc/rfc8032#section-5.1.2)).
    ///
    /// A non-canonical encoding is `malformedKey`, and a point of small order `weakKey`.
    func check(_ encoded: [UInt8]) throws(CryptoError) {
        var bigEndian = Array(encoded.reversed())
        // The first bit is the sign of x. On Edwards448 it has a separate byte.
        bigEndian[0] &= 0x7F
        let y = try bigEndian.withBytes { bytes throws(CryptoError) in try BigNumber(bytes) }
        guard y < prime else {
            throw CryptoError(
                .malformedKey,
                "The \(curve.name) public key isn't canonical: y isn't less than the prime"
            )
        }
        // The points with x = 0 have a non-canonical second encoding. They're rejected here because
        // their order is small.
        guard try !isOfSmallOrder(y) else {
            throw CryptoError(
                .weakKey,
                "The \(curve.name) public key has small order, so anyone could forge signatures"
            )
        }
        guard try isOnCurve(y) else {
            throw CryptoError(.pointNotOnCurve, "The public key isn't a point on the curve \(curve.name)")
        }
    }

    /// Returns whether `y` belongs to a point whose order divides the cofactor.
    private func isOfSmallOrder(_ y: BigNumber) throws(CryptoError) -> Bool {
        // 1 has order 1, -1 order 2 and 0 order 4. Edwards25519 also has points of order 8:
        // doubling them gives y = 0, which is equivalent to d·y⁴ + 2·y² = 1.
        let minusOne = try arithmetic.difference(prime, one)
        if y.isZero || y.isOne || y == minusOne { return true }
        guard curve == .ed25519 else { return false }
        let square = try arithmetic.square(y, modulo: prime)
        let fourth = try arithmetic.square(square, modulo: prime)
        let double = try arithmetic.sum(square, square, modulo: prime)
        return try arithmetic.sum(coefficient(times: fourth), double, modulo: prime).isOne
    }

    /// Returns whether the curve has a point with this `y`.
    ///
    /// By the curve equation a·x² + y² = 1 + d·x²·y², x² is (y² - 1) / (d·y² - a), where a is -1 on
    /// Edwards25519 and 1 on Edwards448. The quotient is a square if and only if the product of
    /// both terms is.
    private func isOnCurve(_ y: BigNumber) throws(CryptoError) -> Bool {
        let square = try arithmetic.square(y, modulo: prime)
        let numerator = try arithmetic.difference(square, one, modulo: prime)
        let product = try coefficient(times: square)
        let denominator =
            try curve == .ed25519
            ? arithmetic.sum(product, one, modulo: prime) : arithmetic.difference(product, one, modulo: prime)
        return try arithmetic.isSquare(
            arithmetic.product(numerator, denominator, modulo: prime),
            modulo: prime
        )
    }

    /// Returns d · `number`, where d is -121665 / 121666 on Edwards25519 and -39081 on Edwards448.
    private func coefficient(times number: BigNumber) throws(CryptoError) -> BigNumber {
        var product = try arithmetic.product(number, BigNumber(curve == .ed25519 ? 121665 : 39081), modulo: prime)
        if curve == .ed25519, let inverse = try arithmetic.inverse(of: BigNumber(121666), modulo: prime) {
            product = try arithmetic.product(product, inverse, modulo: prime)
        }
        return try arithmetic.difference(BigNumber(), product, modulo: prime)
    }

    /// Returns 2²⁵⁵ - 19 or 2⁴⁴⁸ - 2²²⁴ - 1, big-endian.
    private static func prime(of curve: EdwardsCurve) -> [UInt8] {
        guard curve == .ed25519 else {
            return (0..<56).map { $0 == 27 ? 0xFE : 0xFF }
        }
        return [0x7F] + [UInt8](repeating: 0xFF, count: 30) + [0xED]
    }
}
