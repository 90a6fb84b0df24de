public import FoundationEssentials
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
    ///     serialization can have. The default is `nil`; empty data counts as none.
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
        // RFC 7516 §7.2.1: “aad” must be absent then.
        self.additionalData = additionalData?.isEmpty == true ? nil : additionalData
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

    func sealed<Output>(
        _ serialize: (PreparedJWE) throws(CryptoError) -> Output
    ) throws(TokenError) -> Output {
        let jwe = try prepared()
        return try Self.encrypting(serialize(jwe))
    }

    private func prepared() throws(TokenError) -> PreparedJWE {
        try checkHeaders()
        let encryption = try contentEncryption()
        var protectedHeader = header
        try protectedHeader.state("enc", encryption.rawValue, by: "the encryption")
        let isOnly = recipients.count == 1
        var headers: [JSONObject] = []
        var wrapped: [WrappedContentKey] = []
        let cipher = encryption.cipher
        var contentKey: SecretBytes =
            if let shared = recipients.first?.key.sharedContentKey { shared } else {
                try Self.encrypting(SecureRandom.secret(count: cipher.keySize))
            }
        for recipient in recipients {
            // An only recipient's parameters can all be protected.
            var parameters = isOnly ? protectedHeader : recipient.header
            try parameters.state("alg", recipient.key.algorithm.rawValue, by: "the encryption")
            try writeKeyID(of: recipient, into: &parameters)
            let parties = try (partyInfo("apu", recipient), partyInfo("apv", recipient))
            let key = try Self.encrypting(
                recipient.key.wrap(contentKey, for: encryption, partyU: parties.0, partyV: parties.1)
            )
            for member in key.parameters { parameters[member.name] = member.value }
            if isOnly {
                contentKey = key.contentKey
                protectedHeader = parameters
                headers.append(recipient.header)
            } else {
                headers.append(parameters)
            }
            wrapped.append(key)
        }
        try checkDisjoint(protectedHeader, headers)
        var protectedText: [UInt8] = []
        Base64URL.encode(protectedHeader.serializedBytes().span, into: &protectedText)
        let additionalText = additionalData.map { Base64URL.encode(Array($0)) }
        let vector = try Self.encrypting(SecureRandom.bytes(count: cipher.vectorSize))
        return PreparedJWE(
            protectedText: protectedText,
            unprotectedHeader: unprotectedHeader,
            recipients: zip(headers, wrapped).map { ($0, $1.encryptedKey) },
            additionalText: additionalText,
            plaintext: plaintext,
            cipher: cipher,
            contentKey: contentKey,
            vector: vector
        )
    }

    private func contentEncryption() throws(TokenError) -> JWEEncryption {
        guard let first = recipients.first else {
            throw TokenError(.unencodableContent, "a JWE must have at least one recipient")
        }
        if recipients.count > 1 {
            for recipient in recipients where recipient.key.details.determinesContentKey {
                throw TokenError(
                    .unencodableContent,
                    "a key for \(recipient.key.algorithm) can't be one of several recipients"
                )
            }
        }
        let bound = first.key.encryption
        guard let encryption else { return bound ?? .a256GCM }
        guard bound == nil || bound == encryption else {
            throw TokenError(
                .algorithmMismatch,
                "the key is for \(first.key.algorithm) with \(bound?.rawValue ?? ""), not with \(encryption)"
            )
        }
        return encryption
    }

    private func checkHeaders() throws(TokenError) {
        let unprotected = ([unprotectedHeader] + recipients.map { $0.header }).filter { !$0.isEmpty }
        for header in [header] + unprotected {
            for name in JWEHeader.writtenNames + ["b64"] where header[name] != nil {
                throw TokenError(.unencodableContent, "the header has “\(name)”, which isn't the caller's to choose")
            }
            guard header["zip"] == nil else {
                throw TokenError(.compressionRejected, "the header has “zip”, but compression isn't supported")
            }
        }
        let critical = CriticalExtensions.names(in: header)
        for header in unprotected {
            for name in ["alg", "enc", "crit"] + critical where header[name] != nil {
                throw TokenError(
                    .unprotectedParameter,
                    "\(TokenError.shown(name)) must not be in an unprotected header"
                )
            }
        }
        for name in JWEHeader.managementNames where unprotectedHeader[name] != nil {
            throw TokenError(.unprotectedParameter, "“\(name)” must not be in the shared unprotected header")
        }
        do throws(TokenError) {
            for header in [header] + unprotected {
                for name in ["kid", "typ", "cty"] { _ = try ProtectedHeader.string(name, in: header) }
            }
            _ = try CriticalExtensions(of: header, registered: JWEHeader.registeredNames)
        } catch {
            throw TokenError(.unencodableContent, error.message, cause: error)
        }
    }

    /// Does nothing if an unprotected header already has the ID.
    private func writeKeyID(of recipient: JWERecipient, into parameters: inout JSONObject) throws(TokenError) {
        guard let keyID = recipient.key.keyID else { return }
        for var stated in [recipient.header, unprotectedHeader, header] where stated["kid"] != nil {
            return try stated.state("kid", keyID, by: "the encryption")
        }
        parameters["kid"] = .string(keyID)
    }

    private func partyInfo(_ name: String, _ recipient: JWERecipient) throws(TokenError) -> [UInt8] {
        guard let value = header[name] ?? recipient.header[name] else { return [] }
        guard let octets = value.string.flatMap({ try? Base64URL.decode($0) }), octets.count <= JWELimits.partyInfoSize
        else {
            throw TokenError(
                .unencodableContent,
                "“\(name)” of the header must be base64url text of at most \(JWELimits.partyInfoSize) bytes"
            )
        }
        return octets
    }

    private func checkDisjoint(_ protectedHeader: JSONObject, _ headers: [JSONObject]) throws(TokenError) {
        for header in headers {
            for member in header where protectedHeader[member.name] != nil || unprotectedHeader[member.name] != nil {
                throw Self.overlap(member.name)
            }
        }
        for member in unprotectedHeader where protectedHeader[member.name] != nil { throw Self.overlap(member.name) }
    }

    private static func overlap(_ name: String) -> TokenError {
        TokenError(.unencodableContent, "\(TokenError.shown(name)) is in two headers of the JWE")
    }

    private static func encrypting<Output>(
        _ body: @autoclosure () throws(CryptoError) -> Output
    ) throws(TokenError) -> Output {
        do throws(CryptoError) {
            return try body()
        } catch {
            throw TokenError(.encryptionFailed, "can't encrypt: \(error.message)", cause: error)
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
        let bytes = try JSONObject(encoding: claims).serializedBytes()
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

struct PreparedJWE: Sendable {
    let protectedText: [UInt8]
    let unprotectedHeader: JSONObject
    let recipients: [(header: JSONObject, encryptedKey: [UInt8])]
    let additionalText: String?
    let plaintext: Data
    let cipher: AuthenticatedCipher
    let contentKey: SecretBytes
    let vector: [UInt8]

    func compact() throws(CryptoError) -> String {
        let key = recipients.first?.encryptedKey ?? []
        let sizes = [key.count, vector.count, cipher.ciphertextSize(plaintext.count), cipher.tagSize]
        let size = sizes.reduce(protectedText.count) { $0 + 1 + Base64URL.encodedSize($1) }
        return try String(utf8Capacity: size) { output throws(CryptoError) in
            output.append(protectedText.span.octets)
            for part in [key, vector] {
                output.append(UInt8(ascii: "."))
                Base64URL.encode(part.span, into: &output)
            }
            output.append(UInt8(ascii: "."))
            let tag = try appendContent(to: &output)
            output.append(UInt8(ascii: "."))
            Base64URL.encode(tag.span, into: &output)
        }
    }

    func flattenedJSON() throws(CryptoError) -> JSONObject {
        var object = try shared()
        for member in recipients.first.map(Self.members) ?? [:] { object[member.name] = member.value }
        return object
    }

    func generalJSON() throws(CryptoError) -> JSONObject {
        var object = try shared()
        object["recipients"] = .array(recipients.map { .object(Self.members(of: $0)) })
        return object
    }

    private func shared() throws(CryptoError) -> JSONObject {
        var object: JSONObject = ["protected": .string(String(decoding: protectedText, as: UTF8.self))]
        if !unprotectedHeader.isEmpty { object["unprotected"] = .object(unprotectedHeader) }
        object["aad"] = additionalText.map(JSONValue.string)
        object["iv"] = .base64URL(vector)
        var tag: [UInt8] = []
        let size = Base64URL.encodedSize(cipher.ciphertextSize(plaintext.count))
        let ciphertext = try String(utf8Capacity: size) { output throws(CryptoError) in
            tag = try appendContent(to: &output)
        }
        object["ciphertext"] = .string(ciphertext)
        object["tag"] = .base64URL(tag)
        return object
    }

    /// Returns the tag.
    private func appendContent(to output: inout OutputSpan<UInt8>) throws(CryptoError) -> [UInt8] {
        let context = EncryptedToken.authenticatedData(
            protectedText,
            additionalData: additionalText.map { Array($0.utf8) }
        )
        let size = cipher.ciphertextSize(plaintext.count)
        return try Base64URL.encode(count: size, into: &output) { output throws(CryptoError) in
            try cipher.seal(
                plaintext.span.octets,
                authenticating: context.span.octets,
                key: contentKey,
                vector: vector,
                into: &output
            )
        }
    }

    private static func members(of recipient: (header: JSONObject, encryptedKey: [UInt8])) -> JSONObject {
        var object: JSONObject = [:]
        if !recipient.header.isEmpty { object["header"] = .object(recipient.header) }
        if !recipient.encryptedKey.isEmpty { object["encrypted_key"] = .base64URL(recipient.encryptedKey) }
        return object
    }
}

/// A recipient of a JWE: a key, and the header for it.
public struct JWERecipient: Sendable {
    let key: EncryptionKey
    let header: JSONObject

    /// Creates a recipient.
    ///
    /// - Parameters:
    ///   - key: The key that encrypts for the recipient.
    ///   - header: Members of the recipient's header, which only a JSON serialization has, and
    ///     which anyone can change. If it has `kid`, the protected header doesn't.
    public init(key: EncryptionKey, header: JSONObject = [:]) {
        self.key = key
        self.header = header
    }
}
