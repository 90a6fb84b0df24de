import Networking
import OAuth2
public import TokenGeneration

extension MockAuthorizationServer {
    /// The responses of the UserInfo endpoint ([OpenID Connect Core 1.0
    /// §5.3](https://openid.net/specs/openid-connect-core-1_0.html#UserInfo)).
    public struct Users: Sendable {
        /// The claims of users in addition to `sub`, by user identifier.
        public var claims: [String: JSONObject] = [:]
        /// A `sub` that replaces the user's in all responses, which a client must reject.
        package var substitute: String?
        /// A Boolean value that indicates whether responses are signed.
        package var areSigned = false

        /// Creates users without additional claims.
        public init() {}
    }

    /// Returns the claims of the user that a token belongs to.
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
}
