internal import COpenSSL

/// Comparison that does not tell by its duration where two values differ.
package enum ConstantTime {
    /// Compares octets in a time that depends on their number only.
    ///
    /// - Parameters:
    ///   - left: One value.
    ///   - right: The other.
    /// - Returns: Whether both have the same length and contents.
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
