internal import COpenSSL

/// A non-negative integer of any size: the owner of a `BIGNUM`.
///
/// It may hold a secret: its memory is cleared when it's freed, and OpenSSL uses constant-time
/// arithmetic for it.
@safe final class BigNumber: Comparable {
    private let pointer: OpaquePointer

    init() throws(CryptoError) {
        guard let pointer = unsafe BN_secure_new() else { throw CryptoError(failed: "BN_secure_new", "No memory") }
        unsafe self.pointer = pointer
        unsafe BN_set_flags(pointer, BN_FLG_CONSTTIME)
    }

    convenience init(_ word: UInt) throws(CryptoError) {
        try self.init()
        guard unsafe BN_set_word(pointer, word) == 1 else {
            throw CryptoError(failed: "BN_set_word", "No memory")
        }
    }

    /// The bytes are big-endian and may have leading zeros.
    convenience init(_ octets: RawSpan) throws(CryptoError) {
        try self.init()
        let isRead = unsafe octets.withOctets { unsafe BN_bin2bn($0.baseAddress, Int32($0.count), pointer) != nil }
        guard isRead else { throw CryptoError(failed: "BN_bin2bn", "No memory") }
    }

    deinit {
        unsafe BN_clear_free(pointer)
    }

    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        unsafe body(pointer)
    }

    var bitCount: Int { unsafe Int(BN_num_bits(pointer)) }
    var octetCount: Int { (bitCount + 7) / 8 }
    var isZero: Bool { unsafe BN_is_zero(pointer) == 1 }
    var isOne: Bool { unsafe BN_is_one(pointer) == 1 }
    var isOdd: Bool { unsafe BN_is_odd(pointer) == 1 }

    /// All ones if the number doesn't fit.
    var word: UInt { unsafe BN_get_word(pointer) }

    func remainder(dividingBy word: UInt) -> UInt {
        unsafe BN_mod_word(pointer, word)
    }

    /// Big-endian, without leading zeros.
    func octets() throws(CryptoError) -> [UInt8] {
        try unsafe [UInt8](maximumSize: octetCount, writtenBy: write)
            .orThrow(failed: "BN_bn2binpad", "Can't export a number")
    }

    func secretOctets() throws(CryptoError) -> SecretBytes {
        try unsafe SecretBytes(maximumSize: octetCount, writtenBy: write)
            .orThrow(failed: "BN_bn2binpad", "Can't export a number")
    }

    private func write(to buffer: UnsafeMutablePointer<UInt8>?, size: inout Int) -> Bool {
        size = octetCount
        return unsafe BN_bn2binpad(pointer, buffer, Int32(size)) == Int32(size)
    }

    static func == (left: BigNumber, right: BigNumber) -> Bool { unsafe BN_cmp(left.pointer, right.pointer) == 0 }
    static func < (left: BigNumber, right: BigNumber) -> Bool { unsafe BN_cmp(left.pointer, right.pointer) < 0 }
}

/// Arithmetic with big numbers: the owner of the `BN_CTX` for intermediate results.
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

    /// The difference must not be negative.
    func difference(_ left: BigNumber, _ right: BigNumber) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_sub", left, right) { unsafe BN_sub($0, $1, $2) }
    }

    /// The number must not be zero.
    func predecessor(of number: BigNumber) throws(CryptoError) -> BigNumber {
        try difference(number, BigNumber(1))
    }

    func remainder(of number: BigNumber, dividingBy divisor: BigNumber) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_div", number, divisor) { unsafe BN_div(nil, $0, $1, $2, context) }
    }

    func quotient(of number: BigNumber, dividingBy divisor: BigNumber) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_div", number, divisor) { unsafe BN_div($0, nil, $1, $2, context) }
    }

    func shifted(_ number: BigNumber, rightBy count: Int) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_rshift", number, number) { result, number, _ in
            unsafe BN_rshift(result, number, Int32(count))
        }
    }

    func shifted(_ number: BigNumber, leftBy count: Int) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_lshift", number, number) { result, number, _ in
            unsafe BN_lshift(result, number, Int32(count))
        }
    }

    /// Newton's method, starting with an estimate that's at most a factor of 1 + 2⁻²⁵ too large:
    /// each step doubles the number of correct bits, so ten steps suffice for the largest RSA
    /// modulus.
    func squareRoot(of number: BigNumber) throws(CryptoError) -> BigNumber {
        let shift = max(number.bitCount - 51, 0) / 2 * 2
        let head = try shifted(number, rightBy: shift).word
        var root = try shifted(BigNumber(UInt(clamping: Double(head).squareRoot()) + 1), leftBy: shift / 2)
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

    func inverse(of number: BigNumber, modulo modulus: BigNumber) throws(CryptoError) -> BigNumber? {
        OpenSSLLibrary.clearErrors()
        // If there's no inverse, OpenSSL queues an error.
        defer { OpenSSLLibrary.clearErrors() }
        return try? unsafe result("BN_mod_inverse", number, modulus) {
            unsafe BN_mod_inverse($0, $1, $2, context) == nil ? 0 : 1
        }
    }

    /// The modulus must be odd.
    func power(_ base: BigNumber, _ exponent: BigNumber, modulo modulus: BigNumber) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_mod_exp", base, exponent, modulo: modulus, BN_mod_exp)
    }

    func square(_ number: BigNumber, modulo modulus: BigNumber) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_mod_sqr", number, modulus) { unsafe BN_mod_sqr($0, $1, $2, context) }
    }

    func product(_ left: BigNumber, _ right: BigNumber, modulo modulus: BigNumber) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_mod_mul", left, right, modulo: modulus, BN_mod_mul)
    }

    func sum(_ left: BigNumber, _ right: BigNumber, modulo modulus: BigNumber) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_mod_add", left, right, modulo: modulus, BN_mod_add)
    }

    func difference(_ left: BigNumber, _ right: BigNumber, modulo modulus: BigNumber) throws(CryptoError) -> BigNumber {
        try unsafe result("BN_mod_sub", left, right, modulo: modulus, BN_mod_sub)
    }

    /// The number may be zero; the prime must be odd.
    func isSquare(_ number: BigNumber, modulo prime: BigNumber) -> Bool {
        unsafe number.withPointer { number in
            unsafe prime.withPointer { unsafe (0...1).contains(BN_kronecker(number, $0, context)) }
        }
    }

    private typealias ModularOperation = (
        OpaquePointer?, OpaquePointer?, OpaquePointer?, OpaquePointer?, OpaquePointer?
    ) -> Int32

    private func result(
        _ function: StaticString,
        _ left: BigNumber,
        _ right: BigNumber,
        modulo modulus: BigNumber,
        _ operation: ModularOperation
    ) throws(CryptoError) -> BigNumber {
        try unsafe result(function, left, right) { result, left, right in
            unsafe modulus.withPointer { unsafe operation(result, left, right, $0, context) }
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
        guard status == 1 else { throw CryptoError(failed: function, "Arithmetic with the key's numbers failed") }
        return result
    }
}
