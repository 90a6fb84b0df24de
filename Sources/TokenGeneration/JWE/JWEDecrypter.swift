public import FoundationEssentials
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

/// A JWE that a ``JWEDecrypter`` or a ``RemoteDecryptionService`` has decrypted.
///
/// Only a decrypter creates one. The content is intact, but nothing proves who made it, unless only
/// you and a known sender have the key.
public struct DecryptedJWE: Sendable {
    /// The content.
    public let plaintext: Data
    /// The protected header.
    public let header: JSONObject
    /// The members of the unprotected headers for the decrypted recipient, which anyone can have
    /// changed.
    ///
    /// It's empty for a compact JWE.
    public let unprotectedHeader: JSONObject
    /// The algorithm that protected the content key.
    public let algorithm: JWEAlgorithm
    /// The algorithm that protected the content.
    public let encryption: JWEEncryption
    /// The index of the recipient whose key decrypted the content, from 0.
    public let recipientIndex: Int
    /// The ID of the key that decrypted the content, or `nil` if the key has none.
    public let keyID: String?
    /// The additional data, which the JWE authenticates but doesn't encrypt, or `nil`.
    public let additionalData: Data?

    /// The information about the sender that a key agreement used, `apu`, or `nil`.
    public var partyUInfo: Data? { partyInfo("apu") }
    /// The information about the recipient that a key agreement used, `apv`, or `nil`.
    public var partyVInfo: Data? { partyInfo("apv") }

    private func partyInfo(_ name: String) -> Data? {
        guard algorithm.details.keyTypes.contains(.ec) else { return nil }
        let text = header[name]?.string ?? unprotectedHeader[name]?.string
        return text.flatMap { try? Base64URL.decode($0) }.map { Data($0) }
    }

