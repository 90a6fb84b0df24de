/// The format of a public key in PEM or DER.
public struct PublicKeyFormat: Sendable {
    let isTraditional: Bool

    /// SubjectPublicKeyInfo ([RFC 5280 §4.1](https://www.rfc-editor.org/rfc/rfc5280#section-4.1)),
    /// `BEGIN PUBLIC KEY`.
    public static var spki: Self { Self(isTraditional: false) }

    /// PKCS#1, `BEGIN RSA PUBLIC KEY`, for RSA keys only.
    public static var traditional: Self { Self(isTraditional: true) }
}
