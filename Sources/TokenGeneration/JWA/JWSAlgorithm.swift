internal import OpenSSLCrypto

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

    init(tableName: String) {
        rawValue = tableName
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

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
    /// deprecates it, but many implementations support no other, so it's the default for keys that
    /// don't state a name. ``ed25519`` and ``ed448`` make the same signatures under names that
    /// determine the curve.
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

/// The table has one row per algorithm; no other code in the module enumerates them.
struct AlgorithmDescription: Sendable {
    enum Scheme: Sendable {
        case hmac(HashFunction)
        case ecdsa(EllipticCurve, HashFunction)
        /// The salt of PSS is as long as the hash ([RFC 7518
        /// §3.5](https://www.rfc-editor.org/rfc/rfc7518#section-3.5)).
        case rsa(RSASignaturePadding, HashFunction)
        case edwards(EdwardsCurve?)
        case mldsa(MLDSAParameters)
    }

    let algorithm: JWSAlgorithm
    let scheme: Scheme

    static let table: [AlgorithmDescription] = [
        Self(algorithm: .hs256, scheme: .hmac(.sha256)),
        Self(algorithm: .hs384, scheme: .hmac(.sha384)),
        Self(algorithm: .hs512, scheme: .hmac(.sha512)),
        Self(algorithm: .rs256, scheme: .rsa(.pkcs1v15, .sha256)),
        Self(algorithm: .rs384, scheme: .rsa(.pkcs1v15, .sha384)),
        Self(algorithm: .rs512, scheme: .rsa(.pkcs1v15, .sha512)),
        Self(algorithm: .ps256, scheme: .rsa(.pss, .sha256)),
        Self(algorithm: .ps384, scheme: .rsa(.pss, .sha384)),
        Self(algorithm: .ps512, scheme: .rsa(.pss, .sha512)),
        Self(algorithm: .es256, scheme: .ecdsa(.p256, .sha256)),
        Self(algorithm: .es384, scheme: .ecdsa(.p384, .sha384)),
        Self(algorithm: .es512, scheme: .ecdsa(.p521, .sha512)),
        Self(algorithm: .es256k, scheme: .ecdsa(.secp256k1, .sha256)),
        Self(algorithm: .ed25519, scheme: .edwards(.ed25519)),
        Self(algorithm: .ed448, scheme: .edwards(.ed448)),
        Self(algorithm: .edDSA, scheme: .edwards(nil)),
        Self(algorithm: .mldsa44, scheme: .mldsa(.mldsa44)),
        Self(algorithm: .mldsa65, scheme: .mldsa(.mldsa65)),
        Self(algorithm: .mldsa87, scheme: .mldsa(.mldsa87)),
    ]

    var keyType: KeyType {
        switch scheme {
        case .hmac: .oct
        case .ecdsa: .ec
        case .rsa: .rsa
        case .edwards: .okp
        case .mldsa: .akp
        }
    }

    /// The allowed values of a key's `crv`, or of `alg` for the type `AKP`.
    private var curves: [String] {
        switch scheme {
        case .hmac, .rsa: []
        case .ecdsa(let curve, _): [curve.name]
        case .edwards(let curve?): [curve.name]
        case .edwards(nil): EdwardsCurve.all.map(\.name)
        case .mldsa(let parameters): [parameters.name]
        }
    }

    /// In bytes, that of the hash; 0 for key pairs.
    var minimumSecretSize: Int {
        if case .hmac(let hash) = scheme { hash.digestSize } else { 0 }
    }

    var signatureSize: Int? {
        switch scheme {
        case .hmac(let hash): hash.digestSize
        case .ecdsa(let curve, _): 2 * curve.coordinateSize
        case .rsa: nil
        case .edwards(let curve): curve?.signatureSize
        case .mldsa(let parameters): parameters.signatureSize
        }
    }

    /// `false` for `EdDSA`, which is deprecated for that reason ([RFC 9864
    /// §4.4](https://www.rfc-editor.org/rfc/rfc9864#section-4.4)).
    var isFullySpecified: Bool { curves.count <= 1 }

    var isAvailable: Bool {
        guard case .mldsa(let parameters) = scheme else { return true }
        return parameters.isAvailable
    }

    /// Returns `nil` if the curve is needed but missing: `EdDSA` doesn't determine it.
    func hash(_ bytes: RawSpan, on curve: EdwardsCurve?) throws(CryptoError) -> [UInt8]? {
        switch scheme {
        case .hmac(let hash), .ecdsa(_, let hash), .rsa(_, let hash): try hash.hash(bytes)
        case .edwards: try curve?.hash(bytes)
        // OpenID Connect doesn't define the hash yet.
        case .mldsa: nil
        }
    }

    func fits(_ keyType: KeyType, curve: String?) -> Bool {
        guard self.keyType == keyType else { return false }
        return curves.isEmpty ? curve == nil : curves.contains { curve?.isExactly($0) ?? false }
    }
}

extension JWSAlgorithm {
    /// The algorithms that the package implements with the OpenSSL of this process.
    ///
    /// ML-DSA requires OpenSSL 3.5 or later.
    public static let implemented = AlgorithmDescription.table.filter(\.isAvailable).map(\.algorithm)

    /// Includes those that the OpenSSL of this process lacks.
    package static let known = AlgorithmDescription.table.map(\.algorithm)

    /// A Boolean value that indicates whether signing and verifying use the same secret, so that
    /// every verifier can also sign.
    ///
    /// It's `false` for a name that the package doesn't know.
    public var isSymmetric: Bool { details?.keyType == .oct }

    var details: AlgorithmDescription? {
        AlgorithmDescription.table.first { $0.algorithm == self }
    }

    func supportedDetails() throws(TokenError) -> AlgorithmDescription {
        guard let details else {
            let known = Self.implemented.map(\.rawValue).joined(separator: ", ")
            throw TokenError(
                .unsupportedAlgorithm,
                "\(TokenError.shown(rawValue)) isn't supported; use one of: \(known), or a custom signing service"
            )
        }
        return details
    }
}

/// A hash algorithm of an SD-JWT or a thumbprint, identified by its name in the IANA registry of
/// named information ([RFC 9901 §4.1.1](https://www.rfc-editor.org/rfc/rfc9901#section-4.1.1),
/// [RFC 9278 §5](https://www.rfc-editor.org/rfc/rfc9278#section-5)).
///
/// Other algorithms of the registry are truncated, and aren't supported.
public struct NamedHash: RegisteredName {
    /// The name.
    public let rawValue: String

    private let function: HashFunction

    /// SHA-256, the usual choice and the default of SD-JWTs.
    public static let sha256 = NamedHash(rawValue: "sha-256", function: .sha256)
    /// SHA-384.
    public static let sha384 = NamedHash(rawValue: "sha-384", function: .sha384)
    /// SHA-512.
    public static let sha512 = NamedHash(rawValue: "sha-512", function: .sha512)

    static let implemented: [NamedHash] = [.sha256, .sha384, .sha512]

    func digest(
        of bytes: [UInt8],
        failure: TokenError.Code = .unsupportedAlgorithm
    ) throws(TokenError) -> String {
        do throws(CryptoError) {
            return Base64URL.encode(try function.hash(bytes.span.octets))
        } catch {
            throw TokenError(failure, "can't compute the hash: \(error.message)", cause: error)
        }
    }
}
