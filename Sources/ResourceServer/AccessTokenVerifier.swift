public import Foundation
import Networking
import OAuth2
public import TokenGeneration

/// Lets requests with a good access token into your own API, and says what to answer to others.
///
/// ```swift
/// let verifier = AccessTokenVerifier(
///     issuer: "https://id.example", audience: "https://api.example", keys: RemoteKeySet(url: jwksURL)
/// )
/// do {
///     let token = try await verifier.verify(request, requires: AccessRequirement(scope: ["orders.read"]))
///     return orders(of: token.subject)
/// } catch {
///     return Response(status: error.status, headers: error.headers)
/// }
/// ```
///
/// Make one and share it; several issuers can have one together (``init(issuers:audience:currentDate:)``). What is checked:
///
/// - The token stands in the only `Authorization` field; one in a query or a form is not looked for, because those end up in logs.
/// - A JWT is one of the profile of [RFC 9068](https://www.rfc-editor.org/rfc/rfc9068), signed with a key of the issuer, for your
///   audience and good now: see ``policy``.
/// - A token that is bound to a key comes with a DPoP proof of it for this very request, which has not been used before
///   ([RFC 9449 §7](https://www.rfc-editor.org/rfc/rfc9449#section-7)). Sent as a bearer token it is refused.
/// - A token that is bound to a certificate comes over a connection in which the client showed it
///   ([RFC 8705 §3](https://www.rfc-editor.org/rfc/rfc8705#section-3)). One that is bound in another way is refused.
/// - The token has the scope, and the user has authenticated as strongly and as recently, as the request needs.
public struct AccessTokenVerifier: Sendable {
    /// The name by which the issuer knows this API.
    public internal(set) var audience: String
    /// What a JWT must say; by default what RFC 9068 demands (`ValidationPolicy.accessToken(issuer:audience:)`).
    ///
    /// Of a token that the authorization server is asked about, the policy decides by its issuer, subject, audience, leeway and
    /// clock. The server's answer must have an `aud`; for a server that sends none, use `AudienceRule.absentOrContains(_:)`:
    ///
    /// ```swift
    /// verifier.policy.audience = .absentOrContains("https://api.example")
    /// ```
    ///
    /// Many issuers don't keep to RFC 9068. For those, say what their tokens have:
    ///
    /// ```swift
    /// verifier.policy.type = .absentOrJWT
    /// verifier.policy.requiredClaims = ["sub", "aud", "exp"]
    /// ```
    public var policy: ValidationPolicy
    /// The claim that has the scope, a string or an array of strings: `scope`, unless an issuer calls it otherwise.
    public var scopeClaim = "scope"
    /// What challenges call the thing that is protected.
    public var realm: String?
    /// Where the API's metadata are, for challenges ([RFC 9728 §5.1](https://www.rfc-editor.org/rfc/rfc9728#section-5.1)).
    public var resourceMetadata: URL?
    /// The verifier of DPoP proofs; `nil`, the default, to reject every token that is bound to a key.
    ///
    /// Servers that share their load have to share its replay cache. The clock is the one of ``policy``.
    public var dpop: DPoPVerifier?
    /// The nonces that DPoP proofs need; `nil`, the default, if they need none.
    public var nonces: (any DPoPNonces)?
    /// Whether a token has to be bound to a key or a certificate; no by default.
    public var requiresBoundTokens = false

    /// What is asked about tokens that are no JWTs; `nil`, the default, if there are none.
    ///
    /// A token that has the form of a JWT is verified as one, and refused if it is none that is good. Of several issuers each has its own
    /// (``TrustedIssuer/introspection``), and this one is not asked.
    public var introspection: CachedTokenIntrospection?

    var keys: IssuerKeys?
    /// The issuers, if there are several.
    var trusted: TrustedIssuers?

    init(
        _ policy: ValidationPolicy,
        _ audience: String,
        keys: IssuerKeys?,
        introspection: CachedTokenIntrospection?,
        currentDate: @escaping @Sendable () -> Date
    ) {
        self.audience = audience
        self.policy = policy
        self.policy.currentDate = currentDate
        self.keys = keys
        self.introspection = introspection
    }

