/// The public key of an ML-DSA key pair, validated on creation.
package struct MLDSAPublicKey: Sendable {
    /// The parameter set.
    package let parameters: MLDSAParameters
    /// The encoded key, with the parameter set's size.
    package let octets: [UInt8]

    private let verification: EVPMessageOperation

    /// Creates a key from its bytes, which a JWK contains.
    ///
    /// It throws `malformedKey` for another size, and `unsupportedAlgorithm` if OpenSSL is older
    /// than 3.5.
    package init(parameters: MLDSAParameters, octets: [UInt8]) throws(CryptoError) {
        try parameters.check(publicKey: octets)
        try parameters.checkAvailability()
        self.parameters = parameters
        self.octets = octets
        verification = try EVPMessageOperation(.verification, with: EVPKey.make(parameters, point: octets))
    }

    /// Returns whether a signature with an empty context is valid for a message; `false` also for a
    /// signature of another size than the parameter set's, or if OpenSSL fails.
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
