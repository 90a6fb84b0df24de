public import Foundation
internal import Networking
public import TokenGeneration

extension OAuth2Client {
    /// Requests the state of a token from the introspection endpoint
    /// ([RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)).
    ///
    /// The caller must check that the token is meant for it, with ``IntrospectedToken/audience``
    /// and ``IntrospectedToken/scope``, and ``IntrospectedToken/confirmation`` for a bound token.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - kind: The probable kind of the token, which helps some servers to find it
    ///     ([RFC 7009 §2.1](https://www.rfc-editor.org/rfc/rfc7009#section-2.1)), such as
    ///     ``TokenType/refreshToken``. The default, `nil`, sends no hint.
    ///   - verifier: The verifier of a response that is a JWT, which the client then requires
    ///     ([RFC 9701](https://www.rfc-editor.org/rfc/rfc9701)). The default, `nil`, accepts only
    ///     JSON.
    /// - Returns: The server's information about the token. An inactive token isn't an error.
    /// - Throws: The errors of each request of an ``OAuth2Client``; `issuerMismatch` for another
    ///   server's JWT; `protocolViolation` for another invalid response, with a `TokenError` as its
    ///   cause for a JWT; the errors of ``RemoteKeySet/keys()`` if the verifier's keys can't be
    ///   loaded.
    public func introspect(
        _ token: Secret,
        kind: TokenType? = nil,
        verifiedBy verifier: SignedResponseVerifier? = nil
    ) async throws -> IntrospectedToken {
        let place = "the introspection endpoint"
        let form = token.expose { [("token", $0)] } + (kind.map { [("token_type_hint", $0.hint)] } ?? [])
        let type = SignedResponseVerifier.introspectionType
        return try await post(
            form,
            to: \.introspectionEndpoint,
            place: place,
            accepting: verifier == nil ? "application/json" : type
        ) { response in
            let isToken = response.hasMediaType(type)
            guard isToken == (verifier != nil) else {
                throw OAuth2Error(
                    .protocolViolation,
                    isToken
                        ? "the response from \(place) is a JWT; pass `verifiedBy` to verify it"
                        : "the response from \(place) isn't signed, as the verifier requires"
                )
            }
            let members =
                if let verifier {
                    try await verifier.members(
                        of: String(decoding: response.body, as: UTF8.self),
                        issuer: issuer,
                        clientID: clientAuthentication.clientID
                    )
                } else { try response.jsonObject(from: place) }
            return try IntrospectedToken(AnswerMembers(members: members, place: place))
        }
    }

    /// Revokes a token.
    ///
    /// Revoking a refresh token may also revoke the access tokens issued with it
    /// ([RFC 7009](https://www.rfc-editor.org/rfc/rfc7009)).
    ///
    /// Revoking a token that the server doesn't know isn't an error.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - kind: The kind of the token. The default, `nil`, sends no hint.
    /// - Throws: The errors of each request of an ``OAuth2Client``; `requestRejected` has the
    ///   server's code `unsupported_token_type` if it can't revoke tokens of that kind.
    public func revoke(_ token: Secret, kind: TokenType? = nil) async throws {
        let place = "the revocation endpoint"
        let form = token.expose { [("token", $0)] } + (kind.map { [("token_type_hint", $0.hint)] } ?? [])
        try await post(form, to: \.revocationEndpoint, place: place) { response in
            // Only the status code matters; the body has no meaning (§2.2).
            guard response.status == 200 || response.status == 204 else {
                throw OAuth2Error(
                    .protocolViolation,
                    "\(place) responded with status \(response.status) instead of 200; check the endpoint's URL",
                    status: response.status
                )
            }
        }
    }
}

/// An authorization server's information about a token
/// ([RFC 7662 §2.2](https://www.rfc-editor.org/rfc/rfc7662#section-2.2)).
///
/// For an inactive token, all other properties are empty, even if the server sent values.
public struct IntrospectedToken: Sendable, Hashable {
    /// A Boolean value that indicates whether the token is currently valid.
    ///
    /// An inactive token is unknown, expired, revoked, or not meant for the caller.
    public let isActive: Bool
    /// The names in the scope.
    public let scope: [String]
    /// The client that the token was issued to.
    public let clientID: String?
    /// The user's human-readable name.
    public let userName: String?
    /// The token type, such as `Bearer`.
    public let tokenType: String?
    /// The subject of the token.
    public let subject: String?
    /// The audience of the token.
    public let audience: [String]
    /// The issuer of the token.
    public let issuer: String?
    /// The token's identifier.
    public let jwtID: String?
    /// The expiration time.
    public let expiration: Date?
    /// The time of issue.
    public let issuedAt: Date?
    /// The time before which the token isn't valid.
    public let notBefore: Date?
    /// The key or certificate that the token is bound to, such as `jkt` or `x5t#S256`, or `nil` if
    /// any bearer can use the token
    /// ([RFC 9449 §6.2](https://www.rfc-editor.org/rfc/rfc9449#section-6.2)).
    public let confirmation: JSONObject?
    /// All members of the response.
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
        expiration = try answer.date("exp")
        issuedAt = try answer.date("iat")
        notBefore = try answer.date("nbf")
        confirmation = try answer.object("cnf")
        claims = answer.members
    }
}
