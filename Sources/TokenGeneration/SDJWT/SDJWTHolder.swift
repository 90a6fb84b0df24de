public import FoundationEssentials

/// The holder of an SD-JWT, who presents it to verifiers
/// ([RFC 9901 §7.2](https://www.rfc-editor.org/rfc/rfc9901#section-7.2)).
///
/// ```swift
/// let holder = try SDJWTHolder(text, verifiedBy: verifier)
/// let presentation = try holder.presentation(
///     disclosing: ["given_name"],
///     nonce: nonce,
///     audience: "https://shop.example",
///     signingService: holderKey
/// )
/// send(presentation.compact)
/// ```
///
/// The SD-JWT contains every claim. Keep it as secret as the claims, and send only presentations.
public struct SDJWTHolder: Sendable, Redacted {
    /// All claims, including those that the holder can hide.
    public let claims: JSONObject
    /// The paths of the claims that the holder can hide.
    public let disclosablePaths: [ClaimPath]

    private let token: SDJWT
    private let processed: SDJWTVerifier.Processed

    /// Creates a holder of a compact SD-JWT, which it verifies.
    ///
    /// - Parameters:
    ///   - compact: The SD-JWT as received from the issuer.
    ///   - verifier: The verifier with the issuer's keys and the holder's policy.
    /// - Throws: ``TokenError`` as ``SDJWTVerifier/verify(_:keyBinding:)`` does, and
    ///   `keyBindingMismatch` if the SD-JWT has a key binding, because it's a presentation.
    public init(_ compact: String, verifiedBy verifier: SDJWTVerifier) throws(TokenError) {
        let (token, processed) = try verifier.received(compact)
        self.init(token, processed)
    }

    /// Creates a holder of an SD-JWT in the flattened or general JSON serialization, which it
    /// verifies.
    ///
    /// - Parameters:
    ///   - json: The SD-JWT as received from the issuer, JSON text in UTF-8.
    ///   - verifier: The verifier with the issuer's keys and the holder's policy.
    /// - Throws: ``TokenError`` as ``SDJWTVerifier/verify(json:keyBinding:)`` does, and
    ///   `keyBindingMismatch` if the SD-JWT has a key binding.
    public init(json: Data, verifiedBy verifier: SDJWTVerifier) throws(TokenError) {
        let (token, processed) = try verifier.received(json: json)
        self.init(token, processed)
    }

    /// Creates a holder of a compact SD-JWT that the application verified when it received it.
    ///
    /// The disclosures are checked, but the issuer's signature and the policy aren't.
    ///
    /// - Parameters:
    ///   - compact: The SD-JWT from the application's own storage.
    ///   - limits: The maximum size of the SD-JWT.
    /// - Throws: ``TokenError`` with the code `malformedToken`, `malformedClaim`,
    ///   `unsupportedAlgorithm`, `malformedDisclosure`, `disclosureMismatch`, `keyBindingMismatch`
    ///   or `tooLarge`.
    public init(unverified compact: String, limits: SDJWTLimits = SDJWTLimits()) throws(TokenError) {
        let token = try SDJWT(compact: compact, limits: limits)
        try token.checkHasNoKeyBinding()
        let jwsLimits = JWSLimits(size: limits.size)
        let payload = try CompactToken(token.issuerJWT, limits: jwsLimits).payload()
        self.init(token, try SDJWTVerifier.Processed(token, payload: payload, jwsLimits, limits))
    }

    /// Creates a holder of an SD-JWT in the flattened or general JSON serialization that the
    /// application verified when it received it.
    ///
    /// The disclosures are checked, but the issuer's signature and the policy aren't. Presentations
    /// have the first signature.
    ///
    /// - Parameters:
    ///   - json: The SD-JWT from the application's own storage, JSON text in UTF-8.
    ///   - limits: The maximum size of the SD-JWT.
    /// - Throws: ``TokenError`` as ``init(unverified:limits:)`` does, and
    ///   `criticalHeaderUnsupported` if the payload isn't encoded.
    public init(unverifiedJSON json: Data, limits: SDJWTLimits = SDJWTLimits()) throws(TokenError) {
        let jwsLimits = JWSLimits(size: limits.size)
        let json = try JSONToken(Array(json), limits: jwsLimits)
        let token = try SDJWT(json, limits: limits)
        try token.checkHasNoKeyBinding()
        let payload = try json.payloadOctets() ?? []
        self.init(token, try SDJWTVerifier.Processed(token, payload: payload, jwsLimits, limits))
    }

