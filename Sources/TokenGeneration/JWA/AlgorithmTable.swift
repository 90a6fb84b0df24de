internal import OpenSSLCrypto

/// The requirements of an algorithm for its keys, and its signature scheme.
///
/// The table has one row per algorithm. No other code in the module enumerates them.
struct AlgorithmDescription: Sendable {
    /// The signature scheme of an algorithm.
    enum Scheme: Sendable {
        case hmac(HashFunction)
        case ecdsa(HashFunction)
        case rsa(RSASignaturePadding, HashFunction)
        case edwards
        case mldsa(MLDSAParameters)
    }

    let algorithm: JWSAlgorithm
    let keyType: KeyType
    /// The allowed values of a key's `crv`, or of `alg` for the type `AKP`, or an empty array if
    /// the key type has no curve.
    let curves: [String]
    let scheme: Scheme
    /// The minimum key size in bits, as defined for the key type.
    let minimumKeySize: Int
    /// The length of every signature in bytes, or `nil` if it depends on the key.
    let signatureSize: Int?

    private static func hmac(_ algorithm: JWSAlgorithm, _ hash: HashFunction) -> Self {
        Self(
            algorithm: algorithm,
            keyType: .oct,
            curves: [],
            scheme: .hmac(hash),
            minimumKeySize: hash.digestSize * 8,
            signatureSize: hash.digestSize
        )
    }

    private static func ecdsa(_ algorithm: JWSAlgorithm, _ curve: EllipticCurve, _ hash: HashFunction) -> Self {
        Self(
            algorithm: algorithm,
            keyType: .ec,
            curves: [curve.name],
            scheme: .ecdsa(hash),
            minimumKeySize: 256,
            signatureSize: 2 * curve.coordinateSize
        )
    }

    /// Creates a row for RSA; the salt of PSS is as long as the hash
    /// ([RFC 7518 §3.5](https://www.rfc-editor.org/rfc/rfc7518#section-3.5)).
    private static func rsa(_ algorithm: JWSAlgorithm, _ padding: RSASignaturePadding, _ hash: HashFunction) -> Self {
        Self(
            algorithm: algorithm,
            keyType: .rsa,
            curves: [],
            scheme: .rsa(padding, hash),
            minimumKeySize: 2048,
            signatureSize: nil
        )
    }

    private static func edwards(_ algorithm: JWSAlgorithm, _ curves: EdwardsCurve...) -> Self {
        Self(
            algorithm: algorithm,
            keyType: .okp,
            curves: curves.map(\.name),
            scheme: .edwards,
            minimumKeySize: 256,
            signatureSize: curves.count == 1 ? curves[0].signatureSize : nil
        )
    }

    private static func mldsa(_ algorithm: JWSAlgorithm, _ parameters: MLDSAParameters) -> Self {
        Self(
            algorithm: algorithm,
            keyType: .akp,
            curves: [parameters.name],
            scheme: .mldsa(parameters),
            minimumKeySize: parameters.keySize * 8,
            signatureSize: parameters.signatureSize
        )
    }

    /// The rows, in display order.
    static let table: [AlgorithmDescription] = [
        .hmac(.hs256, .sha256),
        .hmac(.hs384, .sha384),
        .hmac(.hs512, .sha512),
        .rsa(.rs256, .pkcs1v15, .sha256),
        .rsa(.rs384, .pkcs1v15, .sha384),
        .rsa(.rs512, .pkcs1v15, .sha512),
        .rsa(.ps256, .pss, .sha256),
        .rsa(.ps384, .pss, .sha384),
        .rsa(.ps512, .pss, .sha512),
        .ecdsa(.es256, .p256, .sha256),
        .ecdsa(.es384, .p384, .sha384),
        .ecdsa(.es512, .p521, .sha512),
        .ecdsa(.es256k, .secp256k1, .sha256),
        .edwards(.ed25519, .ed25519),
        .edwards(.ed448, .ed448),
        .edwards(.edDSA, .ed25519, .ed448),
        .mldsa(.mldsa44, .mldsa44),
        .mldsa(.mldsa65, .mldsa65),
        .mldsa(.mldsa87, .mldsa87),
    ]

    /// A Boolean value that indicates whether the name alone determines the operation.
    ///
    /// It's `false` for `EdDSA`, which is deprecated for that reason
    /// ([RFC 9864 §4.4](https://www.rfc-editor.org/rfc/rfc9864#section-4.4)).
    var isFullySpecified: Bool { curves.count <= 1 }

    /// A Boolean value that indicates whether the OpenSSL of this process offers the algorithm.
    var isAvailable: Bool {
        guard case .mldsa(let parameters) = scheme else { return true }
        return parameters.isAvailable
    }

    /// Hashes bytes with the hash function of the algorithm's signatures.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - curve: The key's curve, if it's an Edwards curve. The name `EdDSA` doesn't determine it.
    /// - Returns: The hash, or `nil` if the curve is needed but missing.
    /// - Throws: ``CryptoError`` if OpenSSL doesn't support the hash function.
    func hash(_ bytes: RawSpan, on curve: EdwardsCurve?) throws(CryptoError) -> [UInt8]? {
        switch scheme {
        case .hmac(let hash), .ecdsa(let hash), .rsa(_, let hash): try hash.hash(bytes)
        case .edwards: try curve?.hash(bytes)
        // OpenID Connect doesn't define the hash yet.
        case .mldsa: nil
        }
    }

    /// Returns a Boolean value that indicates whether the algorithm supports a key type and curve.
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

    /// All algorithms of the package, including those that the OpenSSL of this process lacks.
    package static let known = AlgorithmDescription.table.map(\.algorithm)

    /// A Boolean value that indicates whether signing and verifying use the same secret, so that
    /// every verifier can also sign.
    ///
    /// It's `false` for a name that the package doesn't know.
    public var isSymmetric: Bool { details?.keyType == .oct }

    /// The description of the algorithm, or `nil` if the package doesn't implement it.
    var details: AlgorithmDescription? {
        AlgorithmDescription.table.first { $0.algorithm == self }
    }

    /// Returns the description of the algorithm.
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
