public import Foundation
import Networking
import OAuth2
internal import OpenSSLCrypto
public import TokenGeneration

extension MockAuthorizationServer {
    /// Replaces the signing key with a new one, and publishes it.
    ///
    /// - Parameter withdrawingOld: Whether to stop publishing the previous keys, as after a key was
    ///   stolen. The default is `false`.
    /// - Throws: `TokenError` if generating a key fails.
    public func rotateKeys(withdrawingOld: Bool = false) throws {
        try signing.rotate(withdrawingOld: withdrawingOld)
    }

    /// Issues an access token in the format of [RFC 9068](https://www.rfc-editor.org/rfc/rfc9068),
    /// as if a client had requested it.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier.
    ///   - subject: The token's subject.
    ///   - scope: The token's scope.
    ///   - audience: The resource. The default is the server itself.
    ///   - keyThumbprint: The thumbprint of the DPoP key to bind the token to. The default is
    ///     `nil`.
    ///   - certificateDER: The certificate to bind the token to. The default is `nil`.
    ///   - claims: Additional or changed claims. `nil` removes a claim.
    /// - Returns: The token.
    /// - Throws: `TokenError` if signing fails.
    public func issueAccessToken(
        clientID: String,
        subject: String,
        scope: String = "",
        audience: String? = nil,
        keyThumbprint: String? = nil,
        certificateDER: Data? = nil,
        claims: [String: JSONValue?] = [:]
    ) throws -> String {
        var authorization = Authorization(clientID: clientID, subject: subject, scope: scope)
        authorization.resources = audience.map { [$0] } ?? []
        authorization.keyThumbprint = keyThumbprint
        authorization.certificateThumbprint = try certificateDER.map { certificate in
            Base64URL.encode(try [UInt8](certificate).withBytes { try HashFunction.sha256.hash($0) })
        }
        return try tokens.issueAccessToken(authorization, changing: claims).token
    }

    /// Issues an ID token with ``Configuration/signingAlgorithm`` and the last of ``keys``; `nil`
    /// removes a claim, and the hashes are of the access token, the code and the state.
    package func issueIDToken(
        clientID: String,
        subject: String,
        nonce: String? = nil,
        accessToken: String? = nil,
        code: String? = nil,
        state: String? = nil,
        claims: [String: JSONValue?] = [:],
        fault: IDTokenFault? = nil
    ) throws -> String {
        let authorization = Authorization(clientID: clientID, subject: subject, scope: "")
        var content = tokens.idTokenClaims(authorization, nonce: nonce)
        let service = signing.service
        let hashes = [("at_hash", accessToken), ("c_hash", code), ("s_hash", state)]
        for case (let name, let text?) in hashes {
            content[name] = try service.verificationKey.idTokenHash(of: text).map(JSONValue.string)
        }
        for (name, value) in claims { content[name] = value }
        return try (fault ?? IDTokenFault()).token(of: content, signedBy: service)
    }

    /// The responses of the UserInfo endpoint ([OpenID Connect Core 1.0
    /// §5.3](https://openid.net/specs/openid-connect-core-1_0.html#UserInfo)).
    public struct Users: Sendable {
        /// The claims of users in addition to `sub`, by user identifier.
        public var claims: [String: JSONObject] = [:]
        /// A `sub` that replaces the user's in all responses, which a client must reject.
        package var substitute: String?
        package var areSigned = false

        /// Creates users without additional claims.
        public init() {}
    }

    func userInfoResponse(to request: LoopbackRequest) throws -> LoopbackResponse {
        let field = request.headers["Authorization"] ?? ""
        let token = field.value(ofScheme: "Bearer") ?? field.value(ofScheme: "DPoP") ?? ""
        guard let authorization = authorization(for: token) else { return .status(401) }
        var claims = users.claims[authorization.subject] ?? [:]
        claims["sub"] = .string(users.substitute ?? authorization.subject)
        let client = clients.client(authorization.clientID)
        guard users.areSigned || client?.metadata.members[SecuredMessage.userInfo.signingMember] != nil else {
            guard let recipient = try client.flatMap({ try MessageRecipient($0, of: .userInfo) }) else {
                return .json(claims.serialized())
            }
            let text = try recipient.encrypted(claims.serialized(), [:])
            return .text(text, headers: ["Content-Type": "application/jwt"])
        }
        claims["iss"] = .string(metadata.issuer)
        claims["aud"] = .string(authorization.clientID)
        guard let text = try? signing.token(claims) else { return .status(500) }
        return .text(text, headers: ["Content-Type": "application/jwt"])
    }

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

    /// Redirects the browser to a registered URI ([OpenID Connect RP-Initiated Logout 1.0
    /// §3](https://openid.net/specs/openid-connect-rpinitiated-1_0.html#RedirectionAfterLogout));
    /// the server has no sessions to end.
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

    private func hintedClient(_ hint: String) -> String? {
        var policy = ValidationPolicy(issuer: .exactly(metadata.issuer), audience: .skipAudienceCheck)
        policy.currentDate = { [time] in time.date() }
        policy.leeway = .seconds(4_000_000_000)
        guard let token = try? JWTVerifier(keys: keys, policy: policy).verify(hint) else { return nil }
        return token.registered.audience.first
    }
}
