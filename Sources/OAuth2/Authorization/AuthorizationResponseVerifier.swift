public import Foundation
public import TokenGeneration

/// Verifies the answers to authorization requests that servers sign
/// ([JWT-secured authorization response mode, JARM](https://openid.net/specs/oauth-v2-jarm-final.html)).
///
/// ```swift
/// let verifier = AuthorizationResponseVerifier(keys: RemoteKeySet(discovery: discovery), algorithms: [.es256])
/// let request = try oauth.authorizationRequest(redirectURI: "https://reports.example/callback", responseMode: .jwt)
/// let grant = try await request.grant(from: redirect, of: oauth.server, verifiedBy: verifier)
/// ```
///
/// Make one for each server and share it. Only signed answers are read: one that is encrypted besides is refused.
public struct AuthorizationResponseVerifier: Sendable {
    /// The algorithms that answers may be signed with: what the client is registered for
    /// (`authorization_signed_response_alg`).
    ///
    /// It is RS256 alone by default, as the specification has it; `none` can't be among them.
    public let algorithms: Set<JWSAlgorithm>
    /// How far clocks may differ: 60 seconds by default.
    public var leeway: Duration = .seconds(60)
    /// Tells the time.
    public var currentDate: @Sendable () -> Date = { Date() }

    private let keys: IssuerKeys

    /// Makes a verifier with the keys that the server publishes.
    ///
    /// - Parameters:
    ///   - keys: The server's keys.
    ///   - algorithms: The algorithms that answers may be signed with.
    public init(keys: RemoteKeySet, algorithms: Set<JWSAlgorithm> = [.rs256]) {
        self.init(IssuerKeys(keys, KeySelection(expecting: algorithms)), algorithms)
    }

    /// Makes a verifier with keys at hand.
    ///
    /// - Parameters:
    ///   - keys: The server's keys.
    ///   - algorithms: The algorithms that answers may be signed with.
    public init(keys: JWKSet, algorithms: Set<JWSAlgorithm> = [.rs256]) {
        self.init(IssuerKeys(keys, KeySelection(expecting: algorithms)), algorithms)
    }

    /// Makes a verifier with one key, such as the client's secret for answers that are signed with HS256.
    ///
    /// - Parameter key: The key; its algorithm is the only one that answers may be signed with.
    public init(key: VerificationKey) {
        self.init(.fixed(JWTVerifier(key: key)), [key.algorithm])
    }

    private init(_ keys: IssuerKeys, _ algorithms: Set<JWSAlgorithm>) {
        self.keys = keys
        self.algorithms = algorithms
    }

    /// Reads an answer (JARM §2.4).
    ///
    /// - Parameters:
    ///   - response: The JWT.
    ///   - issuer: The server that was asked; `iss` must be this one.
    ///   - clientID: The client that asked; `aud` must name it.
    /// - Returns: What the server says.
    /// - Throws: ``OAuth2Error`` with the code `issuerMismatch`, or `protocolViolation` for any other JWT that is not good; its cause is a
    ///   `TokenError`. As ``RemoteKeySet/keys()`` does if there are no keys; `CancellationError`.
    func claims(of response: String, issuer: String, clientID: String) async throws -> JSONObject {
        var policy = ValidationPolicy(
            issuer: .exactly(issuer),
            audience: .contains(clientID),
            leeway: leeway,
            requiredClaims: ["iss", "aud", "exp"],
            currentDate: currentDate
        )
        // Neither an access token nor another JWT of the server is an answer.
        policy.type = .absentOrJWT
        do {
            try UnverifiedToken(response).checkAlgorithm(algorithms, of: "the answer")
            return try await keys.verify(response, against: policy).claims
        } catch let error as TokenError {
            if error.code == .issuerMismatch {
                throw OAuth2Error(
                    .issuerMismatch,
                    "the answer is signed by another server than the one that was asked; its code is sent to neither",
                    cause: error
                )
            }
            throw OAuth2Error(.protocolViolation, "the signed answer is not valid", cause: error)
        }
    }
}
