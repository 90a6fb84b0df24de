import Foundation
import Networking
import OAuth2
import TokenGeneration

extension TokenEndpointResponder {
    private static let accessTokenType = "urn:ietf:params:oauth:token-type:access_token"
    private static let refreshTokenType = "urn:ietf:params:oauth:token-type:refresh_token"
    private static let idTokenType = "urn:ietf:params:oauth:token-type:id_token"
    private static let jwtType = "urn:ietf:params:oauth:token-type:jwt"

    typealias Client = MockAuthorizationServer.Client

    // MARK: Users

    func codeResponse(
        _ form: RequestParameters,
        _ client: Client,
        _ bond: Bond
    ) throws(TokenEndpointError) -> LoopbackResponse {
        let (issued, refreshToken) = try codes.redeem(form, client, bond)
        let authorization = try narrowed(issued.authorization, by: form)
        return tokenResponse(
            to: authorization,
            bond,
            refreshToken: refreshToken,
            extra: idToken(authorization, nonce: issued.nonce)
        )
    }

    func deviceAuthorizationResponse(to request: LoopbackRequest) -> LoopbackResponse {
        answerClient(of: request) { client, form in devices.begin(try configuration.authorization(client, form)) }
    }

    /// Starts a user's authentication on another device ([OpenID Connect CIBA Core 1.0
    /// §7](https://openid.net/specs/openid-client-initiated-backchannel-authentication-core-1_0.html#auth_backchannel_endpoint)).
    func backchannelResponse(to request: LoopbackRequest) -> LoopbackResponse {
        answerClient(of: request) { client, form in
            let hints = ["login_hint", "login_hint_token", "id_token_hint"].compactMap { form[$0] }
            guard hints.count == 1, form["scope"]?.split(separator: " ").contains("openid") == true else {
                throw TokenEndpointError.invalidRequest("one hint and openid are required")
            }
            let user = (try? UnverifiedToken(hints[0]).unverifiedClaims["sub"]?.string) ?? hints[0]
            var notification: DeviceHandler.Notification?
            if let place = client.metadata.members["backchannel_client_notification_endpoint"]?.string {
                guard let token = form["client_notification_token"], let url = URL(string: place) else {
                    throw TokenEndpointError.invalidRequest("the notification token is missing")
                }
                notification = DeviceHandler.Notification(url: url, token: token)
            }
            return devices.begin(try configuration.authorization(client, form), for: user, notification: notification)
        }
    }

    func deviceResponse(
        _ name: String,
        _ form: RequestParameters,
        _ client: Client,
        _ bond: Bond
    ) throws(TokenEndpointError) -> LoopbackResponse {
        var authorization = try devices.redeem(try form.required(name), clientID: client.id).granted(to: client, bond)
        let (refreshToken, family) = tokens.beginFamily(authorization)
        authorization.family = family
        return tokenResponse(
            to: authorization,
            bond,
            refreshToken: refreshToken,
            extra: idToken(authorization, nonce: nil)
        )
    }

    private func idToken(_ authorization: Authorization, nonce: String?) -> JSONObject {
        guard authorization.scope.split(separator: " ").contains("openid"),
            let token = try? tokens.signing.token(tokens.idTokenClaims(authorization, nonce: nonce))
        else { return [:] }
        return ["id_token": .string(token)]
    }

    /// Returns the part of the authorization that a token request asks for
    /// ([RFC 8707 §2.2](https://www.rfc-editor.org/rfc/rfc8707#section-2.2)).
    func narrowed(
        _ authorization: Authorization,
        by parameters: RequestParameters
    ) throws(TokenEndpointError) -> Authorization {
        let resources = parameters.values("resource")
        guard !resources.isEmpty else { return authorization }
        guard Set(authorization.resources).isSuperset(of: resources) else {
            throw TokenEndpointError("invalid_target", "the resource wasn't granted")
        }
        var authorization = authorization
        authorization.resources = resources
        return authorization
    }

    // MARK: Token exchange

    /// Exchanges a token ([RFC 8693 §2](https://www.rfc-editor.org/rfc/rfc8693#section-2)).
    func exchangeResponse(
        _ form: RequestParameters,
        _ client: Client?,
        _ bond: Bond
    ) throws(TokenEndpointError) -> LoopbackResponse {
        let subject = try exchanged(form, "subject_token")
        let federated = clients.client(subject.clientID).flatMap { $0.federatedIdentity == nil ? nil : $0 }
        let client = client ?? federated ?? Client(id: subject.clientID, authentication: .none)
        var authorization = try configuration.authorization(client, form).of(subject.subject)
        if form["scope"] == nil { authorization.scope = subject.scope }
        authorization.resources += form.values("audience")
        authorization.actors = subject.actors
        if form["actor_token"] != nil {
            authorization.actors.insert(try exchanged(form, "actor_token").subject, at: 0)
        } else if form["actor_token_type"] != nil {
            throw TokenEndpointError.invalidRequest("actor_token_type requires an actor_token")
        }
        switch form["requested_token_type"] ?? Self.accessTokenType {
        case Self.accessTokenType, Self.jwtType:
            let type = form["requested_token_type"] ?? Self.accessTokenType
            return tokenResponse(to: authorization, bond, extra: ["issued_token_type": .string(type)])
        case Self.refreshTokenType:
            authorization = authorization.granted(to: client, bond)
            return other(tokens.beginFamily(authorization).refreshToken, Self.refreshTokenType)
        case Self.idTokenType:
            let token = try? tokens.signing.token(tokens.idTokenClaims(authorization, nonce: nil))
            return other(token ?? "", Self.idTokenType)
        default:
            throw TokenEndpointError.invalidRequest("the requested token type isn't supported")
        }
    }

    private func exchanged(_ form: RequestParameters, _ name: String) throws(TokenEndpointError) -> Authorization {
        let token = try form.required(name)
        let type = try form.required("\(name)_type")
        if [Self.jwtType, Self.idTokenType].contains(type),
            let client = try clients.client(federatedBy: token, code: "invalid_request")
        {
            return Authorization(
                clientID: client.id,
                subject: client.federatedIdentity?.subject ?? client.id,
                scope: ""
            )
        }
        guard type == Self.accessTokenType, let authorization = tokens.authorization(for: token)
        else {
            throw TokenEndpointError.invalidRequest("the \(name) isn't active")
        }
        return authorization
    }

    /// Returns a response with a token that isn't an access token
    /// ([RFC 8693 §2.2.1](https://www.rfc-editor.org/rfc/rfc8693#section-2.2.1)).
    private func other(_ token: String, _ type: String) -> LoopbackResponse {
        let body: JSONObject = [
            "access_token": .string(token), "issued_token_type": .string(type), "token_type": "N_A",
        ]
        return .json(body.serialized(), headers: ["Cache-Control": "no-store"])
    }

    // MARK: Other grants

    func extensionResponse(
        _ type: String,
        _ form: RequestParameters,
        _ client: Client,
        _ bond: Bond
    ) throws -> LoopbackResponse {
        guard let grant = assertions.answer(to: type) else {
            throw TokenEndpointError("unsupported_grant_type", "the grant type isn't supported")
        }
        switch try grant(form.fields) {
        case .tokens(let subject):
            return tokenResponse(to: try configuration.authorization(client, form).of(subject), bond)
        case .error(let code): throw TokenEndpointError(code, "the grant was denied")
        }
    }
}
