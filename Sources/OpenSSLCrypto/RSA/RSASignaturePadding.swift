/// The padding that extends a hash to the size of an RSA modulus for signing.
package enum RSASignaturePadding: Sendable, Hashable {
    /// RSASSA-PKCS1-v1_5 ([RFC 8017 §8.2](https://www.rfc-editor.org/rfc/rfc8017#section-8.2)).
    case pkcs1v15
    /// RSASSA-PSS ([RFC 8017 §8.1](https://www.rfc-editor.org/rfc/rfc8017#section-8.1)) with MGF1,
    /// using the same hash and a salt with the size of the hash, for signing and verifying.
    case pss
}
