public import FoundationEssentials

/// A verifier of presented SD-JWTs, with or without a key binding
/// ([RFC 9901 §7](https://www.rfc-editor.org/rfc/rfc9901#section-7)).
///
/// ```swift
/// let verifier = SDJWTVerifier(
///     key: issuerKey,
///     policy: ValidationPolicy(issuer: "https://issuer.example")
/// )
/// let credential = try verifier.verify(
///     text,
///     keyBinding: .required(nonce: nonce, audience: "https://shop.example")
/// )
/// ```
///
/// The keys fix the algorithm, which must be asymmetric. The policy applies to the processed
/// claims: those that the issuer made visible and those that the holder disclosed. A claim that the
/// holder didn't disclose is absent, so name all claims that you need in
/// ``ValidationPolicy/requiredClaims``.
///
/// The header's `typ` must be `sd-jwt` or end with `+sd-jwt`, unless the policy requires another
/// type. Otherwise, an attacker could present any token of the issuer, such as an access token, as
/// an SD-JWT without disclosures.
public struct SDJWTVerifier: Sendable {
    /// The maximum size of an SD-JWT.
    public var limits = SDJWTLimits()
    /// The algorithms that holders may sign key bindings with.
    ///
    /// The default is all asymmetric algorithms that the package implements. Symmetric algorithms
    /// are rejected even if they are in this set.
    public var keyBindingAlgorithms = Set(JWSAlgorithm.implemented.filter { !$0.isSymmetric })

    private let signatures: JWSVerifier
    private let policy: ValidationPolicy

    /// Creates a verifier for one key.
    ///
    /// A `kid` in the header is ignored; the signature is conclusive.
    ///
    /// - Parameters:
    ///   - key: The issuer's key.
    ///   - policy: The policy for the processed claims.
    public init(key: VerificationKey, policy: ValidationPolicy = ValidationPolicy()) {
        signatures = JWSVerifier(key: key)
        self.policy = policy
    }

    /// Creates a verifier for a key set.
    ///
    /// The `kid` of a signature selects the key, as in
    /// ``JWTVerifier/init(keys:selection:policy:)``.
    ///
    /// - Parameters:
    ///   - keys: The issuer's keys.
    ///   - selection: Exceptions from the rules of key selection.
    ///   - policy: The policy for the processed claims.
    public init(
        keys: JWKSet,
        selection: KeySelection = KeySelection(),
        policy: ValidationPolicy = ValidationPolicy()
    ) {
        signatures = JWSVerifier(keys: keys, selection: selection.assuming(policy.algorithms))
        self.policy = policy
    }

    /// Verifies a compact SD-JWT or SD-JWT+KB.
    ///
    /// - Parameters:
    ///   - compact: The presentation. A plain JWT, without `~`, is rejected.
    ///   - rule: The rule about key bindings.
    /// - Returns: The processed claims.
    /// - Throws: ``TokenError`` with the code of the first check that fails: `malformedToken`,
    ///   `malformedDisclosure` or `tooLarge`; `keyBindingMismatch` if a required key binding is
    ///   missing; for the issuer's signature the codes of
    ///   ``JWSVerifier/verify(compact:detachedPayload:)``, and `unsupportedAlgorithm` if the key is
    ///   a shared secret; `typeMismatch`; for `_sd_alg` `malformedClaim` or
    ///   `unsupportedAlgorithm`; `disclosureMismatch`, `malformedDisclosure` or `malformedClaim`
    ///   while processing the disclosures; the codes of the policy, as
    ///   ``JWTVerifier/verify(_:)`` has them; for the key binding `confirmationMismatch`,
    ///   `unsupportedAlgorithm`, `publicKeyRequired` or the code for another problem with the
    ///   holder's key, `signatureInvalid`, `typeMismatch`, `missingClaim`, `malformedClaim`,
    ///   `issuedInFuture`, `tooOld`, `expired`, `notYetValid`, `nonceMismatch`,
    ///   `audienceMismatch` or `hashMismatch`.
    public func verify(_ compact: String, keyBinding rule: KeyBindingRule) throws(TokenError) -> VerifiedSDJWT {
        let presented = try SDJWT(compact: compact, limits: limits)
        try rule.checkPresence(in: presented)
        return try verified(presented, issuerSignatures.verify(compact: presented.issuerJWT), rule)
    }

    /// Verifies an SD-JWT or SD-JWT+KB in the flattened or general JSON serialization
    /// ([RFC 9901 §8](https://www.rfc-editor.org/rfc/rfc9901#section-8)).
    ///
    /// At least one signature must be the issuer's. Other signatures are ignored.
    ///
    /// - Parameters:
    ///   - json: The presentation, JSON text in UTF-8.
    ///   - rule: The rule about key bindings.
    /// - Returns: The processed claims.
    /// - Throws: ``TokenError`` as ``verify(_:keyBinding:)`` does, and for the signatures the codes
    ///   of ``JWSVerifier/verify(json:detachedPayload:requiring:)-(String,_,_)``.
    public func verify(json: Data, keyBinding rule: KeyBindingRule) throws(TokenError) -> VerifiedSDJWT {
        let token = try JSONToken(Array(json), limits: issuerSignatures.limits)
        let presented = try SDJWT(token, limits: limits)
        try rule.checkPresence(in: presented)
        return try verified(presented, issuerSignatures.verify(token, nil, .any), rule)
    }

