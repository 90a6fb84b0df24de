internal import COpenSSL

/// Arithmetic with big numbers: the owner of the `BN_CTX` that holds its intermediate results.
@safe final class BigNumberArithmetic {
    private let context: OpaquePointer

    init() throws(CryptoError) {
        guard let context = unsafe BN_CTX_secure_new() else {
            throw CryptoError(failed: "BN_CTX_secure_new", "No memory")
        }
        unsafe self.context = context
    }

    deinit {
        unsafe BN_CTX_free(context)
    }

    func product(_ left: BigNumber, _ right: BigNumber) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_mul", left, right) { unsafe BN_mul($0, $1, $2, context) }
    }

    func sum(_ left: BigNumber, _ right: BigNumber) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_add", left, right) { unsafe BN_add($0, $1, $2) }
    }

    /// The difference, which must not be negative.
    func difference(_ left: BigNumber, _ right: BigNumber) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_sub", left, right) { unsafe BN_sub($0, $1, $2) }
    }

    /// A number less one; it must not be zero.
    func predecessor(of number: BigNumber) throws(CryptoError) -> BigNumber {
        try difference(number, BigNumber(1))
    }

    func remainder(of number: BigNumber, dividingBy divisor: BigNumber) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_div", number, divisor) { unsafe BN_div(nil, $0, $1, $2, context) }
    }

    func quotient(of number: BigNumber, dividingBy divisor: BigNumber) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_div", number, divisor) { unsafe BN_div($0, nil, $1, $2, context) }
    }

    /// A number without its last bits.
    func shifted(_ number: BigNumber, rightBy count: Int) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_rshift", number, number) { result, number, _ in
            unsafe BN_rshift(result, number, Int32(count))
        }
    }

    /// A number with zero bits at its end.
    func shifted(_ number: BigNumber, leftBy count: Int) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_lshift", number, number) { result, number, _ in
            unsafe BN_lshift(result, number, Int32(count))
        }
    }

    /// The largest number whose square is not greater than a number.
    ///
    /// Newton's method, from an estimate that is too large by a part in 2²⁵: each step doubles the number of correct bits, so
    /// that ten are enough for the largest RSA modulus.
    func squareRoot(of number: BigNumber) throws(CryptoError) -> BigNumber {
        let shift = max(number.bitCount - 51, 0) / 2 * 2
        let head = try shifted(number, rightBy: shift).word
        var root = try shifted(BigNumber(UInt(Double(head).squareRoot()) + 1), leftBy: shift / 2)
        while true {
            guard !root.isZero else { return root }
            let next = try shifted(sum(root, quotient(of: number, dividingBy: root)), rightBy: 1)
            guard next < root else { return root }
            root = next
        }
    }

    func greatestCommonDivisor(_ left: BigNumber, _ right: BigNumber) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_gcd", left, right) { unsafe BN_gcd($0, $1, $2, context) }
    }

    /// The inverse modulo a number, if there is one.
    func inverse(of number: BigNumber, modulo modulus: BigNumber) throws(CryptoError) -> BigNumber? {
        OpenSSLLibrary.clearErrors()
        // Without one, OpenSSL puts an entry into the error queue.
        defer { OpenSSLLibrary.clearErrors() }
        return try? unsafe result("BN_mod_inverse", number, modulus) {
            unsafe BN_mod_inverse($0, $1, $2, context) == nil ? 0 : 1
        }
    }

    /// A power modulo an odd number.
    func power(_ base: BigNumber, _ exponent: BigNumber, modulo modulus: BigNumber) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_mod_exp", base, exponent) { result, base, exponent in
            unsafe modulus.withPointer { unsafe BN_mod_exp(result, base, exponent, $0, context) }
        }
    }

    func square(_ number: BigNumber, modulo modulus: BigNumber) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_mod_sqr", number, modulus) { unsafe BN_mod_sqr($0, $1, $2, context) }
    }

    func product(
        _ left: BigNumber,
        _ right: BigNumber,
        modulo modulus: BigNumber
    ) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_mod_mul", left, right) { result, left, right in
            unsafe modulus.withPointer { unsafe BN_mod_mul(result, left, right, $0, context) }
        }
    }

    func sum(
        _ left: BigNumber,
        _ right: BigNumber,
        modulo modulus: BigNumber
    ) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_mod_add", left, right) { result, left, right in
            unsafe modulus.withPointer { unsafe BN_mod_add(result, left, right, $0, context) }
        }
    }

    func difference(
        _ left: BigNumber,
        _ right: BigNumber,
        modulo modulus: BigNumber
    ) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_mod_sub", left, right) { result, left, right in
            unsafe modulus.withPointer { unsafe BN_mod_sub(result, left, right, $0, context) }
        }
    }

    /// Whether a number is a square modulo an odd prime; zero is one.
    func isSquare(_ number: BigNumber, modulo prime: BigNumber) -> Bool {
        unsafe number.withPointer { number in
            unsafe prime.withPointer { unsafe (0...1).contains(BN_kronecker(number, $0, context)) }
        }
    }

    private func result(
        _ function: StaticString,
        _ left: BigNumber,
        _ right: BigNumber,
        _ operation: (OpaquePointer, OpaquePointer, OpaquePointer) -> Int32
    ) throws(CryptoError) -> BigNumber {
        OpenSSLLibrary.clearErrors()
        let result = try BigNumber()
        let status = unsafe result.withPointer { result in
            unsafe left.withPointer { left in unsafe right.withPointer { unsafe operation(result, left, $0) } }
        }
        guard status == 1 else { throw CryptoError(failed: function, "The key's numbers can't be computed with") }
        return result
    }
}
