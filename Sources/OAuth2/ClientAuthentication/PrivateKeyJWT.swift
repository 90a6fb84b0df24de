public import Foundation
internal import OpenSSLCrypto
public import TokenGeneration

/// An assertion that the client signs with its private key
/// ([RFC 7523 §2.2](https://www.rfc-editor.org/rfc/rfc7523#section-2.2)).
public struct PrivateKeyJWT: ClientAuthentication {
    /// Whom an assertion is addressed to.
    public struct Audience: Sendable {
        fileprivate let value: @Sendable (AuthorizationServer) -> String

        /// The server's issuer identifier, as security profiles demand.
        public static let issuer = Audience { $0.issuer }
        /// The token endpoint's URL, as older servers demand.
        public static let tokenEndpoint = Audience { $0.tokenEndpoint.absoluteString }

        /// A text of the server's own choice.
        ///
        /// - Parameter value: The audience.
        /// - Returns: That audience.
        public static func custom(_ value: String) -> Audience { Audience { _ in value } }
    }

    /// Yes.
    public var usesAssertion: Bool { true }

    /// The client's identifier.
    public let clientID: String
    private let signingService: any SigningService
    private let audience: Audience
    private let lifetime: Int

    /// Makes the authentication.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier; issuer and subject of the assertion.
    ///   - signingService: What signs the assertion.
    ///   - audience: Whom the assertion is addressed to.
    ///   - lifetime: How long an assertion is valid; a minute by default. Whole seconds count, at least one and
    ///     at most a day of them.
    public init(
        clientID: String,
        signingService: any SigningService,
        audience: Audience = .issuer,
        lifetime: Duration = .seconds(60)
    ) {
        self.clientID = clientID
        self.signingService = signingService
        self.audience = audience
        self.lifetime = Int(min(max(lifetime, .seconds(1)), .seconds(86_400)).components.seconds)
    }

    /// Sets `client_id`, `client_assertion_type` and `client_assertion`, a new assertion with a `jti` of its own.
    ///
    /// The assertion has no `nbf`: servers whose clock is a second behind would refuse it.
    ///
    /// - Parameters:
    ///   - request: The request to complete.
    ///   - date: The present time; the assertion's `iat`.
    /// - Throws: ``OAuth2Error`` with the code `assertionFailed`.
    public func authenticate(_ request: inout TokenRequest, at date: Date) throws {
        let issued = Int(date.timeIntervalSince1970)
        do {
            let claims: JSONObject = [
                "iss": .string(clientID),
                "sub": .string(clientID),
                "aud": .string(audience.value(request.server)),
                "jti": .string(try SecureRandom.bytes(count: 16).hexadecimal),
                "iat": .number(JSONNumber(issued)),
                "exp": .number(JSONNumber(issued + lifetime)),
            ]
            let assertion = try JWTGenerator(payload: claims, signingService: signingService).token
            request.set("client_id", clientID)
            request.set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
            request.set("client_assertion", assertion)
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
        audience: PrivateKeyJWT.Audience = .issuer,
        lifetime: Duration = .seconds(60)
    ) -> Self {
        Self(clientID: clientID, signingService: signingService, audience: audience, lifetime: lifetime)
    }
}
