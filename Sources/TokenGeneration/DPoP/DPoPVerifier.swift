public import FoundationEssentials

/// A verifier of DPoP proofs for servers
/// ([RFC 9449 §4.3](https://www.rfc-editor.org/rfc/rfc9449#section-4.3)).
///
/// ```swift
/// let verifier = DPoPVerifier(replayCache: InMemoryReplayCache())
/// let token = try DPoPAccessToken(
///     text,
///     verified: accessTokenVerifier.verify(text)
/// )
/// let proof = try await verifier.verify(
///     header,
///     method: "GET",
///     url: "https://api.example/orders",
///     for: .resource(accessToken: token),
///     nonce: .notRequired
/// )
/// ```
///
/// The caller makes sure that the request has exactly one `DPoP` header. The verifier checks
/// everything else:
///
/// - `typ` is `dpop+jwt`.
/// - `alg` is asymmetric and allowed.
/// - The key in the header is public, well formed and for that algorithm, and the signature
///   verifies with it.
/// - `htm` is the method, and `htu` is the URL after normalization, without query and fragment.
/// - `iat` is within the window.
/// - `nonce` is an accepted one, if the server requires a nonce.
/// - At a resource, `ath` is the hash of the access token, and the token is bound to the proof's
///   key.
/// - `jti` hasn't been used before with this key.
///
/// All checks of a proof use a single reading of the clock.
public struct DPoPVerifier: Sendable {
    /// The size limits of a proof, 8 KiB by default.
    ///
    /// Proofs with ML-DSA-65 or ML-DSA-87 are larger, about 8.2 and 11.1 KB. To accept them, raise
    /// the limit here and the limit for header fields in your server.
    public var limits: JWSLimits

    package var algorithms: Set<JWSAlgorithm>
    package var currentDate: @Sendable () -> Date
    private let maximumAge: Duration
    private let leeway: Duration
    private let replayCache: any ReplayCache

    static let type = "dpop+jwt"

    /// Creates a verifier.
    ///
    /// - Parameters:
    ///   - replayCache: The store of used proofs. In a single process, all verifiers share one
    ///     ``InMemoryReplayCache``. Servers behind a load balancer need a shared cache.
    ///   - algorithms: The algorithms that proofs may be signed with. The default, `nil`, allows
    ///     all asymmetric algorithms that the package implements. Symmetric ones are always
    ///     rejected.
    ///   - maximumAge: The maximum time since `iat`. The default is 60 seconds.
    ///   - leeway: The tolerated difference between clocks, at both ends of the window. The
    ///     default is 60 seconds; a negative value counts as zero.
    ///   - currentDate: A closure that returns the current time. The default is the system clock.
    public init(
        replayCache: any ReplayCache,
        algorithms: Set<JWSAlgorithm>? = nil,
        maximumAge: Duration = .seconds(60),
        leeway: Duration = .seconds(60),
        currentDate: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.algorithms = algorithms ?? Set(JWSAlgorithm.implemented.filter { !$0.isSymmetric })
        self.maximumAge = maximumAge
        self.leeway = leeway
        limits = JWSLimits(size: 8_192)
        self.replayCache = replayCache
        self.currentDate = currentDate
    }

    /// Verifies a proof and remembers it, so that the next use is rejected.
    ///
    /// - Parameters:
    ///   - proof: The value of the request's only `DPoP` header.
    ///   - method: The request's method.
    ///   - url: The request's URL as the client sees it. Behind a proxy, pass the public URL.
    ///   - expectation: The endpoint that received the request, with the request's access token.
    ///   - nonce: The nonces that the server accepts.
    /// - Returns: The verified proof.
    /// - Throws: ``TokenError`` with the code of the first check that fails: `malformedToken` or
    ///   `tooLarge`; `criticalHeaderUnsupported`, `typeMismatch`, `unsupportedAlgorithm`;
    ///   `publicKeyRequired` if the header's key is private or symmetric, or the code for another
    ///   problem with the key; `signatureInvalid`; `missingClaim`, `malformedClaim`, `expired`,
    ///   `notYetValid`, `issuedInFuture`, `tooOld`; `methodMismatch`, `targetMismatch`,
    ///   `nonceMismatch`, `accessTokenMismatch` or `confirmationMismatch`; `replayed` if the proof
    ///   has been used before or the replay cache can't rule that out; `replayCacheFull` or
    ///   `replayCacheFailed` if the cache can't answer. `CancellationError` if the cache throws it.
    ///   The server responds to `nonceMismatch` with `use_dpop_nonce` and a new nonce
    ///   ([RFC 9449 §8](https://www.rfc-editor.org/rfc/rfc9449#section-8)), and to the others with
    ///   `invalid_dpop_proof`.
    public func verify(
        _ proof: String,
        method: String,
        url: String,
        for expectation: Expectation,
        nonce: NonceRule
    ) async throws -> DPoPProof {
        let now = currentDate()
        let proof = try verifySkippingReplayCheck(
            proof,
            method: method,
            url: url,
            for: expectation,
            nonce: nonce,
            at: now
        )
        try await replayCache.record(
            "the DPoP proof",
            try proof.replayIdentifier(),
            signedBy: proof.thumbprint,
            acceptedUntil: proof.issuedAt + max(maximumAge, .zero) / .seconds(1) + max(leeway, .zero) / .seconds(1),
            at: now
        )
        return proof
    }

