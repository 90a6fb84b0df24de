public import Foundation
internal import OpenSSLCrypto

/// A generator of encrypted tokens with any plaintext, in every serialization
/// ([RFC 7516](https://www.rfc-editor.org/rfc/rfc7516)).
///
/// ```swift
/// let recipients = [
///     JWERecipient(key: alice), JWERecipient(key: bob),
/// ]
/// let generator = JWEGenerator(
///     plaintext: document,
///     recipients: recipients
/// )
/// let json = try generator.generalJSON()
/// ```
///
/// Every call encrypts again, with new random keys and initialization vectors, which can't be
/// chosen. For one recipient and the compact serialization, use
/// ``EncryptionKey/encrypt(_:encryption:header:)-(Data,_,_)``.
///
/// - Warning: A JWE doesn't prove who made it. Anyone can encrypt with a public key, and each of
///   several recipients can make another JWE with the same content key for the others. To prove it,
///   sign first: ``EncryptionKey/encrypt(signedToken:encryption:header:)``.
public struct JWEGenerator: Sendable {
    let plaintext: Data
    let encryption: JWEEncryption?
    let header: JSONObject
    let unprotectedHeader: JSONObject
    let additionalData: Data?
    let recipients: [JWERecipient]

    /// Creates a generator.
    ///
    /// - Parameters:
    ///   - plaintext: The content to encrypt.
    ///   - encryption: The content encryption. The default, `nil`, is that of the recipient's key
    ///     for `dir`, and A256GCM otherwise.
    ///   - header: Members of the protected header in addition to `alg`, `enc`, `kid` and those of
    ///     the key management. `apu` and `apv` name the parties of a key agreement, as base64url
    ///     text of at most 256 bytes.
    ///   - unprotectedHeader: Members of the unprotected header that all recipients share, which
    ///     only a JSON serialization has, and which anyone can change.
    ///   - additionalData: Data that is authenticated, but not encrypted, which only a JSON
    ///     serialization can have. The default is `nil`.
    ///   - recipients: The recipients, in order.
    public init(
        plaintext: Data,
        encryption: JWEEncryption? = nil,
        header: JSONObject = [:],
        unprotectedHeader: JSONObject = [:],
        additionalData: Data? = nil,
        recipients: [JWERecipient]
    ) {
        self.plaintext = plaintext
        self.encryption = encryption
        self.header = header
        self.unprotectedHeader = unprotectedHeader
        self.additionalData = additionalData
        self.recipients = recipients
    }

    /// Creates the compact serialization
    /// ([RFC 7516 §7.1](https://www.rfc-editor.org/rfc/rfc7516#section-7.1)).
    ///
    /// - Returns: The compact JWE.
    /// - Throws: ``TokenError`` as ``generalJSON()`` does, and `unencodableContent` also if there
    ///   isn't exactly one recipient, or if there is an unprotected header or additional data.
    public func compact() throws(TokenError) -> String {
        try checkOnlyRecipient("a compact JWE")
        guard unprotectedHeader.isEmpty, recipients.allSatisfy({ $0.header.isEmpty }), additionalData == nil else {
            throw TokenError(.unencodableContent, "a compact JWE has no unprotected header and no additional data")
        }
        return try sealed { jwe throws(CryptoError) in try jwe.compact() }
    }

    /// Creates the flattened JSON serialization
    /// ([RFC 7516 §7.2.2](https://www.rfc-editor.org/rfc/rfc7516#section-7.2.2)).
    ///
    /// - Returns: The JSON object.
    /// - Throws: ``TokenError`` as ``generalJSON()`` does, and `unencodableContent` also if there
    ///   isn't exactly one recipient.
    public func flattenedJSON() throws(TokenError) -> JSONObject {
        try checkOnlyRecipient("the flattened serialization")
        return try sealed { jwe throws(CryptoError) in try jwe.flattenedJSON() }
    }

    /// Creates the general JSON serialization
    /// ([RFC 7516 §7.2.1](https://www.rfc-editor.org/rfc/rfc7516#section-7.2.1)).
    ///
    /// With one recipient, everything about the encryption is in the protected header. With
    /// several, each recipient's header has its `alg` and `kid`.
    ///
    /// - Returns: The JSON object.
    /// - Throws: ``TokenError`` with the code `unencodableContent` if there isn't a recipient, if a
    ///   header is malformed or has a parameter that the package writes, or if one of several
    ///   recipients has a key for `dir` or ECDH-ES; `unprotectedParameter` if `alg`, `enc` or
    ///   `crit` is in an unprotected header; `compressionRejected` for `zip`; `algorithmMismatch`
    ///   if a header contradicts a key; `encryptionFailed`.
    public func generalJSON() throws(TokenError) -> JSONObject {
        try sealed { jwe throws(CryptoError) in try jwe.generalJSON() }
    }

