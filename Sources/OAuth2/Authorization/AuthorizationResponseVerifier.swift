public import Foundation
public import TokenGeneration

/// A verifier for signed authorization responses ([JWT-secured authorization response mode,
/// JARM](https://openid.net/specs/oauth-v2-jarm-final.html)).
///
/// ```swift
/// let verifier = AuthorizationResponseVerifier(
///     keys: RemoteKeySet(discovery: discovery),
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
/// Create one verifier for each server and share it.
public struct AuthorizationResponseVerifier: Sendable {
    /// The algorithms that the server may sign responses with: the client's registered
    /// `authorization_signed_response_alg`.
    ///
    /// The default is RS256 alone, as in the specification. The algorithm `none` isn't supported.
    public let algorithms: Set<JWSAlgorithm>
    /// The tolerated difference between the clocks.
    ///
    /// The default is 60 seconds.
    public var leeway: Duration = .seconds(60)
    /// The decrypter of encrypted responses, with the client's
    /// `authorization_encrypted_response_alg` and `authorization_encrypted_response_enc`.
    ///
    /// The default is `nil`, which rejects encrypted responses. With a decrypter, the verifier
    /// rejects responses that aren't encrypted. They must be signed, too.
    public var decrypter: JWEDecrypter?
    /// A closure that returns the current time.
    public var currentDate: @Sendable () -> Date = { Date() }

    private let keys: IssuerKeys

    /// Creates a verifier with the server's published keys.
    ///
    /// - Parameters:
    ///   - keys: The server's keys.
    ///   - algorithms: The accepted signature algorithms. The default is RS256 alone.
    public init(keys: RemoteKeySet, algorithms: Set<JWSAlgorithm> = [.rs256]) {
        self.init(IssuerKeys(keys, KeySelection(expecting: algorithms)), algorithms)
    }

    /// Creates a verifier with a fixed key set.
    ///
    /// - Parameters:
    ///   - keys: The server's keys.
    ///   - algorithms: The accepted signature algorithms. The default is RS256 alone.
    public init(keys: JWKSet, algorithms: Set<JWSAlgorithm> = [.rs256]) {
        self.init(IssuerKeys(keys, KeySelection(expecting: algorithms)), algorithms)
    }

    /// Creates a verifier with one key, such as the client's secret for HS256.
    ///
    /// - Parameter key: The key. Its algorithm is the only accepted one.
    public init(key: VerificationKey) {
        self.init(.fixed(JWTVerifier(key: key)), [key.algorithm])
    }

    private init(_ keys: IssuerKeys, _ algorithms: Set<JWSAlgorithm>) {
        self.keys = keys
        self.algorithms = algorithms
    }

    /// Returns the claims of a response (JARM §2.4), for which `iss` must equal `issuer` and `aud`
    /// must contain `clientID`.
    ///
    /// - Throws: ``OAuth2Error`` with the code `issuerMismatch`, or `protocolViolation` for another
    ///   invalid JWT, with a `TokenError` as its cause; the errors of ``RemoteKeySet/keys()`` if
    ///   the keys can't be loaded; `CancellationError`.
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
        do {
            return try await keys.verify(
                response,
                "the authorization response",
                decrypter: decrypter,
                algorithms: algorithms,
                against: policy
            ).claims
        } catch let error as TokenError {
            if error.code == .issuerMismatch {
                throw OAuth2Error(
                    .issuerMismatch,
                    "the authorization response is signed by another server; its code isn't used",
                    cause: error
                )
            }
            throw OAuth2Error(.protocolViolation, "the signed authorization response isn't valid", cause: error)
        }
    }
}
