public import Foundation
public import TokenGeneration

/// Client authentication with an assertion that the client signs with its secret ([OpenID Connect
/// Core §9](https://openid.net/specs/openid-connect-core-1_0.html#ClientAuthentication)).
///
/// The secret itself is never sent.
public struct ClientSecretJWT: ClientAuthentication {
    /// Always `true`: the assertion contains a time.
    public var usesAssertion: Bool { true }

    /// The client's identifier.
    public let clientID: String
    private let service: SigningKey
    private let audience: AssertionAudience
    private let content: AssertionContent
    private let header: JSONObject

    /// Creates the authentication.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier, which is the issuer and the subject of the assertion.
    ///   - secret: The client's secret. Its UTF-8 bytes are the key; HS256 requires at least 32.
    ///   - algorithm: `HS256`, `HS384` or `HS512`.
    ///   - audience: The audience of the assertion. The default is the server's issuer identifier.
    ///   - lifetime: The lifetime in whole seconds, from 1 to 86,400. The default is 60 seconds.
    ///   - header: Members of the assertion's header. Without `typ`, it's
    ///     `client-authentication+jwt`.
    /// - Throws: `TokenError` with the code `weakKey` if the secret is too short for the algorithm,
    ///   or with another code if it can't be a key or the algorithm is a different one.
    package init(
        clientID: String,
        secret: Secret,
        algorithm: JWSAlgorithm = .hs256,
        audience: AssertionAudience = .issuer,
        lifetime: Duration = .seconds(60),
        header: JSONObject = [:]
    ) throws {
        self.clientID = clientID
        let key = try secret.expose { try SigningKey(secret: $0.utf8, algorithm: algorithm) }
        service = key
        self.audience = audience
        self.header = .assertionHeader(header)
        content = AssertionContent(issuer: clientID, subject: clientID, lifetime: lifetime)
    }

    /// Sets `client_id`, `client_assertion_type` and a new `client_assertion` with its own `jti`.
    ///
    /// - Parameters:
    ///   - request: The request to complete.
    ///   - date: The current time, for the assertion's `iat`.
    /// - Throws: ``OAuth2Error`` with the code `assertionFailed`.
    public func authenticate(_ request: inout TokenRequest, at date: Date) throws(OAuth2Error) {
        do {
            let claims = try content.claims(audience: audience.value(request), at: date)
            request.set(
                assertion: try JWTGenerator(header: header, payload: claims, signingService: service).token(),
                of: clientID
            )
        } catch {
            throw OAuth2Error(.assertionFailed, "the client's assertion can't be signed", cause: error)
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
    ///   - audience: The audience of the assertion. The default is the server's issuer identifier.
    ///   - lifetime: The lifetime of an assertion. The default is 60 seconds.
    ///   - header: Members of the assertion's header. Without `typ`, it's
    ///     `client-authentication+jwt`.
    /// - Returns: The authentication.
    /// - Throws: `TokenError` if the secret is too short or can't be a key.
    public static func clientSecretJWT(
        clientID: String,
        secret: Secret,
        algorithm: JWSAlgorithm = .hs256,
        audience: AssertionAudience = .issuer,
        lifetime: Duration = .seconds(60),
        header: JSONObject = [:]
    ) throws -> Self {
        try Self(
            clientID: clientID,
            secret: secret,
            algorithm: algorithm,
            audience: audience,
            lifetime: lifetime,
            header: header
        )
    }
}
