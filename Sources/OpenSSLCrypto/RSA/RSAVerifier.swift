/// An RSA public key with a padding and a hash function, ready to verify.
package struct RSAVerifier: Sendable {
    private let hash: HashFunction
    private let signatureSize: Int
    private let verification: EVPKeyOperation

    init(
        _ key: EVPKey,
        _ padding: RSASignaturePadding,
        _ hash: HashFunction,
        signatureSize: Int
    ) throws(CryptoError) {
        guard hash.isCollisionResistant else {
            throw CryptoError(.invalidArgument, "Can't verify with \(hash.openSSLName); use SHA-256 or longer")
        }
        self.hash = hash
        self.signatureSize = signatureSize
        verification = try EVPKeyOperation(.verification, .rsa(padding, hash), with: key)
    }

    /// Returns whether a signature is valid for a message; `false` also if OpenSSL fails.
    ///
    /// The signature must be as long as the modulus; OpenSSL itself accepts a PSS signature without
    /// its leading zero.
    package func isValidSignature(_ signature: RawSpan, for message: RawSpan) -> Bool {
        guard signature.byteCount == signatureSize, let digest = try? hash.hash(message) else { return false }
        return digest.withBytes { verification.verify(signature, of: $0) }
    }
}
