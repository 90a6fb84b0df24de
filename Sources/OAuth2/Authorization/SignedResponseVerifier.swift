public import Foundation
public import TokenGeneration

/// A verifier for signed responses of an authorization server: authorization responses
/// ([JWT-secured authorization response mode,
/// JARM](https://openid.net/specs/oauth-v2-jarm-final.html)), or introspection responses
/// ([RFC 9701](https://www.rfc-editor.org/rfc/rfc9701)).
///
/// ```swift
/// let verifier = SignedResponseVerifier(
///     keys: .discovered(by: discovery),
///     algorithms: [.es256]
/// )
/// let request = try oauth.authorizationRequest(
///     redirectURI: "https://reports.example/callback",
///     responseMode: .jwt
/// )
/// let grant = try await request.grant(
///     from: redirect,
///     of: oauth.server,
///     verifiedBy: verifier
/// )
/// ```
///
/// The signature of an introspection response proves what the server reported, for example if the
/// response is kept as evidence. Create one verifier for each server and kind of response, and
/// share it.
public struct SignedResponseVerifier: Sendable {
    /// The media type of an introspection response, and the type of its JWT.
    static let introspectionType = "application/token-introspection+jwt"

    package let algorithms: Set<JWSAlgorithm>
    /// The server's name for the resource server that introspects tokens, which an introspection
    /// response must have in `aud`.
    ///
    /// The default is `nil`, for the client's ID.
    public var audience: String?
    /// The decrypter of encrypted responses, with the client's registered algorithms, such as
    /// `authorization_encrypted_response_alg` and `authorization_encrypted_response_enc`.
    ///
    /// The default is `nil`, which rejects encrypted responses. With a decrypter, the verifier
    /// rejects responses that aren't encrypted. They must be signed, too.
    public var decrypter: JWEDecrypter?
    /// The tolerated difference between the clocks.
    ///
    /// The default is 60 seconds.
    public var leeway: Duration = .seconds(60)
    /// The maximum age of an introspection response, which limits the replay of an old one.
    ///
    /// The default is five minutes. An authorization response has an expiry instead.
    public var maximumAge: Duration = .seconds(300)
    /// A closure that returns the current time.
    public var currentDate: @Sendable () -> Date = { Date() }

    private let verifier: RemoteJWTVerifier

    /// Creates a verifier.
    ///
    /// - Parameters:
    ///   - keys: The server's keys, or a key that is the client's secret for HS256.
    ///   - algorithms: The accepted signature algorithms: the client's registered
    ///     `authorization_signed_response_alg` or `introspection_signed_response_alg`. The default,
    ///     `nil`, is RS256 alone, as in the specifications, or the algorithm of
    ///     ``IssuerKeys/key(_:)``. The algorithm `none` isn't supported.
    public init(keys: IssuerKeys, algorithms: Set<JWSAlgorithm>? = nil) {
        verifier = RemoteJWTVerifier(keys: keys)
        self.algorithms = keys.algorithms(algorithms)
    }

    /// Returns the claims of an authorization response (JARM §2.4).
    func claims(of response: String, issuer: String, clientID: String) async throws -> JSONObject {
        var policy = ValidationPolicy(
            issuer: .exactly(issuer),
            audience: .contains(clientID),
            leeway: leeway,
            requiredClaims: ["iss", "aud", "exp"],
            currentDate: currentDate
        )
        // The server's access tokens and other JWTs aren't authorization responses.
        policy.type = .absentOrJWT
        return try await verified(response, "the authorization response", policy) { $0 }
    }

    /// Returns the members of an introspection response
    /// ([RFC 9701 §5](https://www.rfc-editor.org/rfc/rfc9701#section-5)).
    ///
    /// The top level must have `iss`, `aud` and `iat`. `sub` and `exp` belong to the introspected
    /// token. At the top level, they would make the response look like an access token
    /// ([§8.1](https://www.rfc-editor.org/rfc/rfc9701#section-8.1)).
    func members(
        of response: String,
        issuer: String,
        clientID: String
    ) async throws -> JSONObject {
        var policy = ValidationPolicy(
            issuer: .exactly(issuer),
            audience: .contains(audience ?? clientID),
            type: .exactly(Self.introspectionType),
            leeway: leeway,
            expiration: .optional,
            maximumAge: maximumAge,
            requiredClaims: ["iss", "aud", "iat"],
            maximumTokenSize: EndpointExchange.maximumBodySize,
            currentDate: currentDate
        )
        policy.prohibitedClaims = ["sub", "exp"]
        return try await verified(response, "the introspection response", policy) { claims in
            guard let members = claims["token_introspection"]?.object else {
                throw TokenError(.malformedClaim, "the claim “token_introspection” must be an object")
            }
            return members
        }
    }

    private func verified(
        _ response: String,
        _ what: String,
        _ policy: ValidationPolicy,
        read: (JSONObject) throws -> JSONObject
    ) async throws -> JSONObject {
        var policy = policy
        policy.algorithms = algorithms
        do {
            let token = try await verifier.verify(
                response,
                what,
                decrypter: decrypter,
                algorithms: algorithms,
                against: policy
            )
            return try read(token.claims)
        } catch let error as TokenError {
            let isForeign = error.code == .issuerMismatch
            throw OAuth2Error(
                isForeign ? .issuerMismatch : .protocolViolation,
                isForeign ? "\(what) is signed by another server and isn't used" : "\(what) isn't a valid JWT",
                response: error
            )
        }
    }
}
