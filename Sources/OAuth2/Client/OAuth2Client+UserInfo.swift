import Foundation
import FoundationNetworking
public import Networking
public import TokenGeneration

extension OAuth2Client {
    /// Asks who the user is ([OpenID Connect Core 1.0 §5.3](https://openid.net/specs/openid-connect-core-1_0.html#UserInfo)).
    ///
    /// The answer is JSON or a signed JWT, as the client is registered for. It counts only if it is about the subject of the ID token
    /// ([§5.3.2](https://openid.net/specs/openid-connect-core-1_0.html#UserInfoResponse)): else somebody could put one user's
    /// access token together with another's ID token.
    ///
    /// - Parameters:
    ///   - subject: The `sub` of the ID token.
    ///   - authorized: What asks: a client with an ``OAuth2Authenticator`` for the endpoint's origin, which puts the user's access
    ///     token on the request, refreshes it, and proves its key.
    ///   - keys: The keys by which a signed answer verifies, which is then asked for; `nil` if answers are JSON.
    /// - Returns: What the server says of the user.
    /// - Throws: ``OAuth2Error``: `subjectMismatch`; `accessTokenRejected`, or what the authenticator throws; `endpointMissing`,
    ///   `insecureTransport`, `serverTransient`, `serverUnreachable`; `protocolViolation` for an answer that is neither JSON nor a JWT
    ///   that verifies, whose cause is a `TokenError`; `NetworkError` with the code `cancelled`, or `CancellationError`.
    public func userInfo(
        subject: String,
        authorized: NetworkClient,
        keys: JWKSet? = nil
    ) async throws -> UserInfo {
        let place = "the UserInfo endpoint"
        let url = try server.userInfoEndpoint.required(place)
        var exchange = EndpointExchange(place: place, url: url, client: authorized, timing: timing, hints: hints)
        exchange.isQuotable = false
        return try await exchange.value { _ in
            var request = URLRequest(url: url)
            // Who expects a signature can take nothing else; some servers sign only if nothing else will do.
            let types = keys == nil ? "application/json, application/jwt" : "application/jwt"
            request.setValue(types, forHTTPHeaderField: "Accept")
            return (request, .none)
        } read: { response, _ in
            let answer = AnswerMembers(members: try claims(of: response, from: place, keys: keys), place: place)
            guard try answer.required("sub").utf8.elementsEqual(subject.utf8) else {
                throw OAuth2Error(
                    .subjectMismatch,
                    "the UserInfo answer is about another user than the ID token; use neither"
                )
            }
            return UserInfo(subject: subject, claims: answer.members)
        }
    }

    private func claims(
        of response: HTTPResponse,
        from place: String,
        keys: JWKSet?
    ) throws(OAuth2Error) -> JSONObject {
        let field = (response.headers["Content-Type"] ?? "").asciiOnly
        let type = field.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
        guard type.equalsIgnoringASCIICase("application/jwt") else {
            // A client that expects a signature must not take an answer without one.
            guard keys == nil else {
                throw OAuth2Error(.protocolViolation, "\(place) answered without a signature, though one was expected")
            }
            // The token that was sent is the authenticator's: not even the names of members are shown.
            return try response.jsonObject(from: place, hiding: nil)
        }
        guard let keys else {
            throw OAuth2Error(.protocolViolation, "\(place) answered a JWT; give the keys by which it verifies")
        }
        var policy = ValidationPolicy(
            issuer: .exactly(server.issuer),
            audience: .contains(clientAuthentication.clientID),
            expiration: .optional,
            requiredClaims: ["sub"],
            currentDate: timing.timeSource.date
        )
        policy.type = .absentOrJWT
        do {
            let verifier = JWTVerifier(keys: keys, policy: policy)
            return try verifier.verify(String(decoding: response.body, as: UTF8.self)).claims
        } catch {
            throw OAuth2Error(
                .protocolViolation,
                "the JWT of \(place) is not valid",
                status: response.status,
                cause: error
            )
        }
    }
}

/// What an authorization server says of a user.
public struct UserInfo: Sendable, Hashable {
    /// The user's identifier at the server, the same as in the ID token.
    public let subject: String
    /// All that the server says ([OpenID Connect Core 1.0 §5.1](https://openid.net/specs/openid-connect-core-1_0.html#StandardClaims)).
    public let claims: JSONObject

    /// A claim that is a text, such as `name` or `email`.
    ///
    /// - Parameter name: The claim's name.
    /// - Returns: The text; `nil` if there is no such claim, or it is no text.
    public subscript(name: String) -> String? { claims[name]?.string }
}
