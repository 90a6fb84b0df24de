/// The public key of an ML-DSA key pair, validated on creation.
package struct MLDSAPublicKey: Sendable {
    /// The parameter set.
    package let parameters: MLDSAParameters
    /// The encoded key, with the parameter set's size.
    package let octets: [UInt8]

    private let verification: EVPMessageOperation

    /// Creates a key from its bytes, which a JWK contains.
    ///
    /// - Parameters:
    ///   - parameters: The parameter set.
    ///   - octets: The encoded key.
    /// - Throws: ``CryptoError/Code/malformedKey`` for another size,
    ///   ``CryptoError/Code/unsupportedAlgorithm`` if OpenSSL is older than 3.5.
    package init(parameters: MLDSAParameters, octets: [UInt8]) throws(CryptoError) {
        try parameters.check(publicKey: octets)
        try parameters.checkAvailability()
        self.parameters = parameters
        self.octets = octets
        verification = try EVPMessageOperation(.verification, with: EVPKey.make(parameters, point: octets))
    }

    /// Verifies a signature with an empty context.
    ///
    /// - Parameters:
    ///   - signature: The signature. Any size other than the parameter set's is invalid.
    ///   - message: The message.
    /// - Returns: `true` if the signature is valid for the message; `false` also if OpenSSL fails.
    package func isValidSignature(_ signature: RawSpan, for message: RawSpan) -> Bool {
        signature.byteCount == parameters.signatureSize && verification.verify(signature, of: message)
    }
}

extension MLDSAPublicKey: Equatable {
    /// Compares the parameter sets and bytes of two keys.
    package static func == (left: Self, right: Self) -> Bool {
        left.parameters == right.parameters && left.octets == right.octets
    }
}
