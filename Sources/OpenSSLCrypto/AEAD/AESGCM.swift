/// Authenticated encryption with AES-256 in Galois/Counter Mode
/// ([NIST SP 800-38D](https://doi.org/10.6028/NIST.SP.800-38D)) and a random nonce per message.
///
/// Don't encrypt more than 2³² messages with one key. Beyond that, random nonces may repeat.
package struct AESGCM: Sendable {
    private static let cipher = AuthenticatedCipher.aes256GCM

    private let key: SecretBytes

    /// Creates a cipher with a key of 32 bytes; any other size is an `invalidArgument`.
    package init(key: SecretBytes) throws(CryptoError) {
        guard key.count == 32 else {
            throw CryptoError(.invalidArgument, "AES-256-GCM requires a key of 32 bytes, not \(key.count)")
        }
        self.key = key
    }

    /// Encrypts a message and returns the nonce, the ciphertext and the tag, concatenated.
    ///
    /// The context is authenticated, but the result doesn't contain it.
    package func seal(_ plaintext: [UInt8], authenticating context: [UInt8]) throws(CryptoError) -> [UInt8] {
        try seal(plaintext, authenticating: context, nonce: SecureRandom.bytes(count: Self.cipher.vectorSize))
    }

    /// Encrypts a message with a nonce that must be unique for the key.
    func seal(
        _ plaintext: [UInt8],
        authenticating context: [UInt8],
        nonce: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        let sealed = try plaintext.withBytes { plaintext throws(CryptoError) in
            try context.withBytes { context throws(CryptoError) in
                try Self.cipher.seal(plaintext, authenticating: context, key: key, vector: nonce)
            }
        }
        return sealed.vector + sealed.ciphertext + sealed.tag
    }

    /// Decrypts a result of ``seal(_:authenticating:)``, or returns `nil` if the ciphertext, the
    /// context or the key differs.
    package func open(_ sealed: [UInt8], authenticating context: [UInt8]) throws(CryptoError) -> [UInt8]? {
        let (vectorSize, tagSize) = (Self.cipher.vectorSize, Self.cipher.tagSize)
        guard sealed.count >= vectorSize + tagSize else { return nil }
        let parts = AuthenticatedCipher.Sealed(
            vector: Array(sealed.prefix(vectorSize)),
            ciphertext: Array(sealed.dropFirst(vectorSize).dropLast(tagSize)),
            tag: Array(sealed.suffix(tagSize))
        )
        return try context.withBytes { context throws(CryptoError) in
            try Self.cipher.open(parts, authenticating: context, key: key)
        }
    }
}
