public import TokenGeneration

extension JWSAlgorithm {
    /// The registered names of algorithms
    /// ([RFC 9421 §3.3](https://www.rfc-editor.org/rfc/rfc9421#section-3.3)).
    ///
    /// The salt of `rsa-pss-sha512` has 64 bytes, the size of the hash, as in PS512. ECDSA
    /// signatures are `r ‖ s`, as in JWS.
    private static let registered: [(name: String, algorithm: JWSAlgorithm)] = [
        ("rsa-pss-sha512", .ps512), ("rsa-v1_5-sha256", .rs256), ("hmac-sha256", .hs256),
        ("ecdsa-p256-sha256", .es256), ("ecdsa-p384-sha384", .es384), ("ed25519", .ed25519),
    ]

    /// The name in the parameter `alg` of an HTTP message signature, or `nil` for an algorithm that
    /// isn't registered ([§6.2](https://www.rfc-editor.org/rfc/rfc9421#section-6.2)).
    ///
    /// A signature with such an algorithm has no `alg`
    /// ([§3.3.7](https://www.rfc-editor.org/rfc/rfc9421#section-3.3.7)). `edDSA` is registered
    /// for keys on Ed25519 only, so use `ed25519` for them.
    public var httpSignatureName: String? { Self.registered.first { $0.algorithm == self }?.name }

    /// Creates an algorithm from its name in `alg` of an HTTP message signature.
    ///
    /// - Parameter httpSignatureName: A registered name. The result is `nil` for another one, even
    ///   the name of a JWS algorithm.
    public init?(httpSignatureName: String) {
        guard let known = Self.registered.first(where: { $0.name.utf8.elementsEqual(httpSignatureName.utf8) }) else {
            return nil
        }
        self = known.algorithm
    }
}

extension VerificationKey {
    /// The registered name of the key's algorithm.
    ///
    /// A key for `EdDSA` on Ed25519 makes the same signatures as one for `Ed25519`.
    package var httpSignatureName: String? {
        algorithm == .edDSA && jwk.curve == "Ed25519" ? "ed25519" : algorithm.httpSignatureName
    }
}
