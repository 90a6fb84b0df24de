internal import COpenSSL

/// Comparison whose duration doesn't reveal where two values differ.
package enum ConstantTime {
    package static func areEqual(_ left: RawSpan, _ right: RawSpan) -> Bool {
        guard left.byteCount == right.byteCount else { return false }
        return unsafe left.withUnsafeBytes { leftBytes in
            unsafe right.withUnsafeBytes { rightBytes in
                guard let first = leftBytes.baseAddress, let second = rightBytes.baseAddress else { return true }
                return unsafe CRYPTO_memcmp(first, second, leftBytes.count) == 0
            }
        }
    }
}
