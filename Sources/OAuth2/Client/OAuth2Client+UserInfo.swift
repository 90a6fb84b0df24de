import Foundation
import FoundationNetworking
public import Networking
public import TokenGeneration

extension OAuth2Client {
    /// Requests the user's claims from the UserInfo endpoint ([OpenID Connect Core 1.0
    /// §5.3](https://openid.net/specs/openid-connect-core-1_0.html#UserInfo)).
    ///
    /// The response is JSON or a JWT that is signed, encrypted, or signed and then encrypted,
    /// depending on the client's registration. It must be about the subject of the ID token
    /// ([§5.3.2](https://openid.net/specs/openid-connect-core-1_0.html#UserInfoResponse)).
    /// Otherwise an attacker could combine one user's access token with another user's ID token.
    ///
    /// - Parameters:
    ///   - subject: The `sub` of the ID token.
    ///   - authorized: The network client that sends the request. It needs an
    ///     ``OAuth2Authenticator`` for the endpoint's origin, which adds the user's access token to
    ///     the request, refreshes it, and proves possession of its key.
    ///   - keys: The keys that verify a signed response, which the client then requires. The
    ///     default, `nil`, accepts only responses without a signature. Keep fetched keys between
    ///     calls, because the value has their cache.
    ///   - decrypter: The decrypter of an encrypted response, which the client then requires. The
    ///     default, `nil`, rejects encrypted responses.
    /// - Returns: The user's claims.
    /// - Throws: ``OAuth2Error``: `subjectMismatch`; `accessTokenRejected`, or the authenticator's
    ///   error; `endpointMissing`, `insecureTransport`, `serverTransient`, `serverUnreachable`;
    ///   `protocolViolation`, with a `TokenError` as its cause, for a response that is neither JSON
    ///   nor a valid JWT; the errors of ``RemoteKeySet/keys()``; `CancellationError` if the task is
    ///   cancelled.
    public func userInfo(
        subject: String,
        authorized: NetworkClient,
        keys: IssuerKeys? = nil,
        decrypter: JWEDecrypter? = nil
    ) async throws -> UserInfo {
        let place = "the UserInfo endpoint"
        let url = try await server.userInfoEndpoint.required(place)
        var exchange = EndpointExchange(place: place, url: url, client: authorized, timing: timing, hints: hints)
        exchange.credential = .accessToken
        let protection = UserInfoProtection(
            keys: keys,
            decrypter: decrypter,
            issuer: issuer,
            clientID: clientAuthentication.clientID,
            currentDate: timing.timeSource.date
        )
        return try await exchange.value { _ in
            var request = URLRequest(url: url)
            // Accept only JWTs if they are required, because some servers sign only then.
            let isPlain = keys == nil && decrypter == nil
            let types = isPlain ? "application/json, application/jwt" : "application/jwt"
            request.setValue(types, forHTTPHeaderField: "Accept")
            return request
        } read: { response in
            let answer = AnswerMembers(members: try await protection.claims(of: response, from: place), place: place)
            guard try answer.required("sub").utf8.elementsEqual(subject.utf8) else {
                throw OAuth2Error(
                    .subjectMismatch,
                    "the UserInfo response is about a different user than the ID token; use neither"
                )
            }
            return UserInfo(subject: subject, claims: answer.members)
        }
    }
}

/// The protection that UserInfo responses must have, as the client registered it.
private struct UserInfoProtection {
    let keys: IssuerKeys?
    let decrypter: JWEDecrypter?
    let issuer: String
    let clientID: String
    let currentDate: @Sendable () -> Date

    func claims(of response: HTTPResponse, from place: String) async throws -> JSONObject {
        guard response.hasMediaType("application/jwt") else {
            // A client that registered protection must not accept a response without it.
            guard decrypter == nil else {
                throw OAuth2Error(
                    .protocolViolation,
                    "the response from \(place) isn't encrypted, as the `decrypter` requires"
                )
            }
            guard keys == nil else {
                throw OAuth2Error(.protocolViolation, "the response from \(place) isn't signed, as `keys` require")
            }
            return try response.jsonObject(from: place)
        }
        guard keys != nil || decrypter != nil else {
            throw OAuth2Error(
                .protocolViolation,
                "the response from \(place) is a JWT; pass `keys` to verify it, and `decrypter` if it's encrypted"
            )
        }
        do {
            return try await claims(in: String(decoding: response.body, as: UTF8.self))
        } catch let error as TokenError {
            throw OAuth2Error(
                .protocolViolation,
                "the JWT from \(place) isn't valid",
                status: response.status,
                response: error
            )
        }
    }

    private func claims(in text: String) async throws -> JSONObject {
        let what = "the UserInfo response"
        var policy = ValidationPolicy(
            issuer: .exactly(issuer),
            audience: .contains(clientID),
            type: .absentOrJWT,
            expiration: .optional,
            requiredClaims: ["sub"],
            currentDate: currentDate
        )
        if let keys {
            let opened = try decrypter.opened(text, what)
            return try opened.checked(try await RemoteJWTVerifier(keys: keys, policy: policy).verify(opened.text))
                .claims
        }
        guard let decrypter else { return [:] }
        try JWEDecrypter?.checkIsEncrypted(text, what)
        // The TLS connection proves who sent the claims, as it does for JSON.
        policy.issuer = .skipIssuerCheck
        policy.audience = .absentOrContains(clientID)
        let claims = try decrypter.decrypt(compact: text).unauthenticatedClaims(policy: policy)
        if let named = claims["iss"] { try IssuerRule.exactly(issuer).check(named.string) }
        return claims
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
