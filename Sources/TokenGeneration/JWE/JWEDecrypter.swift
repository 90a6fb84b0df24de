public import Foundation
internal import OpenSSLCrypto

/// A decrypter of encrypted tokens with any content, in every serialization
/// ([RFC 7516](https://www.rfc-editor.org/rfc/rfc7516)).
///
/// ```swift
/// let decrypter = JWEDecrypter(
///     key: key,
///     policy: DecryptionPolicy(
///         algorithms: [.ecdhESA256KW], encryptions: [.a256GCM]
///     )
/// )
/// let content = try decrypter.decrypt(compact: token).plaintext
/// ```
///
/// The policy lists the accepted algorithms, and each key is for exactly one of them. At most one
/// key is tried. From then on, every failure is the same error after the same work, so that an
/// attacker learns nothing from it. Keys and URLs in a header (`jwk`, `jku`, `x5c`, `x5u`) are
/// ignored. For tokens with a signed token inside, use ``JWTVerifier/verify(encrypted:with:)``.
public struct JWEDecrypter: Sendable {
    /// The requirements for the encryption.
    package let policy: DecryptionPolicy

    private let keys: [DecryptionKey]
    private let identities: [RecipientIdentity]

    /// Creates a decrypter for one key.
    ///
    /// A `kid` in the header of a single recipient is ignored.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - policy: The requirements for the encryption.
    public init(key: DecryptionKey, policy: DecryptionPolicy) {
        self.init(keys: [key], policy: policy)
    }

    /// Creates a decrypter for several keys, such as the current and the previous one.
    ///
    /// The `kid` and `alg` of a recipient select the key. If several keys match, the JWE is
    /// rejected.
    ///
    /// - Parameters:
    ///   - keys: The keys. An empty array rejects every JWE.
    ///   - policy: The requirements for the encryption.
    public init(keys: [DecryptionKey], policy: DecryptionPolicy) {
        self.keys = keys
        self.policy = policy
        identities = keys.map { RecipientIdentity($0) }
    }

    /// Decrypts a compact JWE.
    ///
    /// - Parameter compact: The compact JWE.
    /// - Returns: The content and the headers.
    /// - Throws: ``TokenError`` with the code of the first check that fails: `malformedToken` or
    ///   `tooLarge`; `unsupportedAlgorithm` or `algorithmMismatch` if the policy doesn't allow the
    ///   algorithms; `criticalHeaderUnsupported`; `compressionRejected`; `algorithmMismatch`,
    ///   `unknownKey` or `ambiguousKey` if not exactly one key matches; `weakKey` for a password's
    ///   salt or iteration count; and `decryptionFailed` for everything that depends on the key.
    public func decrypt(compact: String) throws(TokenError) -> DecryptedJWE {
        try decrypt(EncryptedToken(compact: compact, limits: policy.limits))
    }

    /// Decrypts a general or flattened JSON serialization.
    ///
    /// Exactly one recipient and key must match. The other recipients are ignored.
    ///
    /// - Parameter json: The JSON text.
    /// - Returns: The content and the headers, with the index of the recipient.
    /// - Throws: ``TokenError`` as ``decrypt(compact:)`` does, and `unprotectedParameter` if a
    ///   parameter that must be protected isn't.
    public func decrypt(json: String) throws(TokenError) -> DecryptedJWE {
        try decrypt(EncryptedToken(json: Array(json.utf8), limits: policy.limits))
    }

    /// Decrypts a JSON serialization in UTF-8.
    ///
    /// - Parameter json: The JSON text in UTF-8.
    /// - Returns: The content and the headers, with the index of the recipient.
    /// - Throws: ``TokenError`` as ``decrypt(json:)-(String)`` does.
    public func decrypt(json: Data) throws(TokenError) -> DecryptedJWE {
        try decrypt(EncryptedToken(json: Array(json), limits: policy.limits))
    }

    private func decrypt(_ token: consuming EncryptedToken) throws(TokenError) -> DecryptedJWE {
        let accepted = try AcceptedJWE(token, identities, policy)
        let key = keys[accepted.keyIndex]
        return try accepted.decrypted(keyID: key.keyID) { management, encryption throws(CryptoError) in
            try management.contentKey(with: key.material, for: encryption)
        }
    }
}
