public import Foundation
import Networking
public import OAuth2
public import TokenGeneration

/// A verifier of the access tokens in requests to an API.
///
/// ```swift
/// let verifier = AccessTokenVerifier(
///     issuer: "https://id.example",
///     audience: "https://api.example",
///     keys: .url(jwksURL)
/// )
/// do {
///     let token = try await verifier.verify(
///         request,
///         requires: AccessRequirement(scope: ["orders.read"])
///     )
///     return orders(of: token.subject)
/// } catch {
///     return Response(status: error.status, headers: error.headers)
/// }
/// ```
///
/// Create one verifier and share it. It can accept the tokens of several issuers
/// (``init(issuers:audience:)``). It checks that:
///
/// - The token is in the only `Authorization` field. Tokens in a query or a form are ignored,
///   because those end up in logs.
/// - A JWT meets the profile of [RFC 9068](https://www.rfc-editor.org/rfc/rfc9068), is signed with
///   a key of the issuer, names the right audience and is currently valid; see ``policy``.
/// - A token that is bound to a key comes with a DPoP proof of that key, made for this request and
///   not used before ([RFC 9449 §7](https://www.rfc-editor.org/rfc/rfc9449#section-7)). Sent as a
///   bearer token, it's rejected.
/// - A token that is bound to a certificate comes over a connection on which the client presented
///   it ([RFC 8705 §3](https://www.rfc-editor.org/rfc/rfc8705#section-3)). A token with any other
///   binding is rejected.
/// - The token has the required scope, and the user's authentication is strong and recent enough.
/// - The token isn't revoked and hasn't been used before, if ``statusLists`` or ``replayCache`` is
///   set.
public struct AccessTokenVerifier: Sendable {
    /// The policy that a JWT must meet.
    ///
    /// The default is that of RFC 9068 (`ValidationPolicy.accessToken(issuer:audience:)`).
    ///
    /// For an introspected token, only the policy's issuer, subject, audience, leeway and clock
    /// apply. The introspection response must have an `aud`; for a server that sends none, use
    /// `AudienceRule.absentOrContains(_:)`:
    ///
    /// ```swift
    /// verifier.policy.audience = .absentOrContains("https://api.example")
    /// ```
    ///
    /// Many issuers don't conform to RFC 9068. For those, adapt the policy to their tokens:
    ///
    /// ```swift
    /// verifier.policy.type = .absentOrJWT
    /// verifier.policy.requiredClaims = ["sub", "aud", "exp"]
    /// ```
    ///
    /// A key that doesn't state `alg` is for the algorithm in the policy's `algorithms` that fits
    /// it, or for RS256 if there are none.
    public var policy: ValidationPolicy
    /// The name of the claim with the scope, a string or an array of strings; by default `scope`.
    public var scopeClaim = "scope"
    /// Comes before `client_id`.
    var clientClaim = "client_id"
    /// The realm in challenges.
    public var realm: String?
    /// The URL of the API's metadata, for challenges
    /// ([RFC 9728 §5.1](https://www.rfc-editor.org/rfc/rfc9728#section-5.1)).
    public var resourceMetadata: URL?
    /// The verifier of DPoP proofs.
    ///
    /// The default is `nil`, which rejects every token that is bound to a key. Servers behind a
    /// load balancer must share its replay cache. Its clock is that of ``policy``.
    public var dpop: DPoPVerifier?
    /// The nonces that DPoP proofs must have.
    ///
    /// The default is `nil`, which requires no nonce.
    public var nonces: (any DPoPNonces)?
    /// A Boolean value that indicates whether a token must be bound to a key or a certificate.
    ///
    /// The default is `false`.
    public var requiresBoundTokens = false

    /// The introspection of tokens that aren't JWTs
    /// ([RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)).
    ///
    /// The default is `nil`, which rejects such tokens. A token in the form of a JWT is verified as
    /// one and never introspected, unless the verifier has no keys. A verifier for several issuers
    /// uses the introspection of each issuer instead of this one (``TrustedIssuer/introspection``).
    public var introspection: CachedTokenIntrospection?

    /// The status lists of the issuer, to reject revoked JWTs.
    ///
    /// The default is `nil`, which accepts a JWT until it expires. The status is checked last,
    /// after the requirements of the request. If the list isn't available, the refusal is
    /// `undecided`. Introspected tokens aren't checked, because their server knows the status. A
    /// verifier for several issuers uses the lists of each issuer instead of these
    /// (``TrustedIssuer/statusLists``).
    public var statusLists: CachedStatusLists?

