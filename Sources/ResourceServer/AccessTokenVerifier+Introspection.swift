import Foundation
import Networking
import OAuth2
import TokenGeneration

extension AccessTokenVerifier {
    /// Introspects a token at the authorization server, and also returns the server's answer.
    ///
    /// It throws `TokenError` if the token is invalid, and other errors if that's unknown.
    func introspected(
        _ text: String,
        by introspection: CachedTokenIntrospection
    ) async throws -> (VerifiedAccessToken, IntrospectedToken) {
        let answer = try await introspection.answer(about: Secret(text))
        guard answer.isActive else {
            throw TokenError(.checkFailed, "the authorization server reports that the token is inactive")
        }
        try answer.checkIsAccessToken()
        // The response comes from the issuer itself, which doesn't need to repeat its name.
        if let issuer = answer.issuer { try policy.issuer.check(issuer) }
        try policy.subject.check(answer.subject)
        try policy.audience.check(answer.audience)
        let now = policy.currentDate()
        let leeway = max(policy.leeway, .zero) / .seconds(1)
        if let expiration = answer.expiration, now >= expiration.addingTimeInterval(leeway) {
            throw TokenError(.expired, "the token has expired since its introspection")
        }
        if let notBefore = answer.notBefore, now.addingTimeInterval(leeway) < notBefore {
            throw TokenError(.notYetValid, "the token is not valid yet")
        }
        return (try VerifiedAccessToken(answer, scopeClaim: scopeClaim), answer)
    }
}

extension IntrospectedToken {
    /// The members that state a kind of token, and their values for access tokens.
    ///
    /// `token_type` is that of RFC 7662 §2.2 and RFC 6749 §7.1. Servers that copy a JWT's claims
    /// into their response, such as Keycloak, Ory Hydra and Amazon Cognito, use one of the others.
    private static let accessTokenKinds = [
        "token_type": ["Bearer", "DPoP"],
        "typ": ["Bearer", "DPoP", "at+jwt", "application/at+jwt"],
        "token_use": ["access", "access_token"],
    ]

    /// Rejects refresh tokens, ID tokens and all other tokens that aren't for resources.
    fileprivate func checkIsAccessToken() throws(TokenError) {
        for (name, kinds) in Self.accessTokenKinds {
            guard let value = claims[name], value != .null else { continue }
            guard let found = value.string, kinds.contains(where: found.equalsIgnoringASCIICase) else {
                throw TokenError(
                    .typeMismatch,
                    "“\(name)” in the introspection response says that it isn't an access token"
                )
            }
        }
    }
}

extension VerifiedAccessToken {
    /// Creates a token from an introspection response.
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
