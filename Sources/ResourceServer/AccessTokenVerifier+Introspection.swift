public import Foundation
public import Networking
public import OAuth2
public import TokenGeneration

extension AccessTokenVerifier {
    /// Makes a verifier of JWTs with the keys of an issuer that says itself where they are
    /// ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414)).
    ///
    /// - Parameters:
    ///   - discovery: Finds out where the issuer's keys are.
    ///   - audience: The name by which the issuer knows this API.
    ///   - client: What fetches the keys.
    ///   - options: How long keys are used, and how often they are fetched.
    ///   - selection: Which of the keys a token can mean.
    ///   - currentDate: Tells the time.
    public init(
        discovery: AuthorizationServerDiscovery,
        audience: String,
        client: NetworkClient = NetworkClient(),
        options: RemoteKeySet.Options = RemoteKeySet.Options(),
        selection: KeySelection = KeySelection(),
        currentDate: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(
            issuer: discovery.issuer,
            audience: audience,
            keys: RemoteKeySet(discovery: discovery, client: client, options: options),
            selection: selection,
            currentDate: currentDate
        )
    }

    /// Makes a verifier that asks the authorization server about every token
    /// ([RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)), be it a JWT or not.
    ///
    /// - Parameters:
    ///   - audience: The name by which the issuer knows this API.
    ///   - introspection: What asks.
    ///   - issuer: The issuer that tokens must have if the server names one; `nil` for the server that is asked.
    ///   - currentDate: Tells the time.
    public init(
        audience: String,
        introspection: CachedTokenIntrospection,
        issuer: String? = nil,
        currentDate: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(
            .accessToken(issuer: issuer ?? introspection.issuer, audience: audience),
            audience,
            keys: nil,
            introspection: introspection,
            currentDate: currentDate
        )
    }

    /// Asks the authorization server about a token.
    ///
    /// - Throws: `TokenError` if it is not good; `OAuth2Error` or `CancellationError` if that can't be told.
    func introspected(_ text: String, by introspection: CachedTokenIntrospection) async throws -> VerifiedAccessToken {
        let answer = try await introspection.answer(about: Secret(text))
        guard answer.isActive else {
            throw TokenError(.checkFailed, "the authorization server says that the token is not active")
        }
        try answer.checkIsAccessToken()
        // The answer comes from the issuer itself, which need not repeat its name.
        if let issuer = answer.issuer { try policy.issuer.check(issuer) }
        try policy.subject.check(answer.subject)
        try policy.audience.check(answer.audience)
        let now = policy.currentDate()
        let leeway = max(policy.leeway, .zero) / .seconds(1)
        if let expiration = answer.expiration, now >= expiration.addingTimeInterval(leeway) {
            throw TokenError(.expired, "the token has expired since the authorization server was asked")
        }
        if let notBefore = answer.notBefore, now.addingTimeInterval(leeway) < notBefore {
            throw TokenError(.notYetValid, "the time from which on the token is good has not come")
        }
        return try VerifiedAccessToken(answer, scopeClaim: scopeClaim)
    }
}

extension IntrospectedToken {
    /// The members that name a kind of token, and the values that access tokens have.
    ///
    /// `token_type` is the one of RFC 7662 §2.2 and RFC 6749 §7.1. Servers that copy a JWT's claims into their answer, such as
    /// Keycloak, Ory Hydra and Amazon Cognito, use one of the others.
    private static let accessTokenKinds = [
        "token_type": ["Bearer", "DPoP"],
        "typ": ["Bearer", "DPoP", "at+jwt", "application/at+jwt"],
        "token_use": ["access", "access_token"],
    ]

    /// Rejects a refresh token, an ID token and every other token that isn't for resources.
    ///
    /// - Throws: `TokenError` with the code `typeMismatch`.
    fileprivate func checkIsAccessToken() throws(TokenError) {
        for (name, kinds) in Self.accessTokenKinds {
            guard let value = claims[name], value != .null else { continue }
            guard let found = value.string, kinds.contains(where: found.equalsIgnoringASCIICase) else {
                throw TokenError(
                    .typeMismatch,
                    "the authorization server says by “\(name)” that it isn't an access token"
                )
            }
        }
    }
}

extension VerifiedAccessToken {
    /// Takes what the authorization server says of a token.
    ///
    /// - Throws: `TokenError` with the code `malformedClaim`.
    init(_ answer: IntrospectedToken, scopeClaim: String) throws(TokenError) {
        issuer = answer.issuer
        subject = answer.subject
        clientID = answer.clientID
        audience = answer.audience
        scope = try Self.scope(answer.claims[scopeClaim], scopeClaim)
        expiration = answer.expiration
        claims = answer.claims
    }
}
