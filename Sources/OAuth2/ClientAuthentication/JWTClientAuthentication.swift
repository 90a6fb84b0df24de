public import Foundation
public import TokenGeneration

/// Client authentication with an assertion that the client signs, locally or remotely, with its
/// private key ([RFC 7523 §2.2](https://www.rfc-editor.org/rfc/rfc7523#section-2.2), [RFC 10070
/// §4](https://www.rfc-editor.org/rfc/rfc10070#section-4)) or with its secret ([OpenID Connect Core
/// §9](https://openid.net/specs/openid-connect-core-1_0.html#ClientAuthentication)).
///
/// Neither the key nor the secret is ever sent.
public struct JWTClientAuthentication: ClientAuthentication {
    /// The service that signs.
    enum Signer: Sendable {
        case local(any SigningService)
        case remote(any RemoteSigningService)
    }

    /// Always `true`: the assertion contains a time.
    public var usesAssertion: Bool { true }

    /// The client's identifier.
    public let clientID: String
    private let signer: Signer
    private let audience: AssertionAudience
    private let content: AssertionContent
    private let header: JSONObject

    init(
        _ clientID: String,
        _ signer: Signer,
        _ audience: AssertionAudience,
        _ lifetime: Duration,
        _ header: JSONObject
    ) {
        self.clientID = clientID
        self.signer = signer
        self.audience = audience
        self.header = .assertionHeader(header)
        content = AssertionContent(issuer: clientID, subject: clientID, lifetime: lifetime)
    }

    /// Sets `client_id`, `client_assertion_type` and a new `client_assertion` with its own `jti`.
    ///
    /// The assertion has no `nbf`, because a server whose clock is a second behind would reject it.
    public func authenticate(_ request: inout TokenRequest, at date: Date) async throws(OAuth2Error) {
        do {
            let claims = try content.claims(audience: audience.value(request), at: date)
            let assertion =
                switch signer {
                case .local(let service):
                    try JWTGenerator(header: header, payload: claims, signingService: service).token()
                case .remote(let service):
                    try await service.sign(claims, header: header)
                }
            request.set(assertion: assertion, of: clientID)
        } catch {
            throw OAuth2Error(.assertionFailed, "the client's assertion can't be signed", cause: error)
        }
    }
}

extension ClientAuthentication where Self == JWTClientAuthentication {
    /// An assertion that the client signs with its private key: `private_key_jwt`.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier, which is the issuer and the subject of the assertion.
    ///   - signingService: The service that signs the assertion.
    ///   - audience: The audience of the assertion. The default is the server's issuer identifier.
    ///   - lifetime: The lifetime in whole seconds, from 1 to 86,400. The default is 60 seconds.
    ///   - header: Members of the assertion's header, such as `x5t#S256`. Without `typ`, it's
    ///     `client-authentication+jwt`.
    /// - Returns: The authentication.
    public static func privateKeyJWT(
        clientID: String,
        signingService: any SigningService,
        audience: AssertionAudience = .issuer,
        lifetime: Duration = .seconds(60),
        header: JSONObject = [:]
    ) -> Self {
        Self(clientID, .local(signingService), audience, lifetime, header)
    }

    /// An assertion that a remote service, such as a key management service, signs with the
    /// client's private key: `private_key_jwt`.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier, which is the issuer and the subject of the assertion.
    ///   - remoteSigningService: The service that signs the assertion.
    ///   - audience: The audience of the assertion. The default is the server's issuer identifier.
    ///   - lifetime: The lifetime in whole seconds, from 1 to 86,400. The default is 60 seconds.
    ///   - header: Members of the assertion's header, such as `x5t#S256`. Without `typ`, it's
    ///     `client-authentication+jwt`.
    /// - Returns: The authentication.
    public static func privateKeyJWT(
        clientID: String,
        remoteSigningService: any RemoteSigningService,
        audience: AssertionAudience = .issuer,
        lifetime: Duration = .seconds(60),
        header: JSONObject = [:]
    ) -> Self {
        Self(clientID, .remote(remoteSigningService), audience, lifetime, header)
    }

    /// An assertion that the client signs with its secret: `client_secret_jwt`.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier, which is the issuer and the subject of the assertion.
    ///   - secret: The client's secret. Its UTF-8 bytes are the key; HS256 requires at least 32.
    ///   - algorithm: `HS256`, `HS384` or `HS512`.
    ///   - audience: The audience of the assertion. The default is the server's issuer identifier.
    ///   - lifetime: The lifetime in whole seconds, from 1 to 86,400. The default is 60 seconds.
    ///   - header: Members of the assertion's header. Without `typ`, it's
    ///     `client-authentication+jwt`.
    /// - Returns: The authentication.
    /// - Throws: `TokenError` with the code `weakKey` if the secret is too short for the algorithm,
    ///   or with another code if it can't be a key or the algorithm is a different one.
    public static func clientSecretJWT(
        clientID: String,
        secret: Secret,
        algorithm: JWSAlgorithm = .hs256,
        audience: AssertionAudience = .issuer,
        lifetime: Duration = .seconds(60),
        header: JSONObject = [:]
    ) throws -> Self {
        let key = try secret.expose { try SigningKey(secret: $0.utf8, algorithm: algorithm) }
        return Self(clientID, .local(key), audience, lifetime, header)
    }
}
