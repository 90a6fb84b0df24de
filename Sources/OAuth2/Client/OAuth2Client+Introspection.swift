public import Foundation
internal import Networking
public import TokenGeneration

extension OAuth2Client {
    /// What kind of token a token is, for servers that find it sooner so
    /// ([RFC 7009 §2.1](https://www.rfc-editor.org/rfc/rfc7009#section-2.1)).
    public struct TokenKind: Sendable, Hashable {
        /// The name of the kind.
        public let name: String

        /// Makes a kind.
        ///
        /// - Parameter name: Its name, such as one that a server has registered.
        public init(_ name: String) { self.name = name }

        /// An access token.
        public static let accessToken = Self("access_token")
        /// A refresh token.
        public static let refreshToken = Self("refresh_token")
    }

    /// Asks the server whether a token is good, and what it entitles to
    /// ([RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)).
    ///
    /// What the token is for is the caller's to check: ``IntrospectedToken/audience``, ``IntrospectedToken/scope``, and
    /// ``IntrospectedToken/confirmation`` for a token that is bound to a key.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - kind: What kind of token it probably is; `nil` for no hint.
    /// - Returns: What the server says of it. That a token is not active is not an error.
    /// - Throws: ``OAuth2Error``: `endpointMissing`, `insecureTransport`, `invalidClient`, `requestRejected`, `serverTransient`,
    ///   `serverUnreachable`, or `protocolViolation` for an answer that is none; `NetworkError` with the code `cancelled`, or
    ///   `CancellationError`, if the caller is cancelled.
    public func introspect(_ token: Secret, kind: TokenKind? = nil) async throws -> IntrospectedToken {
        let place = "the introspection endpoint"
        let form = token.expose { [("token", $0)] } + (kind.map { [("token_type_hint", $0.name)] } ?? [])
        return try await post(form, to: server.introspectionEndpoint, place: place) { response, secrets in
            let members = try response.jsonObject(from: place, hiding: secrets)
            return try IntrospectedToken(AnswerMembers(members: members, place: place))
        }
    }
}

/// What an authorization server says of a token ([RFC 7662 §2.2](https://www.rfc-editor.org/rfc/rfc7662#section-2.2)).
///
/// Of a token that is not active nothing else is said, whatever the server sent.
public struct IntrospectedToken: Sendable, Hashable {
    /// Whether the token is good now.
    ///
    /// If not, it was never issued, has expired, is revoked, or is none of the caller's business.
    public let isActive: Bool
    /// The scope, names apart.
    public let scope: [String]
    /// The client that the token was issued to.
    public let clientID: String?
    /// The user's name, for people to read.
    public let userName: String?
    /// What kind of token it is, such as `Bearer`.
    public let tokenType: String?
    /// Who the token speaks for.
    public let subject: String?
    /// Whom the token is for.
    public let audience: [String]
    /// Who issued the token.
    public let issuer: String?
    /// The token's identifier.
    public let jwtID: String?
    /// When the token expires.
    public let expiration: Date?
    /// When the token was issued.
    public let issuedAt: Date?
    /// When the token begins to be good.
    public let notBefore: Date?
    /// What the token is bound to, such as `jkt` or `x5t#S256`; `nil` if everybody can use it
    /// ([RFC 9449 §6.2](https://www.rfc-editor.org/rfc/rfc9449#section-6.2)).
    public let confirmation: JSONObject?
    /// All that the server says.
    public let claims: JSONObject

    init(_ answer: AnswerMembers) throws(OAuth2Error) {
        guard case .bool(let isActive)? = answer.members["active"] else { throw answer.wrong("active") }
        let answer = isActive ? answer : AnswerMembers(members: ["active": false], place: answer.place)
        self.isActive = isActive
        scope = try answer.string("scope")?.spaceSeparated ?? []
        clientID = try answer.string("client_id")
        userName = try answer.string("username")
        tokenType = try answer.string("token_type")
        subject = try answer.string("sub")
        audience = try answer.strings("aud")
        issuer = try answer.string("iss")
        jwtID = try answer.string("jti")
        expiration = try answer.seconds("exp").map(Date.init(timeIntervalSince1970:))
        issuedAt = try answer.seconds("iat").map(Date.init(timeIntervalSince1970:))
        notBefore = try answer.seconds("nbf").map(Date.init(timeIntervalSince1970:))
        confirmation = try answer.object("cnf")
        claims = answer.members
    }
}