    struct Processed {
        let claims: JSONObject
        let hash: NamedHash
        let found: [DisclosureProcessor.Found]
    }

    private func verified(
        _ presented: SDJWT,
        _ jws: VerifiedJWS,
        _ rule: KeyBindingRule
    ) throws(TokenError) -> VerifiedSDJWT {
        let now = policy.currentDate()
        let (processed, registered) = try check(presented, jws, at: now)
        return VerifiedSDJWT(
            header: jws.header,
            claims: processed.claims,
            registered: registered,
            disclosedPaths: processed.found.map(\.path),
            keyBinding: try keyBinding(of: presented, processed, rule, at: now)
        )
    }

    /// [RFC 9901 §7.1](https://www.rfc-editor.org/rfc/rfc9901#section-7.1), after the issuer's
    /// signature.
    private func check(
        _ token: SDJWT,
        _ jws: VerifiedJWS,
        at now: Date
    ) throws(TokenError) -> (Processed, RegisteredClaims) {
        let key = jws.signatures[0].key
        guard !key.algorithm.isSymmetric else {
            throw TokenError(
                .unsupportedAlgorithm,
                "\(key.algorithm) can't sign SD-JWTs, because verifiers have the secret"
            )
        }
        guard jws.payloadEncoding == .base64url else {
            throw TokenError(.criticalHeaderUnsupported, "the payload of an SD-JWT must be encoded; remove “b64”")
        }
        let header = try ProtectedHeader(jws.header)
        if policy.type == .any { try TypeRule.checkIsSDJWT(header.type) } else { try policy.type.check(header.type) }
        let processed = try Processed(token, payload: Array(jws.payload), policy.limits, limits)
        return (processed, try policy.check(header, processed.claims, signedBy: key, at: now))
    }

    private func keyBinding(
        of presented: SDJWT,
        _ processed: Processed,
        _ rule: KeyBindingRule,
        at now: Date
    ) throws(TokenError) -> VerifiedSDJWT.KeyBinding? {
        guard let text = presented.keyBindingJWT else { return nil }
        guard let requirement = rule.requirement else {
            _ = try KeyBindingJWT.parts(of: text)
            return nil
        }
        return try KeyBindingJWT.verify(
            text,
            requirement,
            boundText: presented.boundText,
            hash: processed.hash,
            processed: processed.claims,
            algorithms: keyBindingAlgorithms,
            leeway: policy.leeway,
            at: now
        )
    }

    /// The limit of the SD-JWT's size is also that of the issuer-signed JWT, in every form.
    private var issuerSignatures: JWSVerifier {
        var verifier = signatures
        verifier.limits = policy.limits
        verifier.limits.size = limits.size
        return verifier
    }

    func received(_ compact: String) throws(TokenError) -> (SDJWT, Processed) {
        let token = try SDJWT(compact: compact, limits: limits)
        try token.checkHasNoKeyBinding()
        let jws = try issuerSignatures.verify(compact: token.issuerJWT)
        return (token, try check(token, jws, at: policy.currentDate()).0)
    }

    func received(json: Data) throws(TokenError) -> (SDJWT, Processed) {
        let token = try JSONToken(Array(json), limits: issuerSignatures.limits)
        try SDJWT(token, limits: limits).checkHasNoKeyBinding()
        let jws = try issuerSignatures.verify(token, nil, .any)
        let received = try SDJWT(token, signature: jws.signatures[0].index, limits: limits)
        return (received, try check(received, jws, at: policy.currentDate()).0)
    }
}

extension SDJWTVerifier.Processed {
    init(
        _ token: SDJWT,
        payload: [UInt8],
        _ jwsLimits: JWSLimits,
        _ limits: SDJWTLimits
    ) throws(TokenError) {
        let payload = try jwsLimits.claims(in: payload)
        hash = try NamedHash(in: payload)
        var processor = try DisclosureProcessor(token.disclosures, hash: hash, limits: limits)
        claims = try processor.process(payload)
        found = processor.found
    }
}

extension SDJWT {
    /// [RFC 9901 §7.2](https://www.rfc-editor.org/rfc/rfc9901#section-7.2).
    func checkHasNoKeyBinding() throws(TokenError) {
        guard keyBindingJWT == nil else {
            throw TokenError(
                .keyBindingMismatch,
                "the SD-JWT has a key binding, so it's a presentation, and not from the issuer"
            )
        }
    }
}
