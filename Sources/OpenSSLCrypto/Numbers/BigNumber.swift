internal import COpenSSL

/// A non-negative integer of any size: the owner of a `BIGNUM`.
///
/// It may hold a secret: its memory is cleared when it's freed, and OpenSSL uses constant-time
/// arithmetic for it.
@safe final class BigNumber {
    private let pointer: OpaquePointer

    /// Creates zero.
    init() throws(CryptoError) {
        guard let pointer = unsafe BN_secure_new() else { throw CryptoError(failed: "BN_secure_new", "No memory") }
        unsafe self.pointer = pointer
        unsafe BN_set_flags(pointer, BN_FLG_CONSTTIME)
    }

    /// Creates a small number.
    convenience init(_ word: UInt) throws(CryptoError) {
        try self.init()
        guard unsafe BN_set_word(pointer, word) == 1 else {
            throw CryptoError(failed: "BN_set_word", "No memory")
        }
    }

    /// Creates a number from big-endian bytes, which may have leading zeros.
    convenience init(_ octets: RawSpan) throws(CryptoError) {
        try self.init()
        let isRead = unsafe octets.withOctets { unsafe BN_bin2bn($0.baseAddress, Int32($0.count), pointer) != nil }
        guard isRead else { throw CryptoError(failed: "BN_bin2bn", "No memory") }
    }

    deinit {
        unsafe BN_clear_free(pointer)
    }

    /// Calls a closure with the pointer, which is valid only during the call.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        unsafe body(pointer)
    }

    var bitCount: Int { unsafe Int(BN_num_bits(pointer)) }
    var octetCount: Int { (bitCount + 7) / 8 }
    var isZero: Bool { unsafe BN_is_zero(pointer) == 1 }
    var isOne: Bool { unsafe BN_is_one(pointer) == 1 }
    var isOdd: Bool { unsafe BN_is_odd(pointer) == 1 }

    /// The number if it fits into a word, otherwise all ones.
    var word: UInt { unsafe BN_get_word(pointer) }

    /// Returns the remainder of a division by a small number.
    func remainder(dividingBy word: UInt) -> UInt {
        unsafe BN_mod_word(pointer, word)
    }

    /// Returns the number as big-endian bytes without leading zeros.
    func octets() throws(CryptoError) -> [UInt8] {
        try unsafe [UInt8](maximumSize: octetCount, writtenBy: write)
            .orThrow(failed: "BN_bn2binpad", "Can't export a number")
    }

    /// Returns the number as secret big-endian bytes without leading zeros.
    func secretOctets() throws(CryptoError) -> SecretBytes {
        try unsafe SecretBytes(maximumSize: octetCount, writtenBy: write)
            .orThrow(failed: "BN_bn2binpad", "Can't export a number")
    }

    private func write(to buffer: UnsafeMutablePointer<UInt8>?, size: inout Int) -> Bool {
        size = octetCount
        return unsafe BN_bn2binpad(pointer, buffer, Int32(size)) == Int32(size)
    }
}

extension BigNumber: Comparable {
    static func == (left: BigNumber, right: BigNumber) -> Bool { unsafe BN_cmp(left.pointer, right.pointer) == 0 }
    static func < (left: BigNumber, right: BigNumber) -> Bool { unsafe BN_cmp(left.pointer, right.pointer) < 0 }
}
