import Foundation
import Networking
import OAuth2
import OpenSSLCrypto
public import TokenGeneration

extension MockAuthorizationServer {
    /// Issues a logout token ([OpenID Connect Back-Channel Logout 1.0
    /// §2.4](https://openid.net/specs/openid-connect-backchannel-1_0.html#LogoutToken)), for a test
    /// of the endpoint that receives it.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier.
    ///   - subject: The user, or `nil` for a token with only a session.
    ///   - sessionID: The user's session, `sid`. The default is `nil`.
    ///   - claims: Additional or changed claims. `nil` removes a claim.
    /// - Returns: The token.
    /// - Throws: `TokenError` if signing fails.
    public func issueLogoutToken(
        clientID: String,
        subject: String?,
        sessionID: String? = nil,
        claims: [String: JSONValue?] = [:]
    ) throws -> String {
        let now = Int(clamping: time.date().timeIntervalSince1970)
        var content: JSONObject = [
            "iss": .string(metadata.issuer), "aud": .string(clientID), "iat": .number(JSONNumber(now)),
            "exp": .number(JSONNumber(now + 120)), "jti": .string(UUID().uuidString),
            "events": ["http://schemas.openid.net/event/backchannel-logout": [:]],
        ]
        content["sub"] = subject.map(JSONValue.string)
        content["sid"] = sessionID.map(JSONValue.string)
        for (name, value) in claims { content[name] = value }
        return try signing.token(content, header: ["typ": "logout+jwt"])
    }

    /// Ends the user's session, and redirects the browser to a registered URI ([OpenID Connect
    /// RP-Initiated Logout 1.0
    /// §3](https://openid.net/specs/openid-connect-rpinitiated-1_0.html#RedirectionAfterLogout)).
    ///
    /// The server doesn't have sessions, so it only checks the request.
    func logoutResponse(to items: [URLQueryItem]) -> LoopbackResponse {
        let fields = RequestParameters(items.map { ($0.name, $0.value ?? "") })
        guard !fields.hasRepetition else { return .text("a parameter is repeated", status: 400) }
        var clientID = fields["client_id"]
        if let hint = fields["id_token_hint"] {
            guard let audience = hintedClient(hint), clientID == nil || clientID == audience else {
                return .text("the ID token isn't the client's", status: 400)
            }
            clientID = audience
        }
        guard let uri = fields["post_logout_redirect_uri"] else { return .text("Signed out") }
        guard let client = clientID.flatMap(clients.client), client.logoutRedirectURIs.contains(uri) else {
            return .text("the redirect URI isn't registered", status: 400)
        }
        let state = fields["state"].map { FormURLEncoded.encode([("state", $0)]) }
        let separator = uri.contains("?") ? "&" : "?"
        return .status(303, headers: ["Location": uri + (state.map { separator + $0 } ?? "")])
    }

    /// Returns the client for which the server issued an ID token, also if the token has expired.
    private func hintedClient(_ hint: String) -> String? {
        var policy = ValidationPolicy(issuer: .exactly(metadata.issuer), audience: .skipAudienceCheck)
        policy.currentDate = { [time] in time.date() }
        policy.leeway = .seconds(4_000_000_000)
        guard let token = try? JWTVerifier(keys: keys, policy: policy).verify(hint) else { return nil }
        return token.registered.audience.first
    }
}