    /// The store of used tokens, to accept each token only once.
    ///
    /// The default is `nil`, which accepts a token until it expires.
    ///
    /// With a cache, a token must have a `jti`, and must expire within the policy's
    /// `maximumLifetime`, or within a day if the policy doesn't set one. The verifier remembers the
    /// token last, so that a rejected request doesn't use it up. If the cache is full or fails, the
    /// refusal is `undecided`. Servers behind a load balancer must share the cache.
    ///
    /// ```swift
    /// verifier.replayCache = InMemoryReplayCache()
    /// ```
    public var replayCache: (any ReplayCache)?

    /// The decrypter of encrypted access tokens, with the algorithms that were agreed with the
    /// authorization server.
    ///
    /// The default is `nil`, which rejects encrypted tokens. With a decrypter, a JWT that isn't
    /// encrypted is rejected ([RFC 9068 §4](https://www.rfc-editor.org/rfc/rfc9068#section-4)). It
    /// must be signed first and encrypted then. Several issuers share the decrypter.
    ///
    /// ```swift
    /// verifier.decrypter = JWEDecrypter(
    ///     key: key,
    ///     policy: DecryptionPolicy(
    ///         algorithms: [.ecdhESA256KW], encryptions: [.a256GCM]
    ///     )
    /// )
    /// ```
    public var decrypter: JWEDecrypter?

    var jwtVerifier: RemoteJWTVerifier?
    var trusted: TrustedIssuers?

    /// Creates a verifier of an issuer's tokens.
    ///
    /// To introspect every token, whether or not it's a JWT, pass no keys:
    ///
    /// ```swift
    /// var verifier = AccessTokenVerifier(
    ///     issuer: "https://id.example",
    ///     audience: "https://api.example",
    ///     keys: nil
    /// )
    /// verifier.introspection = introspection
    /// ```
    ///
    /// - Parameters:
    ///   - issuer: The authorization server's issuer identifier, exactly as in its metadata.
    ///   - audience: The issuer's name for this API.
    ///   - keys: The issuer's keys. The default is those that its metadata names
    ///     ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414)); `nil` requires ``introspection``
    ///     of all tokens.
    public init(issuer: String, audience: String, keys: IssuerKeys? = .published) {
        policy = .accessToken(issuer: issuer, audience: audience)
        jwtVerifier = keys.map { RemoteJWTVerifier(keys: $0.of(issuer: issuer)) }
    }

    /// Creates a verifier of the tokens that a well-known issuer makes for this API.
    ///
    /// ```swift
    /// let verifier = AccessTokenVerifier(
    ///     .entra(tenants: ["8eaef023-2b34-4da1-9baa-8bc8c9d6a490"]),
    ///     audience: "6e74172b-be56-4843-9ff4-e66a39bb12e3"
    /// )
    /// ```
    ///
    /// The ``policy`` is the issuer's, instead of that of RFC 9068.
    ///
    /// - Parameters:
    ///   - issuer: The issuer.
    ///   - audience: The issuer's name for this API.
    ///   - keys: The issuer's keys. The default is those that the issuer publishes.
    public init(_ issuer: TokenIssuer, audience: String, keys: IssuerKeys = .published) {
        policy = issuer.policy(audience: audience)
        scopeClaim = issuer.scopeClaim
        clientClaim = issuer.clientClaim
        jwtVerifier = RemoteJWTVerifier(keys: keys.of(issuer))
    }

    /// Verifies the access token of a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - requirement: The requirements in addition to a valid token. The default is empty.
    /// - Returns: The token. Add its ``VerifiedAccessToken/responseHeaders`` to the response.
    /// - Throws: ``AccessRefusal``, with the response to send.
    public func verify(
        _ request: ProtectedRequest,
        requires requirement: AccessRequirement = AccessRequirement()
    ) async throws(AccessRefusal) -> VerifiedAccessToken {
        try await stopped(at: policy.currentDate()).decision(about: request, requirement)
    }

