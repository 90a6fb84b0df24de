public import TokenGeneration

/// The key that access tokens are bound to ([RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)).
///
/// ```swift
/// let authenticator = OAuth2Authenticator(
///     client: OAuth2Client(
///         server: server,
///         clientAuthentication: authentication,
///         dpop: .generated()
///     ),
///     grant: grant,
///     resources: [api]
/// )
/// ```
public struct DPoPKey: Sendable {
    enum Kind: Sendable {
        case generated(JWSAlgorithm)
        case fixed(DPoPProofGenerator)
    }

    let kind: Kind
    /// A Boolean value that indicates whether bearer tokens are accepted if the server lacks DPoP.
    ///
    /// The default is false.
    public var insecurelyAcceptsBearerTokens = false

    /// A new key for each grant, stored with the tokens that are bound to it.
    ///
    /// - Parameter algorithm: The asymmetric algorithm that the key is for. The default is ES256.
    /// - Returns: The key.
    public static func generated(_ algorithm: JWSAlgorithm = .es256) -> Self { Self(kind: .generated(algorithm)) }

    /// An existing key.
    ///
    /// - Parameter key: The key, which must be for an asymmetric algorithm.
    /// - Returns: The key.
    /// - Throws: `TokenError` with the code `unsupportedAlgorithm` if the key is a shared secret.
    public static func key(_ key: SigningKey) throws -> Self {
        Self(kind: .fixed(try DPoPProofGenerator(key: key)))
    }

    /// The key of a proof generator, such as one in a key management service.
    ///
    /// - Parameter generator: The generator that creates the proofs.
    /// - Returns: The key.
    public static func generator(_ generator: DPoPProofGenerator) -> Self { Self(kind: .fixed(generator)) }

    /// Returns the fixed key, the stored record's key, or a new key.
    func bound(to record: TokenRecord?) throws(OAuth2Error) -> BoundKey {
        do {
            switch kind {
            case .fixed(let generator):
                return BoundKey(generator: generator)
            case .generated(let algorithm):
                if let pem = record?.proofKey {
                    let key = try pem.expose { try SigningKey(pem: $0) }
                    return BoundKey(generator: try DPoPProofGenerator(key: key), pem: pem)
                }
                let key = try SigningKey.generate(algorithm)
                return BoundKey(generator: try DPoPProofGenerator(key: key), pem: Secret(try key.pem()))
            }
        } catch {
            throw OAuth2Error(.assertionFailed, "the key for DPoP proofs can't be generated or read", cause: error)
        }
    }
}

/// A key that signs proofs, with the PEM text for the store if the key was generated.
struct BoundKey: Sendable {
    let generator: DPoPProofGenerator
    var pem: Secret?
}
