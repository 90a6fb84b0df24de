/// An RSA public key that is ready to verify in one way.
///
/// A value may be used from several threads at once.
package struct RSAVerifier: Sendable {
    /// The padding.
    package let padding: RSASignaturePadding
    /// How messages are hashed.
    package let hash: HashFunction
    /// The size of a signature in octets: that of the modulus.
    package let signatureSize: Int

    private let verification: EVPKeyOperation

    init(
        _ key: EVPKey,
        _ padding: RSASignaturePadding,
        _ hash: HashFunction,
        signatureSize: Int
    ) throws(CryptoError) {
        guard hash.isCollisionResistant else {
            throw CryptoError(.invalidArgument, "Nothing is verified with \(hash.openSSLName): use SHA-256 or longer")
        }
        self.padding = padding
        self.hash = hash
        self.signatureSize = signatureSize
        verification = try EVPKeyOperation(.verification, .rsa(padding, hash), with: key)
    }

    /// Checks a signature.
    ///
    /// - Parameters:
    ///   - signature: The signature. Only one of exactly ``signatureSize`` octets is valid: OpenSSL itself would take a
    ///     PSS signature whose leading zero was dropped.
    ///   - message: The message.
    /// - Returns: Whether the signature is the message's; `false` also if the library fails.
    package func isValidSignature(_ signature: RawSpan, for message: RawSpan) -> Bool {
        guard signature.byteCount == signatureSize, let digest = try? hash.hash(message) else { return false }
        return digest.withBytes { verification.verify(signature, of: $0) }
    }
}
