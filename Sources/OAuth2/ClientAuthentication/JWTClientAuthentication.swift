import Foundation
import OpenSSLCrypto
public import TokenGeneration

/// Client authentication with an assertion that the client signs, locally or remotely, with its
/// private key ([RFC 7523 §2.2](https://www.rfc-editor.org/rfc/rfc7523#section-2.2), [RFC 10070
/// §4](https://www.rfc-editor.org/rfc/rfc10070#section-4)) or with its secret ([OpenID Connect Core
/// §9](https://openid.net/specs/openid-connect-core-1_0.html#ClientAuthentication)).
///
/// Neither the key nor the secret is ever sent.
struct JWTClientAuthentication: ClientAuthentication {
    var usesAssertion: Bool { true }

    let clientID: String
    private let signingService: any SigningService
    private let audience: AssertionAudience
    private let content: AssertionContent
    private let header: JSONObject

    init(
        _ clientID: String,
        _ signingService: any SigningService,
        _ audience: AssertionAudience,
        _ lifetime: Duration,
        _ header: JSONObject
    ) {
        self.clientID = clientID
        self.signingService = signingService
        self.audience = audience
        self.header = .assertionHeader(header)
        content = AssertionContent(issuer: clientID, subject: clientID, lifetime: lifetime)
    }

    func authenticate(_ request: inout TokenRequest, at date: Date) async throws(OAuth2Error) {
        do {
            let claims = try content.claims(audience: audience.value(request), at: date)
            request.set(assertion: try await signingService.token(for: claims, header: header), of: clientID)
        } catch {
            throw OAuth2Error(.assertionFailed, "the client's assertion can't be signed", cause: error)
        }
    }
}

extension ClientAuthentication where Self == StandardClientAuthentication {
    /// An assertion that the client signs with its private key: `private_key_jwt`
    /// ([RFC 7523 §2.2](https://www.rfc-editor.org/rfc/rfc7523#section-2.2)).
    ///
    /// Each request gets a new assertion. The key is never sent.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier, which is the issuer and the subject of the assertion.
    ///   - signingService: The service that signs the assertion: a key, or a service such as a key
    ///     management service.
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
        Self(JWTClientAuthentication(clientID, signingService, audience, lifetime, header))
    }

    /// An assertion that the client signs with its secret: `client_secret_jwt` ([OpenID Connect
    /// Core §9](https://openid.net/specs/openid-connect-core-1_0.html#ClientAuthentication)).
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
        return Self(JWTClientAuthentication(clientID, key, audience, lifetime, header))
    }

    /// An assertion in the format of [Microsoft Entra
    /// ID](https://learn.microsoft.com/entra/identity-platform/certificate-credentials), which
    /// deviates from RFC 10070: its audience is the token endpoint, its `typ` is `JWT`, and
    /// `x5t#S256` names the certificate.
    ///
    /// ```swift
    /// let key = try SigningKey(pem: pem, algorithm: .ps256)
    /// let authentication = try StandardClientAuthentication.entra(
    ///     clientID: clientID,
    ///     signingKey: key,
    ///     certificate: certificate
    /// )
    /// ```
    ///
    /// - Parameters:
    ///   - clientID: The application's identifier.
    ///   - signingKey: The private key, an RSA key for `PS256`.
    ///   - certificate: The registered certificate in PEM, optionally with its chain.
    ///   - lifetime: The lifetime of an assertion. The default is 5 minutes.
    /// - Returns: The authentication.
    /// - Throws: `TokenError` with the code `malformedKey` if the text has no certificate, or
    ///   `keyMismatch` if it's for another key.
    public static func entra(
        clientID: String,
        signingKey: SigningKey,
        certificate: String,
        lifetime: Duration = .seconds(300)
    ) throws(TokenError) -> Self {
        .privateKeyJWT(
            clientID: clientID,
            signingService: signingKey,
            audience: .tokenEndpoint,
            lifetime: lifetime,
            header: ["typ": "JWT", "x5t#S256": .string(try signingKey.thumbprint(ofCertificate: certificate))]
        )
    }
}

extension SigningKey {
    /// Returns the SHA-256 thumbprint of the key's certificate, optionally with its chain, in
    /// base64url.
    package func thumbprint(ofCertificate pem: String) throws(TokenError) -> String {
        let certificate: Certificate
        do { certificate = try Certificate.list(pem: pem)[0] } catch {
            throw TokenError(.malformedKey, error.message, cause: error)
        }
        let key = try verificationKey.jwk.certified(by: [certificate.der])
        // Never absent: `certified` sets it.
        return key.members["x5t#S256"]?.string ?? ""
    }
}

/// The claims of an assertion ([RFC 7523 §3](https://www.rfc-editor.org/rfc/rfc7523#section-3)).
struct AssertionContent: Sendable {
    let issuer: String
    let subject: String
    private let lifetime: Int
    private let claims: JSONObject

    init(issuer: String, subject: String, lifetime: Duration, claims: JSONObject = [:]) {
        self.issuer = issuer
        self.subject = subject
        self.lifetime = Int(min(max(lifetime, .seconds(1)), .seconds(86_400)).components.seconds)
        self.claims = claims
    }

    /// Without `nbf`, because a server whose clock is a second behind would reject it.
    func claims(audience: String, at date: Date) throws(CryptoError) -> JSONObject {
        let issued = Int(clamping: date.timeIntervalSince1970)
        var content = claims
        content["iss"] = .string(issuer)
        content["sub"] = .string(subject)
        content["aud"] = .string(audience)
        content["jti"] = .string(try SecureRandom.bytes(count: 16).hexadecimal)
        content["iat"] = .number(JSONNumber(issued))
        content["exp"] = .number(JSONNumber(issued + lifetime))
        return content
    }
}

extension JSONObject {
    /// [RFC 10070 §4](https://www.rfc-editor.org/rfc/rfc10070#section-4) defines the type.
    static func assertionHeader(_ members: JSONObject) -> JSONObject {
        var header: JSONObject = ["typ": "client-authentication+jwt"]
        for member in members { header[member.name] = member.value }
        return header
    }
}

/// The audience of a client's assertion.
public struct AssertionAudience: Sendable {
    let value: @Sendable (TokenRequest) -> String

    /// The server's issuer identifier, as [RFC 10070
    /// §4](https://www.rfc-editor.org/rfc/rfc10070#section-4) and security profiles demand.
    public static let issuer = Self { $0.server.issuer }
    /// The token endpoint's URL, as older servers demand, even for requests to other endpoints.
    public static let tokenEndpoint = Self { $0.server.tokenEndpoint.absoluteString }
    /// The request's URL, as some servers demand at other endpoints than the token endpoint.
    public static let requestURL = Self { $0.endpoint.absoluteString }

    /// A custom audience.
    ///
    /// - Parameter value: The audience.
    /// - Returns: The audience.
    public static func custom(_ value: String) -> Self { Self { _ in value } }
}

extension TokenRequest {
    /// [RFC 7523 §2.2](https://www.rfc-editor.org/rfc/rfc7523#section-2.2).
    mutating func set(assertion: String, of clientID: String) {
        set("client_id", clientID)
        set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
        set("client_assertion", assertion)
    }
}