    /// Checks further requirements of a request whose token is already verified.
    ///
    /// A server that verifies the token in one place and knows the route's requirement in another
    /// calls it there.
    ///
    /// ```swift
    /// try verifier.check(token, requires: AccessRequirement(scope: ["orders.write"]))
    /// ```
    ///
    /// - Parameters:
    ///   - token: The request's token, verified by ``verify(_:requires:)``.
    ///   - requirement: The requirements.
    /// - Throws: ``AccessRefusal`` with the code `insufficientScope` or
    ///   `insufficientAuthentication`, with the response to send.
    public func check(
        _ token: VerifiedAccessToken,
        requires requirement: AccessRequirement
    ) throws(AccessRefusal) {
        try check(requirement, token, token.binding == .key ? .dpop : .bearer)
    }

    /// Returns the verifier with fixed clocks, so that all checks of one request use the same time.
    private func stopped(at now: Date) -> Self {
        var verifier = self
        verifier.policy.currentDate = { now }
        verifier.dpop?.currentDate = { now }
        return verifier
    }

    private func decision(
        about request: ProtectedRequest,
        _ requirement: AccessRequirement
    ) async throws(AccessRefusal) -> VerifiedAccessToken {
        let presented = try presentedToken(of: request, requirement)
        let verified = try await verified(presented)
        var token = verified.token
        try await checkBinding(of: &token, presented, request)
        try check(requirement, token, presented.scheme)
        try await checkStatus(of: token, in: verified.statusLists, presented)
        try await checkIsFirstUse(verified.use, presented)
        return token
    }

    // MARK: Token

    /// A valid token with what the remaining checks need.
    private struct Verified {
        var token: VerifiedAccessToken
        /// `nil` if the token can't be in one.
        var statusLists: CachedStatusLists?
        /// `nil` if the use needn't be the first.
        var use: SingleUse?
    }

    private func presentedToken(
        of request: ProtectedRequest,
        _ requirement: AccessRequirement
    ) throws(AccessRefusal) -> PresentedToken {
        let presented: PresentedToken?
        do { presented = try PresentedToken(request.headers) } catch {
            throw AccessRefusal(
                .malformedRequest,
                error.description,
                challenges: challenges(nil, .invalidRequest, error.description)
            )
        }
        guard let presented, presented.scheme == .bearer || dpop != nil else {
            throw AccessRefusal(
                .noToken,
                "the request has no access token",
                challenges: challenges(nil, nil, nil, ResourceDemand(scope: requirement.scope))
            )
        }
        return presented
    }

    private func verified(_ presented: PresentedToken) async throws(AccessRefusal) -> Verified {
        do {
            let token = try opened(presented.text)
            guard let trusted else { return try await verified(presented.text, token) }
            let (issuer, isJWT) = try trusted.issuer(of: token.text)
            return try await confined(to: issuer).verified(presented.text, token, isJWT: isJWT)
        } catch let error as TokenError {
            throw invalidToken(presented, "the access token is invalid: \(error.message)", cause: error)
        } catch {
            throw AccessRefusal(.undecided, "the access token couldn't be verified", cause: error)
        }
    }

    /// Returns the text itself if it isn't a JWE or if nothing decrypts it.
    private func opened(_ text: String) throws(TokenError) -> OpenedToken {
        guard let decrypter, jwtVerifier != nil || trusted != nil, (try? UnverifiedJWE(compact: text)) != nil else {
            return OpenedToken(text: text)
        }
        return try JWEDecrypter?(decrypter).opened(text, "the access token")
    }

    // Verifies a token of the only issuer: the text as presented, for introspection, or the signed
    // token. Only a `TokenError` means that the token is invalid.
    private func verified(_ text: String, _ token: OpenedToken, isJWT: Bool? = nil) async throws -> Verified {
        try policy.checkAcceptsAny()
        if let introspection, jwtVerifier == nil || !(isJWT ?? ((try? UnverifiedToken(token.text)) != nil)) {
            let (found, answer) = try await introspected(text, by: introspection)
            return Verified(
                token: found,
                use: replayCache == nil ? nil : try use(of: answer, by: introspection)
            )
        }
        guard let jwtVerifier else { throw TokenError(.unknownKey, "the verifier has no keys for the token") }
        if decrypter != nil, token.encryptionHeader == nil {
            try JWEDecrypter?.checkIsEncrypted(text, "the access token")
        }
        let use = replayCache == nil ? nil : SingleUse()
        let verified = try await jwtVerifier.verify(token.text, against: use?.policy(policy) ?? policy)
        return Verified(
            token: try VerifiedAccessToken(
                try token.checked(verified),
                scopeClaim: scopeClaim,
                clientClaim: clientClaim
            ),
            statusLists: statusLists,
            use: use
        )
    }

