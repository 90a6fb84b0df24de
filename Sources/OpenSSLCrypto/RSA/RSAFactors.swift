/// The CRT parameters of an RSA private key, named as in
/// [RFC 7518 §6.3.2](https://www.rfc-editor.org/rfc/rfc7518#section-6.3.2); big-endian.
///
/// They make signing at least four times as fast.
package struct RSAFactors: Sendable {
    /// The first prime.
    package let p: SecretBytes
    /// The second prime.
    package let q: SecretBytes
    /// The private exponent modulo `p - 1`.
    package let dp: SecretBytes
    /// The private exponent modulo `q - 1`.
    package let dq: SecretBytes
    /// The inverse of `q` modulo `p`.
    package let qi: SecretBytes

    /// Creates a value without checking the numbers; creating a key checks them.
    package init(p: SecretBytes, q: SecretBytes, dp: SecretBytes, dq: SecretBytes, qi: SecretBytes) {
        self.p = p
        self.q = q
        self.dp = dp
        self.dq = dq
        self.qi = qi
    }
}
