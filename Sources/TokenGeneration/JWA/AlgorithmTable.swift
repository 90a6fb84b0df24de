internal import OpenSSLCrypto

/// What an algorithm needs of a key and makes of a message.
///
/// One row per algorithm; nothing else in the module enumerates them.
struct AlgorithmDescription: Sendable {
    /// How the signature is made.
    enum Scheme: Sendable {
        case hmac(HashFunction)
        case ecdsa(HashFunction)
        case rsa(RSASignaturePadding, HashFunction)
        case edwards
    }

    let algorithm: JWSAlgorithm
    let keyType: KeyType
    /// The values of `crv` that the key can have; none if its type has no curve.
    let curves: [String]
    let scheme: Scheme
    /// The fewest bits that the key, in the sense of its type, may have.
    let minimumKeySize: Int
    /// The length of every signature in octets, if it does not depend on the key.
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

    /// The salt of PSS is as long as the hash ([RFC 7518 §3.5](https://www.rfc-editor.org/rfc/rfc7518#section-3.5)).
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

    /// The rows, in the order in which they are listed to people.
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
    ]

    /// Whether the name alone says what is done; `EdDSA` does not, and is deprecated for that
    /// ([RFC 9864 §4.4](https://www.rfc-editor.org/rfc/rfc9864#section-4.4)).
    var isFullySpecified: Bool { curves.count <= 1 }

    /// Hashes octets with the function that the algorithm's signatures are made with.
    ///
    /// - Parameters:
    ///   - bytes: The octets.
    ///   - curve: The key's curve, if it is an Edwards curve: the name `EdDSA` does not tell.
    /// - Returns: The hash, or `nil` if the curve is needed and not given.
    /// - Throws: ``CryptoError`` if OpenSSL does not offer the function.
    func hash(_ bytes: RawSpan, on curve: EdwardsCurve?) throws(CryptoError) -> [UInt8]? {
        switch scheme {
        case .hmac(let hash), .ecdsa(let hash), .rsa(_, let hash): try hash.hash(bytes)
        case .edwards: try curve?.hash(bytes)
        }
    }

    /// Whether a key of a type, on a curve, can be for the algorithm.
    func fits(_ keyType: KeyType, curve: String?) -> Bool {
        guard self.keyType == keyType else { return false }
        return curves.isEmpty ? curve == nil : curves.contains { curve?.isExactly($0) ?? false }
    }
}

extension JWSAlgorithm {
    /// The algorithms that the package's own keys and services implement.
    public static var implemented: [JWSAlgorithm] { AlgorithmDescription.table.map(\.algorithm) }

    /// Whether signing and verifying use the same secret, so that whoever can verify can sign.
    ///
    /// `false` for a name that the package does not know.
    public var isSymmetric: Bool { details?.keyType == .oct }

    /// What the algorithm needs, or `nil` if the package does not implement it.
    var details: AlgorithmDescription? {
        AlgorithmDescription.table.first { $0.algorithm == self }
    }

    /// What the algorithm needs.
    ///
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm`.
    func supportedDetails() throws(TokenError) -> AlgorithmDescription {
        guard let details else {
            let known = Self.implemented.map(\.rawValue).joined(separator: ", ")
            throw TokenError(
                .unsupportedAlgorithm,
                "\(TokenError.shown(rawValue)) is not supported; use one of: \(known), or a signing service of your own"
            )
        }
        return details
    }
}
