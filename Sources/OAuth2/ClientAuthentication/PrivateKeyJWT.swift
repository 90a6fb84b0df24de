public import Foundation
public import TokenGeneration

/// An assertion that the client signs with its private key
/// ([RFC 7523 §2.2](https://www.rfc-editor.org/rfc/rfc7523#section-2.2)), in this process or where the key is kept.
public struct PrivateKeyJWT: ClientAuthentication {
    /// Whom an assertion is addressed to.
    public typealias Audience = AssertionAudience

    /// Who signs.
    private enum Signer: Sendable {
        case local(any SigningService)
        case remote(any RemoteSigningService)
    }

    /// Yes.
    public var usesAssertion: Bool { true }

    /// The client's identifier.
    public let clientID: String
    private let signer: Signer
    private let audience: AssertionAudience
    private let content: AssertionContent
    private let tokenType: String

    /// Makes the authentication.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier; issuer and subject of the assertion.
    ///   - signingService: What signs the assertion.
    ///   - audience: Whom the assertion is addressed to.
    ///   - lifetime: How long an assertion is valid; a minute by default. Whole seconds count, at least one and
    ///     at most a day of them.
    ///   - tokenType: The header's `typ`; `client-authentication+jwt` for servers that demand it.
    public init(
        clientID: String,
        signingService: any SigningService,
        audience: AssertionAudience = .issuer,
        lifetime: Duration = .seconds(60),
        tokenType: String = "JWT"
    ) {
        self.init(clientID, .local(signingService), audience, lifetime, tokenType)
    }

    /// Makes the authentication with a key that is kept elsewhere, such as in a key management service.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier; issuer and subject of the assertion.
    ///   - remoteSigningService: What signs the assertion.
    ///   - audience: Whom the assertion is addressed to.
    ///   - lifetime: How long an assertion is valid; a minute by default. Whole seconds count, at least one and
    ///     at most a day of them.
    ///   - tokenType: The header's `typ`; `client-authentication+jwt` for servers that demand it.
    public init(
        clientID: String,
        remoteSigningService: any RemoteSigningService,
        audience: AssertionAudience = .issuer,
        lifetime: Duration = .seconds(60),
        tokenType: String = "JWT"
    ) {
        self.init(clientID, .remote(remoteSigningService), audience, lifetime, tokenType)
    }

    private init(
        _ clientID: String,
        _ signer: Signer,
        _ audience: AssertionAudience,
        _ lifetime: Duration,
        _ tokenType: String
    ) {
        self.clientID = clientID
        self.signer = signer
        self.audience = audience
        self.tokenType = tokenType
        content = AssertionContent(issuer: clientID, subject: clientID, lifetime: lifetime)
    }

    /// Sets `client_id`, `client_assertion_type` and `client_assertion`, a new assertion with a `jti` of its own.
    ///
    /// The assertion has no `nbf`: servers whose clock is a second behind would refuse it.
    ///
    /// - Parameters:
    ///   - request: The request to complete.
    ///   - date: The present time; the assertion's `iat`.
    /// - Throws: ``OAuth2Error`` with the code `assertionFailed`.
    public func authenticate(_ request: inout TokenRequest, at date: Date) async throws(OAuth2Error) {
        do {
            let claims = try content.claims(audience: audience.value(request), at: date)
            let header: JSONObject = ["typ": .string(tokenType)]
            let assertion =
                switch signer {
                case .local(let service):
                    try JWTGenerator(header: header, payload: claims, signingService: service).token()
                case .remote(let service):
                    try await service.sign(claims, header: header)
                }
            request.set(assertion: assertion, of: clientID)
        } catch {
            throw OAuth2Error(.assertionFailed, "the client's assertion could not be signed", cause: error)
        }
    }
}

extension ClientAuthentication where Self == PrivateKeyJWT {
    /// An assertion that the client signs with its private key: `private_key_jwt`.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier.
    ///   - signingService: What signs the assertion.
    ///   - audience: Whom the assertion is addressed to.
    ///   - lifetime: How long an assertion is valid.
    /// - Returns: The authentication.
    public static func privateKeyJWT(
        clientID: String,
        signingService: any SigningService,
        audience: AssertionAudience = .issuer,
        lifetime: Duration = .seconds(60)
    ) -> Self {
        Self(clientID: clientID, signingService: signingService, audience: audience, lifetime: lifetime)
    }

    /// An assertion that is signed where the client's private key is kept: `private_key_jwt`.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier.
    ///   - remoteSigningService: What signs the assertion.
    ///   - audience: Whom the assertion is addressed to.
    ///   - lifetime: How long an assertion is valid.
    /// - Returns: The authentication.
    public static func privateKeyJWT(
        clientID: String,
        remoteSigningService: any RemoteSigningService,
        audience: AssertionAudience = .issuer,
        lifetime: Duration = .seconds(60)
    ) -> Self {
        Self(clientID: clientID, remoteSigningService: remoteSigningService, audience: audience, lifetime: lifetime)
    }
}