    /// Decides about a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - requirement: What it needs beside a good token.
    /// - Returns: The token. Its ``VerifiedAccessToken/responseHeaders`` belong into the response.
    /// - Throws: ``AccessRefusal``, which says what to answer.
    public func verify(
        _ request: ProtectedRequest,
        requires requirement: AccessRequirement = AccessRequirement()
    ) async throws(AccessRefusal) -> VerifiedAccessToken {
        try await stopped(at: policy.currentDate()).decision(about: request, requirement)
    }

    /// The verifier with its clocks stopped, so that all checks of one request agree on what time it is.
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
        var token = try await verified(presented)
        try await checkBinding(of: &token, presented, request)
        try check(requirement, token, presented)
        return token
    }

    // MARK: The token

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

    private func verified(_ presented: PresentedToken) async throws(AccessRefusal) -> VerifiedAccessToken {
        do {
            guard let trusted else { return try await verified(presented.text) }
            let (issuer, isJWT) = try trusted.issuer(of: presented.text)
            return try await confined(to: issuer).verified(presented.text, isJWT: isJWT)
        } catch let error as TokenError {
            throw invalidToken(presented, "the access token is not good", cause: error)
        } catch {
            throw AccessRefusal(
                .undecided,
                "it could not be found out whether the access token is good",
                cause: error
            )
        }
    }

    /// Verifies a token of the one issuer.
    ///
    /// - Parameters:
    ///   - text: The token.
    ///   - isJWT: Whether it has the form of a JWT; `nil` if nobody has looked yet.
    /// - Returns: What it entitles to.
    /// - Throws: `TokenError` if it is not good; `OAuth2Error` or `CancellationError` if that can't be told.
    private func verified(_ text: String, isJWT: Bool? = nil) async throws -> VerifiedAccessToken {
        if let introspection, keys == nil || !(isJWT ?? ((try? UnverifiedToken(text)) != nil)) {
            return try await introspected(text, by: introspection)
        }
        guard let keys else { throw TokenError(.unknownKey, "there are no keys to verify the token with") }
        return try VerifiedAccessToken(try await keys.verify(text, against: policy), scopeClaim: scopeClaim)
    }

    // MARK: What is required

    private func check(
        _ requirement: AccessRequirement,
        _ token: VerifiedAccessToken,
        _ presented: PresentedToken
    ) throws(AccessRefusal) {
        guard requirement.scope.allSatisfy({ name in token.scope.contains(where: name.isExactly) }) else {
            throw AccessRefusal(
                .insufficientScope,
                "the access token has too little scope",
                challenges: [
                    challenge(
                        presented.scheme,
                        .insufficientScope,
                        "The access token has too little scope",
                        ResourceDemand(scope: requirement.scope)
                    )
                ]
            )
        }
        guard let shortcoming = shortcoming(of: token, requirement) else { return }
        let demand = ResourceDemand(
            acrValues: requirement.acrValues,
            maxAge: requirement.maximumAuthenticationAge
        )
        throw AccessRefusal(
            .insufficientAuthentication,
            shortcoming,
            challenges: [
                challenge(
                    presented.scheme,
                    .insufficientUserAuthentication,
                    "The user has to authenticate again",
                    demand
                )
            ]
        )
    }

    private func shortcoming(of token: VerifiedAccessToken, _ requirement: AccessRequirement) -> String? {
        if !requirement.acrValues.isEmpty {
            guard let found = token.claims["acr"]?.string, requirement.acrValues.contains(where: found.isExactly) else {
                return "the user has not authenticated in one of the ways that will do"
            }
        }
        if let maximumAge = requirement.maximumAuthenticationAge {
            let now = policy.currentDate().timeIntervalSince1970
            let leeway = max(policy.leeway, .zero) / .seconds(1)
            guard let time = token.claims["auth_time"]?.number?.double, time <= now + leeway else {
                return "when the user has authenticated is not known"
            }
            guard now - time <= maximumAge / .seconds(1) + leeway else {
                return "the user has authenticated too long ago"
            }
        }
        return nil
    }
}
