internal import OpenSSLCrypto

extension JWEAlgorithm {
    /// Returns the size in bytes of the shared secret that the algorithm needs, or `nil` if its
    /// keys aren't shared secrets of a fixed size.
    package func secretSize(for encryption: JWEEncryption) -> Int? {
        switch details.scheme {
        case .direct: encryption.cipher.keySize
        case .keyWrap(let size): size
        case .gcmKeyWrap(let cipher): cipher.keySize
        case .agreement, .oaep, .password: nil
        }
    }

    /// A Boolean value that indicates whether the keys are passwords.
    package var usesPassword: Bool { details.usesPassword }
}
