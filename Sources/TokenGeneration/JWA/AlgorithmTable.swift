internal import OpenSSLCrypto

/// The requirements of an algorithm for its keys, and its signature scheme.
///
/// The table has one row per algorithm. No other code in the module enumerates them.
struct AlgorithmDescription: Sendable {
    /// The signature scheme of an algorithm.
    enum Scheme: Sendable {
        case hmac(HashFunction)
        case ecdsa(EllipticCurve, HashFunction)
        /// RSA; the salt of PSS is as long as the hash
        /// ([RFC 7518 §3.5](https://www.rfc-editor.org/rfc/rfc7518#section-3.5)).
        case rsa(RSASignaturePadding, HashFunction)
        /// EdDSA on a curve, or on that of the key.
        case edwards(EdwardsCurve?)
        case mldsa(MLDSAParameters)
    }

    let algorithm: JWSAlgorithm
    let scheme: Scheme

    /// The rows, in display order.
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

    /// The allowed values of a key's `crv`, or of `alg` for the type `AKP`, or an empty array if
    /// the key type has no curve.
    private var curves: [String] {
        switch scheme {
        case .hmac, .rsa: []
        case .ecdsa(let curve, _): [curve.name]
        case .edwards(let curve?): [curve.name]
        case .edwards(nil): EdwardsCurve.all.map(\.name)
        case .mldsa(let parameters): [parameters.name]
        }
    }

    /// The minimum size of a secret in bytes, that of the hash; 0 for key pairs.
    var minimumSecretSize: Int {
        if case .hmac(let hash) = scheme { hash.digestSize } else { 0 }
    }

    /// The length of every signature in bytes, or `nil` if it depends on the key.
    var signatureSize: Int? {
        switch scheme {
        case .hmac(let hash): hash.digestSize
        case .ecdsa(let curve, _): 2 * curve.coordinateSize
        case .rsa: nil
        case .edwards(let curve): curve?.signatureSize
        case .mldsa(let parameters): parameters.signatureSize
        }
    }

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
    /// The result is `nil` if the curve is needed but missing. `EdDSA` doesn't determine it.
    ///
    /// - Throws: ``CryptoError`` if OpenSSL doesn't support the hash function.
    func hash(_ bytes: RawSpan, on curve: EdwardsCurve?) throws(CryptoError) -> [UInt8]? {
        switch scheme {
        case .hmac(let hash), .ecdsa(_, let hash), .rsa(_, let hash): try hash.hash(bytes)
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
