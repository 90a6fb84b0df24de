public import Foundation

/// Checks DPoP proofs, as a server must ([RFC 9449 §4.3](https://www.rfc-editor.org/rfc/rfc9449#section-4.3)).
///
/// ```swift
/// let verifier = DPoPVerifier(replayCache: InMemoryReplayCache())
/// let token = try DPoPAccessToken(text, verified: accessTokenVerifier.verify(text))
/// let proof = try await verifier.verify(
///     header,
///     method: "GET",
///     url: "https://api.example/orders",
///     for: .resource(accessToken: token),
///     nonce: .notRequired
/// )
/// ```
///
/// That the request has exactly one `DPoP` header is for the caller to see to. Everything else is checked here: `typ` is
/// `dpop+jwt`; `alg` is asymmetric and allowed; the key in the header is public, well formed and for that algorithm; the
/// signature is that key's; `htm` is the method, `htu` the URL after normalization, without query and fragment; `iat` is
/// within the window; `nonce` is one that is accepted, if one is required; at a resource `ath` is the hash of the access token and the token is bound
/// to the proof's key; and `jti` has not been used before with this key. One reading of the clock decides about a proof.
public struct DPoPVerifier: Sendable {
    /// The algorithms that proofs may be signed with; by default all asymmetric ones that the package implements.
    ///
    /// A symmetric algorithm is refused even if it is here.
    public var algorithms: Set<JWSAlgorithm>
    /// The longest time since `iat`: 60 seconds by default.
    public var maximumAge: Duration
    /// How far clocks may differ: 60 seconds by default.
    ///
    /// It is added to both ends of the window.
    public var leeway: Duration
    /// How large a proof may be: 8 KiB by default.
    public var limits: JWSLimits
    /// Tells the time.
    public var currentDate: @Sendable () -> Date

    private let replayCache: any ReplayCache

    /// The time in seconds that the replay cache remembers a proof after the verifier stops accepting it.
    ///
    /// It covers servers whose clocks differ, and clocks that are set back a little.
    private static let margin: TimeInterval = 60

    /// The media type of proofs.
    static let type = "dpop+jwt"

    /// Makes a verifier.
    ///
    /// - Parameters:
    ///   - replayCache: The store of used proofs: an ``InMemoryReplayCache`` for a single process, which all its verifiers
    ///     share. Servers that share their load must share the cache, too.
    ///   - algorithms: The algorithms that proofs may be signed with; `nil` allows all asymmetric ones that are implemented.
    ///   - maximumAge: The longest time since `iat`.
    ///   - leeway: How far clocks may differ; less than zero counts as zero.
    ///   - currentDate: Tells the time.
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

    /// Checks a proof and remembers it, so that it is refused the next time.
    ///
    /// - Parameters:
    ///   - proof: The value of the request's only `DPoP` header.
    ///   - method: The request's method.
    ///   - url: The request's URL as the client sees it: behind a proxy, the public one.
    ///   - expectation: The endpoint that the request came to, with the access token that came along.
    ///   - nonce: The nonces that a proof needs.
    /// - Returns: What the proof says.
    /// - Throws: ``TokenError`` as `verifySkippingReplayCheck` does, and with the code
    ///   `replayed` if the proof has been used before, or the replay cache can't rule it out; what the replay cache throws,
    ///   such as `replayCacheFull`.
    public func verify(
        _ proof: String,
        method: String,
        url: String,
        for expectation: Expectation,
        nonce: NonceRule
    ) async throws -> DPoPProof {
        let now = currentDate()
        let proof = try check(proof, method: method, url: url, for: expectation, nonce: nonce, at: now)
        let window = max(maximumAge, .zero) / .seconds(1) + max(leeway, .zero) / .seconds(1)
        let isNew = try await replayCache.remember(
            try proof.replayIdentifier(),
            signedBy: proof.thumbprint,
            until: proof.issuedAt.addingTimeInterval(window + Self.margin),
            at: now
        )
        guard isNew else {
            throw TokenError(.replayed, "the DPoP proof has been used before, or the replay cache can't rule it out")
        }
        return proof
    }