    private func checkOnlyRecipient(_ form: String) throws(TokenError) {
        guard recipients.count == 1 else {
            throw TokenError(
                .unencodableContent,
                "\(form) has exactly one recipient, but there are \(recipients.count)"
            )
        }
    }
}

extension EncryptionKey {
    /// Encrypts content for the key's owner, as a compact JWE.
    ///
    /// - Warning: This doesn't prove who encrypted the content. To prove it, sign first:
    ///   ``encrypt(signedToken:encryption:header:)``.
    ///
    /// - Parameters:
    ///   - plaintext: The content.
    ///   - encryption: The content encryption. The default, `nil`, is that of a key for `dir`, and
    ///     A256GCM otherwise.
    ///   - header: Members of the protected header in addition to `alg`, `enc`, `kid` and those of
    ///     the key management.
    /// - Returns: The compact JWE.
    /// - Throws: ``TokenError`` as ``JWEGenerator/compact()`` does.
    public func encrypt(
        _ plaintext: Data,
        encryption: JWEEncryption? = nil,
        header: JSONObject = [:]
    ) throws(TokenError) -> String {
        let recipients = [JWERecipient(key: self)]
        return try JWEGenerator(plaintext: plaintext, encryption: encryption, header: header, recipients: recipients)
            .compact()
    }

    /// Encrypts claims for the key's owner, as a JWT that isn't signed
    /// ([RFC 7519 §7.1](https://www.rfc-editor.org/rfc/rfc7519#section-7.1)).
    ///
    /// - Warning: This doesn't prove who made the claims, unless the key is a secret. To prove it,
    ///   sign first: ``encrypt(signedToken:encryption:header:)``.
    ///
    /// - Parameters:
    ///   - claims: The claims, which must encode as a JSON object. Dates are encoded as seconds
    ///     since 1970.
    ///   - encryption: The content encryption, as for ``encrypt(_:encryption:header:)-(Data,_,_)``.
    ///   - header: Members of the protected header in addition to `alg`, `enc`, `kid` and those of
    ///     the key management. The default `typ` is `JWT`.
    /// - Returns: The token.
    /// - Throws: ``TokenError`` as ``JWEGenerator/compact()`` does, with `unencodableContent` also
    ///   if JSON can't represent a claim.
    public func encrypt(
        _ claims: some Encodable,
        encryption: JWEEncryption? = nil,
        header: JSONObject = [:]
    ) throws(TokenError) -> String {
        let bytes = try SerializedClaims(encoding: claims).bytes
        let header = JWTGenerator.typed(header) ?? JWTGenerator.plainHeader
        return try encrypt(Data(bytes), encryption: encryption, header: header)
    }

    /// Encrypts a signed token for the key's owner, as a nested JWT
    /// ([RFC 7519 §11.2](https://www.rfc-editor.org/rfc/rfc7519#section-11.2)).
    ///
    /// The recipient decrypts and verifies it with ``JWTVerifier/verify(encrypted:with:)``.
    ///
    /// - Parameters:
    ///   - token: The signed token, a compact JWS.
    ///   - encryption: The content encryption, as for ``encrypt(_:encryption:header:)-(Data,_,_)``.
    ///   - header: Members of the protected header in addition to `alg`, `enc`, `kid`, `cty`, which
    ///     is `JWT`, and those of the key management.
    /// - Returns: The token.
    /// - Throws: ``TokenError`` as ``JWEGenerator/compact()`` does, with `unencodableContent` also
    ///   if the text isn't a compact JWS or the header has another `cty`.
    public func encrypt(
        signedToken token: String,
        encryption: JWEEncryption? = nil,
        header: JSONObject = [:]
    ) throws(TokenError) -> String {
        do throws(TokenError) {
            _ = try CompactToken(token, limits: JWSLimits(size: .max)).header()
        } catch {
            throw TokenError(.unencodableContent, "the text isn't a signed token: \(error.message)", cause: error)
        }
        var header = header
        guard header["cty"]?.string.map({ TypeRule.isSame($0, "JWT") }) ?? (header["cty"] == nil) else {
            throw TokenError(.unencodableContent, "“cty” of the header must be “JWT” for a nested token; omit it")
        }
        if header["cty"] == nil { header["cty"] = "JWT" }
        return try encrypt(Data(token.utf8), encryption: encryption, header: header)
    }
}
