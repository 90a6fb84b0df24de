/// An ML-DSA key pair, validated on creation.
package struct MLDSAPrivateKey: Sendable {
    /// The parameter set.
    package let parameters: MLDSAParameters
    /// The public key.
    package let publicKey: MLDSAPublicKey

    /// The seed, or `nil` for a key that was read in its expanded form only.
    private let knownSeed: SecretBytes?
    private let signing: EVPMessageOperation

    /// Generates a key pair.
    ///
    /// - Parameter parameters: The parameter set.
    /// - Returns: The key pair.
    /// - Throws: ``CryptoError/Code/unsupportedAlgorithm`` if OpenSSL is older than 3.5,
    ///   ``CryptoError/Code/randomUnavailable``, ``CryptoError/Code/openSSL``.
    package static func generate(_ parameters: MLDSAParameters) throws(CryptoError) -> MLDSAPrivateKey {
        try parameters.checkAvailability()
        return try MLDSAPrivateKey(
            parameters: parameters,
            seed: SecureRandom.secret(count: MLDSAParameters.seedSize)
        )
    }

    /// Creates a key pair from its seed, which a JWK contains.
    ///
    /// - Parameters:
    ///   - parameters: The parameter set.
    ///   - seed: The seed, 32 bytes.
    ///   - expected: The public key bytes that the seed must match. The default is `nil`, for no
    ///     check.
    /// - Throws: ``CryptoError/Code/malformedKey`` for another size,
    ///   ``CryptoError/Code/keyMismatch`` if the public key bytes don't match the seed,
    ///   ``CryptoError/Code/unsupportedAlgorithm`` if OpenSSL is older than 3.5.
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

    /// Returns the seed.
    ///
    /// - Returns: The seed, 32 bytes.
    /// - Throws: ``CryptoError/Code/wrongKeyType`` if the key was read in its expanded form only,
    ///   from which the seed can't be computed.
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

    /// Signs a message with an empty context.
    ///
    /// - Parameter message: The message.
    /// - Returns: The signature. Each call returns another one, because signing is hedged.
    /// - Throws: ``CryptoError/Code/openSSL`` if OpenSSL fails.
    package func signature(for message: RawSpan) throws(CryptoError) -> [UInt8] {
        try signing.sign(message)
    }
}
