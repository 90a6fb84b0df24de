/// A signature algorithm, identified by its name in a header's `alg`.
///
/// The package's keys and services implement the algorithms that have a static member here. A
/// custom ``SigningService`` can use any other name, except `none`.
public struct JWSAlgorithm: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name, as in [RFC 7518 §3.1](https://www.rfc-editor.org/rfc/rfc7518#section-3.1) or the
    /// IANA registry.
    public let rawValue: String

    /// Creates an algorithm from its name.
    ///
    /// - Parameter rawValue: The case-sensitive name: 1 to 64 printable ASCII characters other than
    ///   space, quotation mark and backslash. The result is `nil` for `none`, in any case, because
    ///   an unsigned token isn't a signed one.
    public init?(rawValue: String) {
        guard (1...64).contains(rawValue.utf8.count), rawValue.utf8.allSatisfy(Self.isAllowed),
            !rawValue.isExactlyIgnoringASCIICase("none")
        else { return nil }
        self.rawValue = rawValue
    }

    /// The name.
    public var description: String { rawValue }

    /// Creates an algorithm of the table.
    init(tableName: String) {
        rawValue = tableName
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
}

extension JWSAlgorithm {
    /// HMAC with SHA-256 ([RFC 7518 §3.2](https://www.rfc-editor.org/rfc/rfc7518#section-3.2)).
    public static let hs256 = JWSAlgorithm(tableName: "HS256")
    /// HMAC with SHA-384.
    public static let hs384 = JWSAlgorithm(tableName: "HS384")
    /// HMAC with SHA-512.
    public static let hs512 = JWSAlgorithm(tableName: "HS512")
    /// RSASSA-PKCS1-v1_5 with SHA-256
    /// ([RFC 7518 §3.3](https://www.rfc-editor.org/rfc/rfc7518#section-3.3)).
    public static let rs256 = JWSAlgorithm(tableName: "RS256")
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    public static let rs384 = JWSAlgorithm(tableName: "RS384")
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    public static let rs512 = JWSAlgorithm(tableName: "RS512")
    /// RSASSA-PSS with SHA-256
    /// ([RFC 7518 §3.5](https://www.rfc-editor.org/rfc/rfc7518#section-3.5)).
    public static let ps256 = JWSAlgorithm(tableName: "PS256")
    /// RSASSA-PSS with SHA-384.
    public static let ps384 = JWSAlgorithm(tableName: "PS384")
    /// RSASSA-PSS with SHA-512.
    public static let ps512 = JWSAlgorithm(tableName: "PS512")
    /// ECDSA on P-256 with SHA-256
    /// ([RFC 7518 §3.4](https://www.rfc-editor.org/rfc/rfc7518#section-3.4)).
    public static let es256 = JWSAlgorithm(tableName: "ES256")
    /// ECDSA on P-384 with SHA-384.
    public static let es384 = JWSAlgorithm(tableName: "ES384")
    /// ECDSA on P-521 with SHA-512.
    public static let es512 = JWSAlgorithm(tableName: "ES512")
    /// ECDSA on secp256k1 with SHA-256
    /// ([RFC 8812 §3.2](https://www.rfc-editor.org/rfc/rfc8812#section-3.2)).
    public static let es256k = JWSAlgorithm(tableName: "ES256K")
    /// EdDSA on the curve Ed25519
    /// ([RFC 9864 §2.2](https://www.rfc-editor.org/rfc/rfc9864#section-2.2)).
    public static let ed25519 = JWSAlgorithm(tableName: "Ed25519")
    /// EdDSA on the curve Ed448.
    public static let ed448 = JWSAlgorithm(tableName: "Ed448")
    /// EdDSA on the curve of the key
    /// ([RFC 8037 §3.1](https://www.rfc-editor.org/rfc/rfc8037#section-3.1)).
    ///
    /// The name doesn't determine the curve, so [RFC 9864](https://www.rfc-editor.org/rfc/rfc9864)
    /// deprecates it, but many implementations support no other. ``ed25519`` and ``ed448`` make the
    /// same signatures under names that determine the curve.
    public static let edDSA = JWSAlgorithm(tableName: "EdDSA")
    /// ML-DSA-44, with signatures of 2420 bytes
    /// ([RFC 9964](https://www.rfc-editor.org/rfc/rfc9964)).
    ///
    /// It requires OpenSSL 3.5 or later at run time, as ``mldsa65`` and ``mldsa87`` do. With an
    /// earlier one, keys for it are refused with the code `unsupportedAlgorithm`.
    public static let mldsa44 = JWSAlgorithm(tableName: "ML-DSA-44")
    /// ML-DSA-65, with signatures of 3309 bytes.
    public static let mldsa65 = JWSAlgorithm(tableName: "ML-DSA-65")
    /// ML-DSA-87, with signatures of 4627 bytes.
    public static let mldsa87 = JWSAlgorithm(tableName: "ML-DSA-87")
}