    // MARK: Requirements

    private func check(
        _ requirement: AccessRequirement,
        _ token: VerifiedAccessToken,
        _ scheme: PresentedToken.Scheme
    ) throws(AccessRefusal) {
        guard requirement.scope.allSatisfy({ name in token.scope.contains(where: name.isExactly) }) else {
            let demand = ResourceDemand(scope: requirement.scope)
            let challenge = challenge(scheme, .insufficientScope, "The access token has insufficient scope", demand)
            throw AccessRefusal(
                .insufficientScope,
                "the access token has insufficient scope: the request requires \(Self.shown(requirement.scope)), "
                    + "the token has \(Self.shown(token.scope))",
                challenges: [challenge]
            )
        }
        guard let shortcoming = shortcoming(of: token, requirement) else { return }
        let demand = ResourceDemand(
            acrValues: requirement.acrValues,
            maxAge: requirement.maximumAuthenticationAge
        )
        let challenge = challenge(scheme, .insufficientUserAuthentication, "The user must authenticate again", demand)
        throw AccessRefusal(.insufficientAuthentication, shortcoming, challenges: [challenge])
    }

    /// A token can have any number of names.
    private static func shown(_ scope: [String]) -> String {
        let names = scope.prefix(20).map(TokenError.shown).joined(separator: " ")
        return names.isEmpty ? "none" : scope.count > 20 ? "\(names) and \(scope.count - 20) more" : names
    }

    private func shortcoming(of token: VerifiedAccessToken, _ requirement: AccessRequirement) -> String? {
        if !requirement.acrValues.isEmpty {
            guard let found = token.claims["acr"]?.string, requirement.acrValues.contains(where: found.isExactly) else {
                return "the user hasn't authenticated with an accepted authentication context class"
            }
        }
        if let maximumAge = requirement.maximumAuthenticationAge {
            let now = policy.currentDate().timeIntervalSince1970
            let leeway = max(policy.leeway, .zero) / .seconds(1)
            guard let time = token.claims["auth_time"]?.number?.double, time <= now + leeway else {
                return "the time of the user's authentication is unknown"
            }
            guard now - time <= maximumAge / .seconds(1) + leeway else {
                return "the user authenticated too long ago"
            }
        }
        return nil
    }

    /// Only an accepted token may cause a request, so this follows the other checks
    /// ([Token Status List
    /// §8.3](https://datatracker.ietf.org/doc/html/draft-ietf-oauth-status-list-20#section-8.3)).
    func checkStatus(
        of token: VerifiedAccessToken,
        in lists: CachedStatusLists?,
        _ presented: PresentedToken
    ) async throws(AccessRefusal) {
        guard let lists else { return }
        do {
            try await lists.check(token.claims)
        } catch let error as TokenError {
            throw invalidToken(presented, "the access token is invalid: \(error.message)", cause: error)
        } catch {
            throw AccessRefusal(.undecided, "the status of the access token couldn't be checked", cause: error)
        }
    }

    /// The very last check, so that a rejected request doesn't use up its token.
    func checkIsFirstUse(_ use: SingleUse?, _ presented: PresentedToken) async throws(AccessRefusal) {
        guard let replayCache else { return }
        do {
            guard let use else { throw TokenError(.replayCacheFailed, "the token's use wasn't read") }
            try await use.record(in: replayCache)
        } catch let error as TokenError where ![.replayCacheFull, .replayCacheFailed].contains(error.code) {
            throw invalidToken(presented, "the access token is invalid: \(error.message)", cause: error)
        } catch {
            throw AccessRefusal(.undecided, "the first use of the access token couldn't be recorded", cause: error)
        }
    }

    /// Throws `missingClaim`, `malformedClaim` or `lifetimeTooLong`.
    func use(of answer: IntrospectedToken, by introspection: CachedTokenIntrospection) throws(TokenError) -> SingleUse {
        let use = SingleUse()
        try use.read(
            RegisteredClaims(issuer: answer.issuer, expiration: answer.expiration, jwtID: answer.jwtID),
            signer: introspection.issuer,
            limit: policy.maximumLifetime,
            leeway: policy.leeway,
            at: policy.currentDate()
        )
        return use
    }
}