    /// Checks a proof, but not whether it has been used before.
    ///
    /// - Warning: Whoever sees a request can repeat it as long as its proof is not too old.
    ///
    /// - Parameters:
    ///   - proof: The value of the request's only `DPoP` header.
    ///   - method: The request's method.
    ///   - url: The request's URL as the client sees it: behind a proxy, the public one.
    ///   - expectation: The endpoint that the request came to, with the access token that came along.
    ///   - nonce: The nonces that a proof needs.
    /// - Returns: What the proof says.
    /// - Throws: ``TokenError`` with the code of the first check that fails: `malformedToken` or `tooLarge`;
    ///   `criticalHeaderUnsupported`, `typeMismatch`, `unsupportedAlgorithm`; `publicKeyRequired` if the header's key is private
    ///   or symmetric, or what else is wrong with it; `signatureInvalid`; `missingClaim`, `malformedClaim`, `expired`,
    ///   `notYetValid`, `issuedInFuture`, `tooOld`; `methodMismatch`, `targetMismatch`, `nonceMismatch`, `accessTokenMismatch`
    ///   or `confirmationMismatch`. For `nonceMismatch` the answer is `use_dpop_nonce` with a new nonce
    ///   ([RFC 9449 §8](https://www.rfc-editor.org/rfc/rfc9449#section-8)), for the others `invalid_dpop_proof`.
    package func verifySkippingReplayCheck(
        _ proof: String,
        method: String,
        url: String,
        for expectation: Expectation,
        nonce: NonceRule
    ) throws(TokenError) -> DPoPProof {
        try check(proof, method: method, url: url, for: expectation, nonce: nonce, at: currentDate())
    }
}

extension DPoPVerifier {
    /// The endpoint that a proof is for.
    public struct Expectation: Sendable {
        fileprivate let accessToken: DPoPAccessToken?

        /// The token endpoint, or another endpoint of the authorization server that takes no access token.
        public static let tokenEndpoint = Expectation(accessToken: nil)

        /// A resource: the proof must be for the access token, and by the key that the token is bound to.
        ///
        /// - Parameter accessToken: The access token of the request.
        /// - Returns: The expectation.
        public static func resource(accessToken: DPoPAccessToken) -> Expectation {
            Expectation(accessToken: accessToken)
        }
    }

    /// The nonces that a proof needs ([RFC 9449 §8](https://www.rfc-editor.org/rfc/rfc9449#section-8)).
    public struct NonceRule: Sendable {
        fileprivate let accepted: [String]?

        /// The server hands out no nonces, and the verifier doesn't check `nonce`.
        ///
        /// - Warning: A client can make proofs in advance, for as far ahead as it can set its clock.
        public static let notRequired = NonceRule(accepted: nil)

        /// A proof needs one of some nonces.
        ///
        /// - Parameter nonces: The nonces. An empty list refuses every proof.
        /// - Returns: The rule.
        public static func oneOf(_ nonces: [String]) -> NonceRule { NonceRule(accepted: nonces) }
    }
}

extension DPoPVerifier {
    /// Checks everything but the replay cache, at one time.
    private func check(
        _ proof: String,
        method: String,
        url: String,
        for expectation: Expectation,
        nonce: NonceRule,
        at now: Date
    ) throws(TokenError) -> DPoPProof {
        let token = try CompactToken(proof, limits: limits)
        let header = try token.header()
        try header.checkCriticalMembers()
        try TypeRule.exactly(Self.type).check(header.type)
        let key = try key(in: header)
        guard try token.signer(among: [key]) != nil else {
            throw TokenError(.signatureInvalid, "the signature is not one by the proof's key over the proof")
        }
        let claims = try token.claims(in: token.payload())
        let registered = try policy.check(header, claims, signedBy: key, at: now)
        let found = try DPoPProof(claims, registered, key: key)
        try check(found, method: method, url: url)
        if let accepted = nonce.accepted { try check(found, nonces: accepted) }
        if let accessToken = expectation.accessToken { try check(found, for: accessToken) }
        return found
    }