    /// The endpoint that a proof is for.
    public struct Expectation: Sendable {
        fileprivate let accessToken: DPoPAccessToken?

        /// The token endpoint, or another endpoint of the authorization server that doesn't take an
        /// access token.
        public static let tokenEndpoint = Expectation(accessToken: nil)

        /// A resource: the proof must be for the access token and signed with the key that the
        /// token is bound to.
        ///
        /// - Parameter accessToken: The access token of the request.
        /// - Returns: The expectation.
        public static func resource(accessToken: DPoPAccessToken) -> Expectation {
            Expectation(accessToken: accessToken)
        }
    }

    /// The nonces that a server accepts
    /// ([RFC 9449 §8](https://www.rfc-editor.org/rfc/rfc9449#section-8)).
    public struct NonceRule: Sendable {
        fileprivate let accepted: [String]?

        /// The server doesn't issue nonces, and the verifier doesn't check `nonce`.
        ///
        /// - Warning: A client can make proofs in advance, as far ahead as it can set its clock.
        public static let notRequired = NonceRule(accepted: nil)

        /// A proof must have one of the given nonces.
        ///
        /// - Parameter nonces: The accepted nonces. An empty list rejects every proof, and an empty
        ///   nonce matches none.
        /// - Returns: The rule.
        public static func oneOf(_ nonces: [String]) -> NonceRule { NonceRule(accepted: nonces) }
    }

    package func verifySkippingReplayCheck(
        _ proof: String,
        method: String,
        url: String,
        for expectation: Expectation,
        nonce: NonceRule,
        at now: Date? = nil
    ) throws(TokenError) -> DPoPProof {
        let token = try CompactToken(proof, limits: limits)
        let header = try token.header()
        try header.checkCriticalMembers()
        try TypeRule.exactly(Self.type).check(header.type)
        let key = try key(in: header)
        guard try token.signer(among: [key]) != nil else {
            throw TokenError(.signatureInvalid, "the proof's signature doesn't verify with the key in its header")
        }
        let claims = try token.claims(in: token.payload())
        let registered = try policy.check(header, claims, signedBy: key, at: now ?? currentDate())
        let found = try DPoPProof(claims, registered, key: key)
        try check(found, method: method, url: url)
        if let accepted = nonce.accepted { try check(found, nonces: accepted) }
        if let accessToken = expectation.accessToken { try check(found, for: accessToken) }
        return found
    }

    private func key(in header: ProtectedHeader) throws(TokenError) -> VerificationKey {
        let algorithm = try header.asymmetricAlgorithm(among: algorithms, for: "DPoP proofs")
        guard let value = header.members["jwk"] else {
            throw TokenError(.malformedToken, "the header has no “jwk”, the key that the proof is signed with")
        }
        guard let members = value.object else {
            throw TokenError(.malformedToken, "“jwk” of the header must be an object, not \(value.kind)")
        }
        return try VerificationKey(sentAs: members, for: algorithm, "“jwk” of the header")
    }

    private var policy: ValidationPolicy {
        var policy = ValidationPolicy(leeway: leeway, expiration: .optional, maximumAge: max(maximumAge, .zero))
        // A proof is bound to its key and to the URL in it. RFC 9449 §4.2 doesn't define either
        // claim.
        policy.issuer = .skipIssuerCheck
        policy.audience = .skipAudienceCheck
        policy.requiredClaims = ["jti", "htm", "htu", "iat"]
        return policy
    }

    private func check(_ proof: DPoPProof, method: String, url: String) throws(TokenError) {
        guard proof.method.isExactly(method) else {
            throw TokenError(.methodMismatch, "the claim “htm” isn't the method of the request")
        }
        guard let expected = HTTPTarget(url) else {
            throw TokenError(
                .targetMismatch,
                "the server's URL of the request isn't an absolute http or https URL"
            )
        }
        guard let found = HTTPTarget(proof.url) else {
            throw TokenError(.targetMismatch, "the claim “htu” isn't an absolute http or https URL")
        }
        guard found == expected else {
            throw TokenError(.targetMismatch, "the claim “htu” isn't the URL of the request")
        }
    }

    private func check(_ proof: DPoPProof, nonces: [String]) throws(TokenError) {
        guard let found = proof.nonce else {
            throw TokenError(.nonceMismatch, "the proof has no “nonce”, but the server requires one")
        }
        for nonce in nonces where !nonce.isEmpty && nonce.isExactly(found) { return }
        throw TokenError(.nonceMismatch, "the claim “nonce” isn't a nonce that the server accepts")
    }

    private func check(_ proof: DPoPProof, for accessToken: DPoPAccessToken) throws(TokenError) {
        guard let hash = proof.accessTokenHash else {
            throw TokenError(
                .missingClaim,
                "the claim “ath” is missing: the proof isn't for a request with an access token"
            )
        }
        guard hash.isExactly(accessToken.hash) else {
            throw TokenError(.accessTokenMismatch, "the claim “ath” isn't the hash of the request's access token")
        }
        guard proof.thumbprint.isExactly(accessToken.thumbprint) else {
            throw TokenError(.confirmationMismatch, "the access token is bound to a different key than the proof's")
        }
    }
}
