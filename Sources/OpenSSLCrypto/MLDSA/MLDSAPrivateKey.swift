/// An ML-DSA key pair, validated on creation.
package struct MLDSAPrivateKey: Sendable {
    /// The parameter set.
    package let parameters: MLDSAParameters
    /// The public key.
    package let publicKey: MLDSAPublicKey

    /// The seed, or `nil` for a key that was read in its expanded form only.
    private let knownSeed: SecretBytes?
    private let signing: EVPMessageOperation

    /// Generates a key pair, or throws `unsupportedAlgorithm` if OpenSSL is older than 3.5.
    package static func generate(_ parameters: MLDSAParameters) throws(CryptoError) -> MLDSAPrivateKey {
        try parameters.checkAvailability()
        return try MLDSAPrivateKey(
            parameters: parameters,
            seed: SecureRandom.secret(count: MLDSAParameters.seedSize)
        )
    }

    /// Creates a key pair from its seed of 32 bytes, which a JWK contains.
    ///
    /// It throws `malformedKey` for another size, `keyMismatch` if the seed doesn't match the
    /// expected public key bytes, if any, and `unsupportedAlgorithm` if OpenSSL is older than 3.5.
    package init(
        parameters: MLDSAParameters,
        seed: SecretBytes,
        expecting expected: [UInt8]? = nil
    ) throws(CryptoError) {
        guard seed.count == MLDSAParameters.seedSize else {
            throw CryptoError(.malformedKey, "The seed has \(seed.count) bytes, but \(parameters.name) seeds have 32")
        }
        try parameters.checkAvailability()
        try self.init(parameters, key: EVPKey.make(parameters, generatingFrom: seed), seed, expected)
    }

    /// Creates a key pair from its expanded form
    /// ([RFC 9881 §6](https://www.rfc-editor.org/rfc/rfc9881#section-6)).
    init(
        parameters: MLDSAParameters,
        expanded: SecretBytes,
        expecting expected: [UInt8]? = nil
    ) throws(CryptoError) {
        guard expanded.count == parameters.expandedKeySize else {
            throw CryptoError(
                .malformedKey,
                "The expanded key has \(expanded.count) bytes, but those of \(parameters.name) have "
                    + "\(parameters.expandedKeySize)"
            )
        }
        try parameters.checkAvailability()
        try self.init(parameters, key: EVPKey.make(parameters, seed: expanded), nil, expected)
    }

    private init(
        _ parameters: MLDSAParameters,
        key: EVPKey,
        _ seed: SecretBytes?,
        _ expected: [UInt8]?
    ) throws(CryptoError) {
        self.parameters = parameters
        knownSeed = seed
        publicKey = try MLDSAPublicKey(parameters: parameters, octets: key.publicOctets(on: parameters))
        signing = try EVPMessageOperation(.signing, with: key)
        guard expected == nil || expected == publicKey.octets else { throw parameters.mismatch }
    }

    /// A Boolean value that indicates whether the seed is known.
    var hasSeed: Bool { knownSeed != nil }

    /// Returns the seed, 32 bytes.
    ///
    /// It throws `wrongKeyType` if the key was read in its expanded form only, from which the seed
    /// can't be computed.
    package func seed() throws(CryptoError) -> SecretBytes {
        guard let knownSeed else {
            throw CryptoError(
                .wrongKeyType,
                "The \(parameters.name) key has no seed, because its file contains only the expanded key; a JWK needs it"
            )
        }
        return knownSeed
    }

    /// Returns the expanded private key.
    func expanded() throws(CryptoError) -> SecretBytes {
        try signing.key.privateOctets(size: parameters.expandedKeySize)
    }

    /// Returns a signature of a message, with an empty context; each call returns another one,
    /// because signing is hedged.
    package func signature(for message: RawSpan) throws(CryptoError) -> [UInt8] {
        try signing.sign(message)
    }
}
