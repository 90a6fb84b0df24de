import Foundation
public import Networking
public import OAuth2
import OpenSSLCrypto
import TokenGeneration

/// Introspection of tokens at an authorization server, with a cache of the responses.
///
/// ```swift
/// let oauth = OAuth2Client(
///     server: server,
///     clientAuthentication: .clientSecretBasic(clientID: "api", secret: secret)
/// )
/// var verifier = AccessTokenVerifier(
///     issuer: server.issuer,
///     audience: "https://api.example",
///     keys: nil
/// )
/// verifier.introspection = CachedTokenIntrospection(oauth, lifetime: .seconds(30))
/// ```
///
/// Concurrent requests with the same token share one introspection. The cache contains fingerprints
/// of tokens, not the tokens. Its size is bounded: it drops the least recently used response that
/// isn't in use. Inactive tokens have their own cache, so that invented tokens can't displace valid
/// ones. Failures aren't cached.
public final class CachedTokenIntrospection: Sendable {
    private let client: OAuth2Client
    private let verifier: SignedResponseVerifier?
    private let answers: SingleFlightCache<[UInt8], IntrospectedToken>

    /// Creates a cache.
    ///
    /// - Parameters:
    ///   - client: The client that introspects tokens.
    ///   - verifier: The verifier of responses that are JWTs, which are then required
    ///     ([RFC 9701](https://www.rfc-editor.org/rfc/rfc9701)). The default, `nil`, accepts only
    ///     JSON.
    ///   - capacity: The maximum number of cached responses, for active and for inactive tokens
    ///     each. The default is 1,000.
    ///   - lifetime: The lifetime of a cached response, in which a revoked token may still be
    ///     accepted, limited by the token's expiry. The default is one minute; zero disables the
    ///     cache.
    ///   - timeout: The maximum duration of an introspection, in addition to the client's own
    ///     limit. The default is 30 seconds.
    ///   - timeSource: The source of time, which should be the client's.
    public init(
        _ client: OAuth2Client,
        verifiedBy verifier: SignedResponseVerifier? = nil,
        capacity: Int = 1_000,
        lifetime: Duration = .seconds(60),
        timeout: Duration = .seconds(30),
        timeSource: TimeSource = .system
    ) {
        self.client = client
        self.verifier = verifier
        let lifetime = max(lifetime, .zero)
        var policy = SingleFlightCache<[UInt8], IntrospectedToken>.Policy(timeout: timeout)
        policy.timeoutError = {
            OAuth2Error(.serverUnreachable, "the introspection endpoint didn't respond in time", cause: $0)
        }
        policy.capacity = max(capacity, 0)
        policy.kind = \.isActive
        policy.lifetime = { answer in
            let left = answer.expiration.map { Duration(clampingSeconds: $0.timeIntervalSince(timeSource.date())) }
            return min(lifetime, left ?? lifetime)
        }
        answers = SingleFlightCache(timeSource: timeSource, policy: policy)
    }

    var issuer: String { client.issuer }

    var count: Int { answers.count }

    /// Introspects a token.
    ///
    /// - Parameter token: The token.
    /// - Returns: The server's response, possibly from the cache.
    /// - Throws: The errors of `OAuth2Client.introspect(_:kind:verifiedBy:)`; `OAuth2Error` with
    ///   the code `serverUnreachable` if the server doesn't respond in time; `CancellationError` if
    ///   the caller is cancelled while it waits.
    public func answer(about token: Secret) async throws -> IntrospectedToken {
        try await answers.value(for: token.fingerprint) { [client, verifier] _ in
            try await client.introspect(token, kind: .accessToken, verifiedBy: verifier)
        }
    }

    /// Removes a token from the cache, for example because it was just revoked.
    ///
    /// - Parameter token: The token.
    public func forget(_ token: Secret) {
        // A pending response still goes to the callers that are waiting for it.
        answers.remove(token.fingerprint)
    }
}

extension AccessTokenVerifier {
    /// Only a `TokenError` means that the token is invalid.
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
    // The values for access tokens: `token_type` is that of RFC 7662 §2.2 and RFC 6749 §7.1.
    // Keycloak, Ory Hydra and Amazon Cognito copy a JWT's claims and use one of the others.
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
