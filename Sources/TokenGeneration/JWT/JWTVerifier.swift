/// A verifier of tokens: it verifies the signature with a key or a key set, then validates the
/// claims against a policy.
///
/// ```swift
/// let verifier = JWTVerifier(
///     key: key,
///     policy: ValidationPolicy(issuer: "https://id.example", audience: "orders")
/// )
/// let claims = try verifier.verify(token, as: OrderClaims.self)
/// ```
///
/// The keys fix the algorithm; nothing in the token can change it. `alg` in the header must be the
/// key's algorithm. Keys and URLs in the header (`jwk`, `jku`, `x5c`, `x5u`) are ignored. A header
/// that requires an extension (`crit`) is rejected, because none is supported. Duplicate members,
/// noncanonical base64url, and sizes beyond the limits are also rejected.
public struct JWTVerifier: Sendable {
    let core: TokenCheck

    /// Creates a verifier for one key.
    ///
    /// A `kid` in the header is ignored; the signature is conclusive.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - policy: The policy for accepted tokens.
    public init(key: VerificationKey, policy: ValidationPolicy = ValidationPolicy()) {
        core = TokenCheck(.list([key]), policy)
    }

    /// Creates a verifier for a key set.
    ///
    /// A token's `kid` selects the key, which must be for signatures and for the token's algorithm.
    /// An unknown `kid` is an error. A token without `kid` is accepted if exactly one key is for
    /// its algorithm. Symmetric keys and keys that this version can't use are ignored.
    ///
    /// - Parameters:
    ///   - keys: The keys. Private parts aren't needed and aren't kept.
    ///   - selection: Exceptions from these rules.
    ///   - policy: The policy for accepted tokens.
    public init(
        keys: JWKSet,
        selection: KeySelection = KeySelection(),
        policy: ValidationPolicy = ValidationPolicy()
    ) {
        core = TokenCheck(.set(KeySelector(keys, selection.assuming(policy.algorithms))), policy)
    }

    /// Verifies a token.
    ///
    /// - Parameter token: A compact JWS.
    /// - Returns: The verified token.
    /// - Throws: ``TokenError`` with the code of the first check that fails: `malformedToken` or
    ///   `tooLarge`; `criticalHeaderUnsupported`, `algorithmMismatch`, `unknownKey`,
    ///   `ambiguousKey`, or the code for a problem with the matching key; `signatureInvalid`; then
    ///   the policy's `typeMismatch`, `malformedClaim`, `missingClaim`, `expired`, `notYetValid`,
    ///   `issuedInFuture`, `tooOld`, `lifetimeTooLong`, `prohibitedClaim`, `issuerMismatch`,
    ///   `subjectMismatch`, `audienceMismatch`, `checkFailed` or the code of a custom check.
    public func verify(_ token: String) throws(TokenError) -> VerifiedToken {
        try core.check(token, keepsHeader: true)
    }

    /// The policy may depend on the token's request; the keys don't, and are prepared once.
    package func verify(_ token: String, against policy: ValidationPolicy) throws(TokenError) -> VerifiedToken {
        try core.against(policy).check(token, keepsHeader: true)
    }

    /// Verifies a token and decodes its claims.
    ///
    /// - Parameters:
    ///   - token: A compact JWS.
    ///   - type: The type to decode. Its dates are decoded from seconds since 1970.
    /// - Returns: The claims.
    /// - Throws: ``TokenError`` as ``verify(_:)`` does, and with the code `malformedClaim` if the
    ///   claims don't match the type.
    public func verify<Claims: Decodable>(
        _ token: String,
        as type: Claims.Type
    ) throws(TokenError) -> Claims {
        try core.check(token, keepsHeader: false).claims.decode(as: type)
    }

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

    /// Verifies a token that may be used only once, and remembers it, so that the next use is
    /// rejected.
    ///
    /// ```swift
    /// let assertion = try await verifier.verify(text, onceIn: cache)
    /// ```
    ///
    /// The verifier remembers the token after all other checks, by its `jti`, its issuer and its
    /// key, until it has expired. The token must have a `jti`, and must expire within the policy's
    /// ``ValidationPolicy/maximumLifetime``, or within a day if the policy doesn't set one.
    ///
    /// - Parameters:
    ///   - token: A compact JWS.
    ///   - cache: The store of used tokens. In a single process, all verifiers with the same leeway
    ///     can share one ``InMemoryReplayCache``. Servers behind a load balancer need a shared
    ///     cache.
    /// - Returns: The verified token.
    /// - Throws: ``TokenError`` as ``verify(_:)`` does; then with the code `missingClaim`,
    ///   `malformedClaim` or `lifetimeTooLong` if the token can't be remembered; `replayed` if it
    ///   has been used before or the cache can't rule that out; `replayCacheFull` or
    ///   `replayCacheFailed` if the cache can't answer. `CancellationError` if the cache throws it.
    public func verify(_ token: String, onceIn cache: any ReplayCache) async throws -> VerifiedToken {
        let use = SingleUse()
        let verified = try core.against(use.policy(core.policy)).check(token, keepsHeader: true)
        try await use.record(in: cache)
        return verified
    }
}

