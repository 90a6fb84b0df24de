public import TokenGeneration

/// The key that access tokens are bound to ([RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)).
///
/// ```swift
/// let authenticator = OAuth2Authenticator(
///     server: server, clientAuthentication: authentication, grant: grant, resources: [api], dpop: .generated()
/// )
/// ```
public struct DPoPKey: Sendable {
    enum Kind: Sendable {
        case generated(JWSAlgorithm)
        case fixed(DPoPProofGenerator)
    }

    let kind: Kind
    /// Whether a token that is not bound to the key is used, too, from a server that does not know DPoP; no by default.
    public var insecurelyAcceptsBearerTokens = false

    /// A new key for each grant, kept in the store together with the tokens that are bound to it.
    ///
    /// - Parameter algorithm: What the key is for; an asymmetric algorithm.
    /// - Returns: That key.
    public static func generated(_ algorithm: JWSAlgorithm = .es256) -> Self { Self(kind: .generated(algorithm)) }

    /// A key of yours.
    ///
    /// - Parameter key: The key; for an asymmetric algorithm.
    /// - Returns: That key.
    /// - Throws: `TokenError` with the code `unsupportedAlgorithm` if the key is a shared secret.
    public static func key(_ key: SigningKey) throws -> Self {
        Self(kind: .fixed(try DPoPProofGenerator(key: key)))
    }

    /// A key that a generator of yours has, such as one in a key management service.
    ///
    /// - Parameter generator: What makes the proofs.
    /// - Returns: That key.
    public static func generator(_ generator: DPoPProofGenerator) -> Self { Self(kind: .fixed(generator)) }

    /// The key to go on with: yours, the record's, or a new one.
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
            throw OAuth2Error(.assertionFailed, "there is no key for DPoP proofs", cause: error)
        }
    }
}

/// A key that makes proofs, and the text of it that is kept with the tokens, if it was made for them.
struct BoundKey: Sendable {
    let generator: DPoPProofGenerator
    var pem: Secret?
}
