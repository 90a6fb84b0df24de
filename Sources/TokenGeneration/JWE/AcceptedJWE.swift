internal import Foundation
internal import OpenSSLCrypto

/// A JWE whose headers and sizes have passed every check that doesn't need a key.
struct AcceptedJWE: Sendable {
    /// The index of the key to decrypt with.
    let keyIndex: Int
    let management: KeyManagement
    let encryption: JWEEncryption
    private var token: EncryptedToken
    private let recipientIndex: Int
    private let algorithm: JWEAlgorithm

    /// Checks the headers in the order of
    /// [RFC 7516 §5.2](https://www.rfc-editor.org/rfc/rfc7516#section-5.2), and selects the
    /// recipient and the key.
    ///
    /// - Throws: ``TokenError`` as ``JWEDecrypter/decrypt(compact:)`` does, except for
    ///   `decryptionFailed`.
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
        let selection = try RecipientSelection(accepted.map(\.header), keys)
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

    /// Decrypts the content, in place.
    ///
    /// The closure returns the content key or a random one, never a reason.
    ///
    /// - Throws: ``TokenError`` with the code `decryptionFailed`, always with the same message.
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