    /// Returns the claims of a token that isn't signed, after validating them.
    ///
    /// - Warning: Nothing proves who made the claims, unless only you and a known sender have the
    ///   key. If they must come from an issuer, require a signed token inside, with
    ///   ``JWTVerifier/verify(encrypted:with:)``.
    ///
    /// - Parameter policy: The requirements for the type and the claims. Its custom checks can't
    ///   use the key of a signature, as those of ``ValidationPolicy`` for ID tokens do.
    /// - Returns: The claims.
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`, or the policy's codes
    ///   as ``JWTVerifier/verify(_:)`` does.
    public func unauthenticatedClaims(policy: ValidationPolicy) throws(TokenError) -> JSONObject {
        if let content = header["cty"]?.string {
            throw TokenError(
                .typeMismatch,
                "“cty” of the header is \(TokenError.shown(content)), so the content isn't a claims set"
            )
        }
        let claims = try JSONToken.object(in: Array(plaintext), policy.limits.document, "content")
        let header = try ProtectedHeader(header, algorithm: algorithm.rawValue)
        _ = try policy.check(header, claims, signedBy: nil, at: policy.currentDate())
        return claims
    }
}

/// A JWE whose headers and sizes have passed every check that doesn't need a key.
struct AcceptedJWE: Sendable {
    let keyIndex: Int
    let management: KeyManagement
    let encryption: JWEEncryption
    private var token: EncryptedToken
    private let recipientIndex: Int
    private let algorithm: JWEAlgorithm

    /// Checks the headers in the order of [RFC 7516
    /// §5.2](https://www.rfc-editor.org/rfc/rfc7516#section-5.2).
    init(_ token: EncryptedToken, _ keys: [RecipientIdentity], _ policy: DecryptionPolicy) throws(TokenError) {
        var accepted: [(recipient: Int, header: JWEHeader, JWEAlgorithmDescription, JWEEncryption)] = []
        var refusal: TokenError?
        var statedEncryption: String?
        let shared = try JWEHeader.Shared(token, policy.headerPlacement)
        for (index, recipient) in token.recipients.enumerated() {
            let header = try JWEHeader(shared, recipient)
            guard header.encryption.isExactly(statedEncryption ?? header.encryption) else {
                throw TokenError(.malformedToken, "the recipients disagree on “enc”")
            }
            statedEncryption = header.encryption
            if token.recipients.count > 1,
                JWEAlgorithm(rawValue: header.algorithm)?.details.determinesContentKey ?? false
            {
                throw TokenError(
                    .malformedToken,
                    "“alg” of one of several recipients is \(TokenError.shown(header.algorithm)), which allows only one"
                )
            }
            do throws(TokenError) {
                let (details, encryption) = try policy.check(header)
                accepted.append((index, header, details, encryption))
            } catch {
                // Other recipients may use algorithms that this policy doesn't allow.
                guard [.unsupportedAlgorithm, .algorithmMismatch].contains(error.code) else { throw error }
                refusal = refusal ?? error
            }
        }
        if accepted.isEmpty, let refusal { throw refusal }
        let selection = try RecipientIdentity.only(accepted.map(\.header), keys)
        let (recipient, header, details, encryption) = accepted[selection.header]
        let cipher = encryption.cipher
        guard token.vector.count == cipher.vectorSize, token.tag.count == cipher.tagSize else {
            throw TokenError(
                .malformedToken,
                "the initialization vector and the tag must have \(cipher.vectorSize) and \(cipher.tagSize) bytes for "
                    + encryption.rawValue
            )
        }
        self.encryption = encryption
        keyIndex = selection.key
        recipientIndex = recipient
        algorithm = details.algorithm
        management = try KeyManagement(
            details,
            encryption,
            header,
            encryptedKey: token.recipients[recipient].encryptedKey,
            policy
        )
        self.token = token
    }

    /// Decrypts in place; the closure returns the content key or a random one, and the error always
    /// has the same message.
    consuming func decrypted(
        keyID: String?,
        _ contentKey: (KeyManagement, JWEEncryption) throws(CryptoError) -> SecretBytes
    ) throws(TokenError) -> DecryptedJWE {
        let context = token.authenticatedData
        var text = Data()
        swap(&text, &token.ciphertext)
        var bytes = text.mutableSpan
        let size: Int?
        do throws(CryptoError) {
            let key = try contentKey(management, encryption)
            size = try encryption.cipher.open(
                &bytes,
                vector: token.vector,
                tag: token.tag,
                authenticating: context.span.octets,
                key: key
            )
        } catch {
            size = nil
        }
        guard let size else { throw Self.failure }
        if size < text.count { text.removeLast(text.count - size) }
        var unprotected = token.sharedHeader
        for member in token.recipients[recipientIndex].header { unprotected[member.name] = member.value }
        return DecryptedJWE(
            plaintext: text,
            header: token.protectedHeader,
            unprotectedHeader: unprotected,
            algorithm: algorithm,
            encryption: encryption,
            recipientIndex: recipientIndex,
            keyID: keyID,
            additionalData: token.additionalData.map { Data($0.octets) }
        )
    }

    private static var failure: TokenError {
        TokenError(.decryptionFailed, "the token can't be decrypted: it's for another key, or it was changed")
    }
}

struct RecipientIdentity: Sendable {
    let algorithm: JWEAlgorithm
    let keyID: String?
    let encryption: JWEEncryption?
    let curve: String?

    init(_ key: DecryptionKey) {
        algorithm = key.algorithm
        keyID = key.keyID
        encryption = key.encryption
        curve = key.encryptionKey.jwk.curve
    }

    init(_ service: some RemoteDecryptionService) {
        algorithm = service.algorithm
        keyID = service.keyID
        encryption = nil
        curve = nil
    }

    /// Returns the reason why the key can't decrypt, or `nil`.
    func refusal(_ header: JWEHeader) -> TokenError? {
        guard header.algorithm.isExactly(algorithm.rawValue) else {
            return TokenError(
                .algorithmMismatch,
                "“alg” of the header is \(TokenError.shown(header.algorithm)), but the key is for \(algorithm)"
            )
        }
        if let encryption, !header.encryption.isExactly(encryption.rawValue) {
            return TokenError(
                .algorithmMismatch,
                "“enc” of the header is \(TokenError.shown(header.encryption)), but the key is for \(encryption)"
            )
        }
        if let curve, case .agreement = algorithm.details.scheme,
            let stated = header["epk"]?.object?["crv"]?.string, !stated.isExactly(curve)
        {
            return TokenError(
                .algorithmMismatch,
                "“epk” of the header is on the curve \(TokenError.shown(stated)), but the key is on \(curve)"
            )
        }
        return nil
    }

    /// Finds the only recipient and key that match.
    ///
    /// Several keys are never tried: an attacker can make a token that several keys decrypt, and
    /// learns from each attempt.
    ///
    /// A pair matches if the algorithms are the same and both have the same key ID. Without such a
    /// pair, those match in which the recipient or the key has no key ID. A single key always
    /// matches a single recipient with its algorithm.
    static func only(
        _ headers: [JWEHeader],
        _ keys: [RecipientIdentity]
    ) throws(TokenError) -> (header: Int, key: Int) {
        var named: [(header: Int, key: Int)] = []
        var unnamed = named
        var others = named
        var refusal: TokenError?
        for (index, header) in headers.enumerated() {
            for (place, key) in keys.enumerated() {
                if let reason = key.refusal(header) {
                    refusal = refusal ?? reason
                    continue
                }
                let pair = (header: index, key: place)
                switch (header.keyID, key.keyID) {
                case (let stated?, let known?) where stated.isExactly(known): named.append(pair)
                case (_?, _?): others.append(pair)
                default: unnamed.append(pair)
                }
            }
        }
        if headers.count == 1, keys.count == 1, named.isEmpty, unnamed.isEmpty { unnamed = others }
        let matches = named.isEmpty ? unnamed : named
        guard let match = matches.first else {
            guard others.isEmpty else {
                throw TokenError(.unknownKey, "no key has the “kid” of a recipient")
            }
            if keys.count == 1, let refusal { throw refusal }
            throw TokenError(.algorithmMismatch, "no key is for the algorithms of a recipient")
        }
        guard matches.count == 1 else {
            throw TokenError(
                .ambiguousKey,
                "several keys or recipients match; give each key a different “kid”, and state it in the header"
            )
        }
        return match
    }
}
