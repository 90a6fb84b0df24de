import Networking
import OAuth2
public import TokenGeneration

extension MockAuthorizationServer {
    /// How a server answers at its UserInfo endpoint
    /// ([OpenID Connect Core 1.0 §5.3](https://openid.net/specs/openid-connect-core-1_0.html#UserInfo)).
    public struct Users: Sendable {
        /// What is said of users besides `sub`, by their identifiers; of others nothing is.
        public var claims: [String: JSONObject] = [:]
        /// The `sub` of all answers, instead of the user's: what a client must not believe.
        package var substitute: String?
        /// Whether answers are signed.
        package var areSigned = false

        /// Makes users of whom nothing is said.
        public init() {}
    }

    /// Says who the user is that a token speaks for.
    func userInfoResponse(to request: LoopbackRequest, signing service: any SigningService) -> LoopbackResponse {
        let field = request.headers["Authorization"] ?? ""
        let token = field.value(ofScheme: "Bearer") ?? field.value(ofScheme: "DPoP") ?? ""
        guard let authorization = authorization(for: token) else { return .status(401) }
        var claims = users.claims[authorization.subject] ?? [:]
        claims["sub"] = .string(users.substitute ?? authorization.subject)
        guard users.areSigned else { return .json(claims.serialized()) }
        claims["iss"] = .string(metadata.issuer)
        claims["aud"] = .string(authorization.clientID)
        guard let text = try? JWTGenerator(payload: claims, signingService: service).token() else {
            return .status(500)
        }
        return .text(text, headers: ["Content-Type": "application/jwt"])
    }
}