    private init(_ token: SDJWT, _ processed: SDJWTVerifier.Processed) {
        self.token = token
        self.processed = processed
        claims = processed.claims
        disclosablePaths = processed.found.map(\.path)
    }

    /// Creates a presentation without a key binding.
    ///
    /// - Warning: Anyone who gets a copy of the presentation can present it again, to any verifier
    ///   that doesn't require a key binding.
    ///
    /// - Parameter paths: The paths of the claims to disclose, in ``claims``. The claims around
    ///   them are disclosed, too. Disclosable claims inside them stay hidden without a path of
    ///   their own. Claims that aren't disclosable are always visible.
    /// - Returns: The presentation.
    /// - Throws: ``TokenError`` with the code `missingClaim` if a path leads to no claim.
    public func presentation(disclosing paths: [ClaimPath]) throws(TokenError) -> SDJWT {
        var chosen: Set<Int> = []
        for path in paths {
            let resolved = path.resolved(in: claims)
            guard !resolved.isEmpty else { throw path.missing }
            for path in resolved {
                for found in processed.found where found.path.isPrefix(of: path) { chosen.insert(found.index) }
            }
        }
        return SDJWT(
            issuerJWT: token.issuerJWT,
            unprotectedHeader: token.unprotectedHeader,
            disclosures: token.disclosures.indices.filter(chosen.contains).map { token.disclosures[$0] }
        )
    }

    /// Creates a presentation with a key binding: a proof for one verifier that the presenter has
    /// the holder's key ([RFC 9901 §4.3](https://www.rfc-editor.org/rfc/rfc9901#section-4.3)).
    ///
    /// - Parameters:
    ///   - paths: The paths of the claims to disclose, as for ``presentation(disclosing:)``. The
    ///     holder's key in `cnf` is always disclosed, because verifiers need it.
    ///   - nonce: The nonce that the verifier sent.
    ///   - audience: The verifier's name.
    ///   - signingService: The service that signs with the holder's key, which the SD-JWT names in
    ///     `cnf`.
    ///   - date: The time at which the key binding is made. The default is the current time.
    /// - Returns: The presentation.
    /// - Throws: ``TokenError`` with the code `missingClaim` if a path leads to no claim,
    ///   `confirmationMismatch` if the SD-JWT isn't bound to a key, `signatureInvalid` if the
    ///   service's key isn't the one in `cnf`, `unsupportedAlgorithm` if the service uses a shared
    ///   secret, `signingFailed`, or the code for a problem with the key in `cnf`. Errors of a
    ///   custom signing service are passed on unchanged.
    public func presentation(
        disclosing paths: [ClaimPath],
        nonce: String,
        audience: String,
        signingService: any LocalSigningService,
        date: Date = Date()
    ) throws -> SDJWT {
        _ = try KeyBindingJWT.holderKey(in: claims)
        var presentation = try presentation(disclosing: paths + [KeyBindingJWT.holderKeyPath])
        let payload: JSONObject = [
            "aud": .string(audience),
            "iat": JSONValue(date: date.wholeSeconds),
            "nonce": .string(nonce),
            "sd_hash": .string(try processed.hash.digest(of: Array(presentation.boundText.utf8))),
        ]
        let text = try JWTGenerator(
            header: ["typ": .string(KeyBindingJWT.type)],
            payload: payload,
            signingService: signingService
        ).token()
        // Verifiers would reject the signature of another key.
        let binding = try KeyBindingJWT.parts(of: text)
        _ = try KeyBindingJWT.signer(
            of: binding,
            binding.header(),
            claims,
            algorithms: [signingService.algorithm]
        )
        presentation.keyBindingJWT = text
        return presentation
    }

    /// The number of claims that can be hidden, but no content.
    public var description: String { "SDJWTHolder(\(disclosablePaths.count) disclosable claims)" }
}
