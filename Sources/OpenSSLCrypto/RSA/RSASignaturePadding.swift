/// How a hash is brought to the size of an RSA modulus before it is signed.
package enum RSASignaturePadding: Sendable, Hashable {
    /// RSASSA-PKCS1-v1_5 ([RFC 8017 §8.2](https://www.rfc-editor.org/rfc/rfc8017#section-8.2)).
    case pkcs1v15
    /// RSASSA-PSS ([RFC 8017 §8.1](https://www.rfc-editor.org/rfc/rfc8017#section-8.1)) with MGF1 on the same hash and
    /// a salt as long as the hash, in signing and in verifying.
    case pss
}