extension DecryptedJWE {
    /// Not yet verified.
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
    /// [RFC 7519 §5.3](https://www.rfc-editor.org/rfc/rfc7519#section-5.3).
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

extension LocalSigningService {
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

/// A class, so that verifying threads share one reference instead of the reference counts of
/// everything in a policy.
final class TokenCheck: Sendable {
    private let keys: VerificationKeySource
    let policy: ValidationPolicy
    private let knownHeaders: KnownHeaders

    init(
        _ keys: VerificationKeySource,
        _ policy: ValidationPolicy,
        knownHeaders: KnownHeaders = KnownHeaders()
    ) {
        self.keys = keys
        self.policy = policy
        self.knownHeaders = knownHeaders
    }

    func against(_ policy: ValidationPolicy) -> TokenCheck {
        TokenCheck(keys, policy, knownHeaders: knownHeaders)
    }

    /// The result has the header, shared between threads, only if it's kept.
    func check(_ text: String, keepsHeader: Bool) throws(TokenError) -> VerifiedToken {
        let token = try CompactToken(text, limits: policy.limits)
        let known = knownHeaders.withEntry(for: token) { entry in
            Result { () throws(TokenError) in
                let place = try signer(of: token, entry)
                return try check(token, entry.header, entry.keys[place], keepsHeader)
            }
        }
        if let known { return try known.get() }
        let header = try token.header()
        try header.checkCriticalMembers()
        try policy.checkAlgorithm(of: header)
        let entry = KnownHeaders.Entry(header, try keys.keys(for: header), text: token.headerText)
        let place = try signer(of: token, entry)
        guard header.type.map(TypeRule.isSDJWT) != true else {
            throw TokenError(.typeMismatch, "the token is part of an SD-JWT; use SDJWTVerifier")
        }
        knownHeaders.keep(entry)
        return try check(token, header, entry.keys[place], keepsHeader)
    }

    private func signer(of token: CompactToken, _ entry: KnownHeaders.Entry) throws(TokenError) -> Int {
        guard let signer = try token.signer(among: entry.keys) else {
            throw TokenError(.signatureInvalid, "the signature doesn't verify with this key")
        }
        return signer
    }

    private func check(
        _ token: CompactToken,
        _ header: ProtectedHeader,
        _ key: @autoclosure () -> VerificationKey,
        _ keepsHeader: Bool
    ) throws(TokenError) -> VerifiedToken {
        let payload = try token.payload()
        let claims = try token.claims(in: payload)
        let registered = try policy.check(header, claims, signedBy: key(), at: policy.currentDate())
        return VerifiedToken(
            header: keepsHeader ? header.members : [:],
            claims: claims,
            registered: registered,
            payloadBytes: payload
        )
    }
}

/// The header and the payload of a token to be signed, as dictionaries.
///
/// ``JWTRepresentation`` conforms to this protocol. You can also adopt it in a type that defines
/// the content of your tokens. Claims that are a `Codable` type or a ``JSONObject`` don't need it:
/// pass them to ``JWTGenerator`` directly.
public protocol JWTContent {
    /// The members of the header; the generator adds `alg`, and `kid` if the signing service has
    /// one.
    var header: [String: Any] { get }
    /// The claims.
    var payload: [String: Any] { get }
}

/// The header and the payload of a token to be signed, from two dictionaries.
///
/// Values can be `String`, `Bool`, every integer type, every floating-point type (finite),
/// `Decimal`, arrays and dictionaries of these, ``JSONValue`` and its parts, and the types that
/// `JSONSerialization` produces (`NSNumber`, `NSString`, `NSNull`). A `nil` optional becomes
/// `null`, and a `Date` a NumericDate: whole seconds since 1970, rounded down.
public struct JWTRepresentation: JWTContent {
    /// The members of the header.
    public let header: [String: Any]
    /// The claims.
    public let payload: [String: Any]

    /// Creates a representation.
    public init(header: [String: Any], payload: [String: Any]) {
        self.header = header
        self.payload = payload
    }
}
