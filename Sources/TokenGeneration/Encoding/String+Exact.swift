internal import OpenSSLCrypto

extension String {
    /// Returns a Boolean value that indicates whether two strings have the same code points.
    ///
    /// Swift's `==` considers canonically equivalent strings equal: "K" equals U+212A KELVIN SIGN.
    /// It normalizes both strings, in quadratic time for a run of combining characters. JOSE
    /// compares code points without normalization
    /// ([RFC 7519 §7.3](https://www.rfc-editor.org/rfc/rfc7519#section-7.3)), and an issuer that is
    /// merely equivalent is a different issuer.
    package func isExactly(_ other: String) -> Bool {
        utf8.count == other.utf8.count && utf8.span.isEqual(to: other.utf8.span)
    }

    /// Returns a Boolean value that indicates whether two strings are equal except for the case of
    /// ASCII letters.
    package func isExactlyIgnoringASCIICase(_ other: String) -> Bool {
        utf8.count == other.utf8.count
            && zip(utf8, other.utf8).allSatisfy { left, right in left.lowercased == right.lowercased }
    }
}
