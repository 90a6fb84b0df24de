public import FoundationEssentials
internal import OpenSSLCrypto

/// A decryption key behind a network or a bus: a key management service, a hardware module, an
/// agent.
///
/// ```swift
/// struct CloudKey: RemoteDecryptionService {
///     let algorithm = JWEAlgorithm.rsaOAEP256
///     let keyID: String? = "projects/1/keys/2"
///
///     func unwrapKey(_ encryptedKey: Data) async throws -> Data? {
///         try await client.asymmetricDecrypt(encryptedKey)
///     }
/// }
///
/// let jwe = try await CloudKey(…).decrypt(compact: token, policy: policy)
/// ```
///
/// Implement ``unwrapKey(_:)-(Data)`` for RSA and AES key wrap, or ``agreeKey(with:)-(JWK)`` for
/// ECDH-ES. The package does the rest, and gives the service only keys whose sizes are right and
/// points that are on their curve.
public protocol RemoteDecryptionService: Sendable {
    /// The algorithm that the service's key is for: RSA-OAEP, ECDH-ES or AES key wrap.
    var algorithm: JWEAlgorithm { get }
    /// The ID that senders know the key by, or `nil`, the default.
    var keyID: String? { get }

    /// Decrypts a content key.
    ///
    /// - Parameter encryptedKey: The encrypted key.
    /// - Returns: The content key, or `nil` if the encrypted key can't be decrypted. Don't throw an
    ///   error in that case: an attacker could tell it from other failures.
    /// - Throws: Any error that doesn't depend on the encrypted key, such as a network error. It
    ///   reaches the caller unchanged.
    func unwrapKey(_ encryptedKey: Data) async throws -> Data?

    /// Computes the shared secret of a key agreement.
    ///
    /// - Parameter publicKey: The sender's ephemeral public key.
    /// - Returns: The shared secret, the x-coordinate with all leading zeros, or `nil` if the keys
    ///   can't agree.
    /// - Throws: Any error that doesn't depend on the public key. It reaches the caller unchanged.
    func agreeKey(with publicKey: JWK) async throws -> Data?
}

extension RemoteDecryptionService {
    /// The default key ID, `nil`.
    public var keyID: String? { nil }

    /// The default implementation, for services that agree on keys.
    ///
    /// - Parameter encryptedKey: The encrypted key.
    /// - Returns: Nothing.
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm`.
    public func unwrapKey(_ encryptedKey: Data) async throws -> Data? {
        throw TokenError(.unsupportedAlgorithm, "the service for \(algorithm) doesn't implement unwrapKey(_:)")
    }

    /// The default implementation, for services that decrypt keys.
    ///
    /// - Parameter publicKey: The sender's ephemeral public key.
    /// - Returns: Nothing.
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm`.
    public func agreeKey(with publicKey: JWK) async throws -> Data? {
        throw TokenError(.unsupportedAlgorithm, "the service for \(algorithm) doesn't implement agreeKey(with:)")
    }

    /// Decrypts a compact JWE.
    ///
    /// - Parameters:
    ///   - compact: The compact JWE.
    ///   - policy: The requirements for the encryption.
    /// - Returns: The content and the headers.
    /// - Throws: ``TokenError`` as ``JWEDecrypter/decrypt(compact:)`` does, with
    ///   `unsupportedAlgorithm` also for an algorithm that a service can't have. The service's own
    ///   errors are passed on unchanged.
    public func decrypt(compact: String, policy: DecryptionPolicy) async throws -> DecryptedJWE {
        try await decrypt(EncryptedToken(compact: compact, limits: policy.limits), policy)
    }

    /// Decrypts a general or flattened JSON serialization.
    ///
    /// - Parameters:
    ///   - json: The JSON text.
    ///   - policy: The requirements for the encryption.
    /// - Returns: The content and the headers, with the index of the recipient.
    /// - Throws: The same errors as ``decrypt(compact:policy:)``.
    public func decrypt(json: String, policy: DecryptionPolicy) async throws -> DecryptedJWE {
        try await decrypt(EncryptedToken(json: Array(json.utf8), limits: policy.limits), policy)
    }

    private func decrypt(_ token: EncryptedToken, _ policy: DecryptionPolicy) async throws -> DecryptedJWE {
        let accepted = try AcceptedJWE(token, [RecipientIdentity(self)], policy)
        return try decrypted(accepted, with: await remoteKey(accepted.management))
    }

    /// Without a key, a random one takes the same work.
    func decrypted(_ accepted: AcceptedJWE, with key: SecretBytes?) throws(TokenError) -> DecryptedJWE {
        let size = accepted.encryption.cipher.keySize
        return try accepted.decrypted(keyID: keyID) { management, _ throws(CryptoError) in
            let substitute = try SecureRandom.secret(count: size)
            let contentKey = try? Self.contentKey(key, management, substitute)
            guard let contentKey, contentKey.count == size else { return substitute }
            return contentKey
        }
    }

    /// Returns the content key or the shared secret.
    func remoteKey(_ management: KeyManagement) async throws -> SecretBytes? {
        let data: Data? =
            switch management {
            case .keyWrap(let encryptedKey), .oaep(let encryptedKey): try await unwrapKey(Data(encryptedKey))
            case .agreement(let agreement, _): try await agreeKey(with: Self.jwk(of: agreement.publicKey))
            case .direct, .gcmKeyWrap, .password:
                throw TokenError(.unsupportedAlgorithm, "a remote service can't have a key for \(algorithm)")
            }
        guard let data, !data.isEmpty else { return nil }
        var octets = Array(data)
        defer { octets.clear() }
        return SecretBytes(copying: octets.span.octets)
    }

    private static func contentKey(
        _ key: SecretBytes?,
        _ management: KeyManagement,
        _ substitute: SecretBytes
    ) throws(CryptoError) -> SecretBytes? {
        guard case .agreement(let agreement, let wrapped) = management else { return key }
        let secret = key.flatMap { $0.count == agreement.secretSize && !$0.isZero ? $0 : nil }
        return try agreement.contentKey(from: secret ?? substitute, wrapped: wrapped)
    }

    private static func jwk(of key: PublicKey) throws(TokenError) -> JWK {
        var members = key.jwkMembers
        members["kty"] = .string(key.keyType.rawValue)
        return try JWK(members)
    }
}
