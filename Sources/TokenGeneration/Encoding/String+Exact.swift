internal import OpenSSLCrypto

extension String {
    /// Whether two strings have the same code points.
    ///
    /// Swift's `==` takes canonically equivalent strings for the same: "K" equals U+212A KELVIN SIGN. It normalizes to
    /// find out, in quadratic time for a run of combining characters. JOSE compares code points, without normalization
    /// ([RFC 7519 §7.3](https://www.rfc-editor.org/rfc/rfc7519#section-7.3)), and an issuer that is merely equivalent is
    /// another issuer.
    package func isExactly(_ other: String) -> Bool {
        utf8.span.isEqual(to: other.utf8.span)
    }

    /// Whether two strings differ at most in the case of ASCII letters.
    package func isExactlyIgnoringASCIICase(_ other: String) -> Bool {
        utf8.count == other.utf8.count
            && zip(utf8, other.utf8).allSatisfy { left, right in left.asciiLowercased == right.asciiLowercased }
    }
}

extension UInt8 {
    fileprivate var asciiLowercased: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}
