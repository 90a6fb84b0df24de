extension JWTVerifier {
    /// Decrypts and verifies a nested token: a signed token inside an encrypted one
    /// ([RFC 7519 §5.2](https://www.rfc-editor.org/rfc/rfc7519#section-5.2)).
    ///
    /// Both layers are checked, each against its own policy. The encrypted token must state `cty`
    /// as `JWT`, and its content must be a compact JWS. Claims that are repeated in its header
    /// (`iss`, `sub`, `aud`) must be the same
    /// ([RFC 7519 §5.3](https://www.rfc-editor.org/rfc/rfc7519#section-5.3)).
    ///
    /// ```swift
    /// let token = try verifier.verify(encrypted: text, with: decrypter)
    /// ```
    ///
    /// - Parameters:
    ///   - token: The encrypted token, a compact JWE.
    ///   - decrypter: The decrypter with the keys and the policy for the encryption.
    /// - Returns: The verified token inside.
    /// - Throws: ``TokenError`` as ``JWEDecrypter/decrypt(compact:)`` does; then with the code
    ///   `typeMismatch` for another `cty`; then as ``verify(_:)`` does; then `issuerMismatch`,
    ///   `subjectMismatch` or `audienceMismatch` for a different claim in the header.
    public func verify(encrypted token: String, with decrypter: JWEDecrypter) throws(TokenError) -> VerifiedToken {
        try verify(contentOf: decrypter.decrypt(compact: token))
    }

    /// Verifies the signed token inside a decrypted JWE, for example one that a
    /// ``RemoteDecryptionService`` decrypted.
    ///
    /// - Parameter jwe: The decrypted JWE.
    /// - Returns: The verified token inside.
    /// - Throws: ``TokenError`` as ``verify(encrypted:with:)`` does after the decryption.
    public func verify(contentOf jwe: DecryptedJWE) throws(TokenError) -> VerifiedToken {
        let token = try verify(jwe.signedToken())
        try token.check(repeatedIn: jwe.header)
        return token
    }
}

extension DecryptedJWE {
    /// Returns the signed token that the content must be, not yet verified.
    ///
    /// - Throws: ``TokenError`` with the code `typeMismatch` for another `cty`, or `malformedToken`
    ///   if the content isn't text.
    package func signedToken() throws(TokenError) -> String {
        guard let content = try ProtectedHeader.string("cty", in: header), TypeRule.isSame(content, "JWT") else {
            throw TokenError(
                .typeMismatch,
                "“cty” of the header isn't “JWT”, so the encrypted token doesn't contain a signed one"
            )
        }
        guard let text = String(validating: plaintext, as: UTF8.self) else {
            throw TokenError(.malformedToken, "the content of the encrypted token isn't a signed token")
        }
        return text
    }
}

extension VerifiedToken {
    /// Checks that claims repeated in the header of the encrypted token around this one are the
    /// same ([RFC 7519 §5.3](https://www.rfc-editor.org/rfc/rfc7519#section-5.3)).
    ///
    /// - Throws: ``TokenError`` with the code `issuerMismatch`, `subjectMismatch` or
    ///   `audienceMismatch`.
    package func check(repeatedIn header: JSONObject) throws(TokenError) {
        let codes: KeyValuePairs<String, TokenError.Code> = [
            "iss": .issuerMismatch, "sub": .subjectMismatch, "aud": .audienceMismatch,
        ]
        for (name, code) in codes {
            guard let repeated = header[name] else { continue }
            guard repeated == claims[name] else {
                throw TokenError(code, "“\(name)” in the header of the encrypted token differs from the claim")
            }
        }
    }
}

extension SigningService {
    /// Signs claims and encrypts the signed token for a recipient, as a nested JWT
    /// ([RFC 7519 §11.2](https://www.rfc-editor.org/rfc/rfc7519#section-11.2)).
    ///
    /// ```swift
    /// let token = try key.sign(claims, encryptedFor: recipient)
    /// ```
    ///
    /// - Parameters:
    ///   - claims: The claims, which must encode as a JSON object. Dates are encoded as seconds
    ///     since 1970.
    ///   - recipient: The recipient's key.
    ///   - encryption: The content encryption. The default, `nil`, is that of a key for `dir`, and
    ///     A256GCM otherwise.
    ///   - header: Members of the signed token's header in addition to `alg` and `kid`. The default
    ///     `typ` is `JWT`.
    /// - Returns: The encrypted token.
    /// - Throws: ``TokenError`` as ``JWTGenerator/token()`` and
    ///   ``EncryptionKey/encrypt(signedToken:encryption:header:)`` do, and the service's own
    ///   errors.
    public func sign(
        _ claims: some Encodable,
        encryptedFor recipient: EncryptionKey,
        encryption: JWEEncryption? = nil,
        header: JSONObject = [:]
    ) throws -> String {
        try recipient.encrypt(signedToken: sign(claims, header: header), encryption: encryption)
    }
}
