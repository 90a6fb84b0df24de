import Foundation
import FoundationNetworking
public import Networking
public import TokenGeneration

extension OAuth2Client {
    /// Requests the user's claims from the UserInfo endpoint ([OpenID Connect Core 1.0
    /// §5.3](https://openid.net/specs/openid-connect-core-1_0.html#UserInfo)).
    ///
    /// The response is JSON or a signed JWT, depending on the client's registration. It must be
    /// about the subject of the ID token
    /// ([§5.3.2](https://openid.net/specs/openid-connect-core-1_0.html#UserInfoResponse)).
    /// Otherwise an attacker could combine one user's access token with another user's ID token.
    ///
    /// - Parameters:
    ///   - subject: The `sub` of the ID token.
    ///   - authorized: The network client that sends the request. It needs an
    ///     ``OAuth2Authenticator`` for the endpoint's origin, which adds the user's access token to
    ///     the request, refreshes it, and proves possession of its key.
    ///   - keys: The keys that verify a signed response, which the client then requires. The
    ///     default, `nil`, accepts only JSON.
    /// - Returns: The user's claims.
    /// - Throws: ``OAuth2Error``: `subjectMismatch`; `accessTokenRejected`, or the authenticator's
    ///   error; `endpointMissing`, `insecureTransport`, `serverTransient`, `serverUnreachable`;
    ///   `protocolViolation`, with a `TokenError` as its cause, for a response that is neither JSON
    ///   nor a valid JWT; `NetworkError` with the code `cancelled`, or `CancellationError`.
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
            // Accept only signed responses if keys are given, because some servers sign only then.
            let types = keys == nil ? "application/json, application/jwt" : "application/jwt"
            request.setValue(types, forHTTPHeaderField: "Accept")
            return (request, .none)
        } read: { response, _ in
            let answer = AnswerMembers(members: try claims(of: response, from: place, keys: keys), place: place)
            guard try answer.required("sub").utf8.elementsEqual(subject.utf8) else {
                throw OAuth2Error(
                    .subjectMismatch,
                    "the UserInfo response is about a different user than the ID token; use neither"
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
            // A client that requires a signature must not accept a response without one.
            guard keys == nil else {
                throw OAuth2Error(.protocolViolation, "the response from \(place) isn't signed, as `keys` require")
            }
            // Only the authenticator knows the token that was sent, so don't show member names.
            return try response.jsonObject(from: place, hiding: nil)
        }
        guard let keys else {
            throw OAuth2Error(.protocolViolation, "the response from \(place) is a JWT; pass `keys` to verify it")
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
                "the JWT from \(place) isn't valid",
                status: response.status,
                cause: error
            )
        }
    }
}

/// An authorization server's information about a user.
public struct UserInfo: Sendable, Hashable {
    /// The user's identifier at the server, which is the `sub` of the ID token.
    public let subject: String
    /// All claims ([OpenID Connect Core 1.0
    /// §5.1](https://openid.net/specs/openid-connect-core-1_0.html#StandardClaims)).
    public let claims: JSONObject

    /// Accesses the string value of a claim, such as `name` or `email`.
    ///
    /// - Parameter name: The claim's name.
    /// - Returns: The string, or `nil` if the claim is missing or isn't a string.
    public subscript(name: String) -> String? { claims[name]?.string }
}
