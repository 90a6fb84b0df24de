public import Foundation
public import TokenGeneration

/// An assertion that the client signs with its secret
/// ([OpenID Connect Core §9](https://openid.net/specs/openid-connect-core-1_0.html#ClientAuthentication)): the secret itself is
/// never sent.
public struct ClientSecretJWT: ClientAuthentication {
    /// Yes.
    public var usesAssertion: Bool { true }

    /// The client's identifier.
    public let clientID: String
    private let service: SigningKey
    private let audience: AssertionAudience
    private let content: AssertionContent

    /// Makes the authentication.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier; issuer and subject of the assertion.
    ///   - secret: The client's secret; its UTF-8 octets are the key, 32 of them at least with HS256.
    ///   - algorithm: `HS256`, `HS384` or `HS512`.
    ///   - audience: Whom the assertion is addressed to.
    ///   - lifetime: How long an assertion is valid; a minute by default. Whole seconds count, at least one and
    ///     at most a day of them.
    /// - Throws: `TokenError` with the code `weakKey` if the secret is shorter than the algorithm demands, or another if it is no
    ///   secret or the algorithm is none of these.
    package init(
        clientID: String,
        secret: Secret,
        algorithm: JWSAlgorithm = .hs256,
        audience: AssertionAudience = .issuer,
        lifetime: Duration = .seconds(60)
    ) throws {
        self.clientID = clientID
        let key = try secret.expose { try SigningKey(secret: $0.utf8, algorithm: algorithm) }
        service = key
        self.audience = audience
        content = AssertionContent(issuer: clientID, subject: clientID, lifetime: lifetime)
    }

    /// Sets `client_id`, `client_assertion_type` and `client_assertion`, a new assertion with a `jti` of its own.
    ///
    /// - Parameters:
    ///   - request: The request to complete.
    ///   - date: The present time; the assertion's `iat`.
    /// - Throws: ``OAuth2Error`` with the code `assertionFailed`.
    public func authenticate(_ request: inout TokenRequest, at date: Date) throws(OAuth2Error) {
        do {
            let claims = try content.claims(audience: audience.value(request), at: date)
            request.set(assertion: try JWTGenerator(payload: claims, signingService: service).token(), of: clientID)
        } catch {
            throw OAuth2Error(.assertionFailed, "the client's assertion could not be signed", cause: error)
        }
    }
}

extension ClientAuthentication where Self == ClientSecretJWT {
    /// An assertion that the client signs with its secret: `client_secret_jwt`.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier.
    ///   - secret: The client's secret.
    ///   - algorithm: `HS256`, `HS384` or `HS512`.
    ///   - audience: Whom the assertion is addressed to.
    ///   - lifetime: How long an assertion is valid.
    /// - Returns: The authentication.
    /// - Throws: `TokenError` if the secret is too short, or no secret.
    public static func clientSecretJWT(
        clientID: String,
        secret: Secret,
        algorithm: JWSAlgorithm = .hs256,
        audience: AssertionAudience = .issuer,
        lifetime: Duration = .seconds(60)
    ) throws -> Self {
        try Self(clientID: clientID, secret: secret, algorithm: algorithm, audience: audience, lifetime: lifetime)
    }
}