    private func key(in header: ProtectedHeader) throws(TokenError) -> VerificationKey {
        guard let algorithm = JWSAlgorithm(rawValue: header.algorithm), algorithms.contains(algorithm),
            !algorithm.isSymmetric
        else {
            throw TokenError(
                .unsupportedAlgorithm,
                "\(TokenError.shown(header.algorithm)) is not an algorithm that DPoP proofs may be signed with here"
            )
        }
        guard let value = header.members["jwk"] else {
            throw TokenError(.malformedToken, "the header has no “jwk”, the key that the proof is about")
        }
        guard let members = value.object else {
            throw TokenError(.malformedToken, "“jwk” of the header must be an object, not \(value.kind)")
        }
        let jwk = try JWK(members)
        guard !jwk.isPrivate, KeyType(rawValue: jwk.keyType) != .oct else {
            throw TokenError(
                .publicKeyRequired,
                "“jwk” of the header is a private key: whoever sent it must replace it"
            )
        }
        let key = try VerificationKey(jwk: jwk, algorithm: algorithm, maximumRSAKeySize: RSAKeyLimit.message)
        guard key.accepts(algorithm: header.algorithm) else {
            throw TokenError(
                .algorithmMismatch,
                "“alg” of the header is \(algorithm), the key in it is for \(key.algorithm)"
            )
        }
        return key
    }

    private var policy: ValidationPolicy {
        var policy = ValidationPolicy(leeway: leeway, expiration: .optional, maximumAge: max(maximumAge, .zero))
        // A proof is its key's, and made for the URL in it: RFC 9449 §4.2 has neither claim.
        policy.issuer = .skipIssuerCheck
        policy.audience = .skipAudienceCheck
        policy.requiredClaims = ["jti", "htm", "htu", "iat"]
        return policy
    }

    private func check(_ proof: DPoPProof, method: String, url: String) throws(TokenError) {
        guard proof.method.isExactly(method) else {
            throw TokenError(.methodMismatch, "the claim “htm” is not the method of the request")
        }
        guard let expected = HTTPTarget(url) else {
            throw TokenError(
                .targetMismatch,
                "the URL of the request, as the server gave it, is no absolute http(s) URL"
            )
        }
        guard let found = HTTPTarget(proof.url) else {
            throw TokenError(.targetMismatch, "the claim “htu” is not an absolute http or https URL")
        }
        guard found == expected else {
            throw TokenError(.targetMismatch, "the claim “htu” is not the URL of the request")
        }
    }

    private func check(_ proof: DPoPProof, nonces: [String]) throws(TokenError) {
        guard let found = proof.nonce else {
            throw TokenError(.nonceMismatch, "the proof has no “nonce”, which the server demands")
        }
        for nonce in nonces where nonce.isExactly(found) { return }
        throw TokenError(.nonceMismatch, "the claim “nonce” is not one that the server accepts")
    }

    private func check(_ proof: DPoPProof, for accessToken: DPoPAccessToken) throws(TokenError) {
        guard let hash = proof.accessTokenHash else {
            throw TokenError(
                .missingClaim,
                "the claim “ath” is missing: the proof is not for a request with an access token"
            )
        }
        guard hash.isExactly(accessToken.hash) else {
            throw TokenError(.accessTokenMismatch, "the claim “ath” is not the hash of the request's access token")
        }
        guard proof.thumbprint.isExactly(accessToken.thumbprint) else {
            throw TokenError(.confirmationMismatch, "the access token is bound to another key than the proof's")
        }
    }
}
