import Foundation
import Networking
import OAuth2
import TokenGeneration

/// The grants that the server knows ([RFC 6749 §4](https://www.rfc-editor.org/rfc/rfc6749#section-4)).
enum GrantType: String, CaseIterable {
    case clientCredentials = "client_credentials"
    case refreshToken = "refresh_token"
    case tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
}

/// An error as a token endpoint answers it ([RFC 6749 §5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2)).
struct TokenEndpointError: Error {
    let code: String
    let description: String
    var status = 400
    var headers: HTTPHeaders = [:]

    var response: LoopbackResponse {
        let body: JSONObject = ["error": .string(code), "error_description": .string(description)]
        return .json(body.serialized(), status: status, headers: headers)
    }
}

/// Answers requests to the token endpoint and the revocation endpoint.
struct TokenEndpointResponder: Sendable {
    private static let accessTokenType = "urn:ietf:params:oauth:token-type:access_token"

    let clients: ClientRegister
    let tokens: TokenLedger
    let proofs: ProofDesk
    let dpop: MockAuthorizationServer.DPoPSupport
    let url: String

    func tokenResponse(to request: LoopbackRequest) async -> LoopbackResponse {
        // Before the grant is looked at: a refresh token that is used for a proof without a nonce would be lost.
        let thumbprint: String?
        do { thumbprint = try await keyThumbprint(of: request) } catch { return error.response }
        return answer {
            let form = try Form(request)
            switch GrantType(rawValue: try form.required("grant_type")) {
            case .clientCredentials:
                let client = try clients.authenticate(request, form)
                let scope = try client.grantedScope(form["scope"])
                return tokenResponse(
                    to: Authorization(clientID: client.id, subject: client.id, scope: scope),
                    thumbprint: thumbprint,
                    refreshToken: nil
                )
            case .refreshToken:
                let client = try clients.authenticate(request, form)
                let (authorization, successor) = try tokens.useRefreshToken(
                    try form.required("refresh_token"),
                    clientID: client.id,
                    scope: form["scope"]
                )
                return tokenResponse(to: authorization, thumbprint: thumbprint, refreshToken: successor)
            case .tokenExchange:
                return try exchangeResponse(form, thumbprint: thumbprint)
            case nil:
                throw TokenEndpointError(code: "unsupported_grant_type", description: "this grant is not known here")
            }
        }
    }

    func revocationResponse(to request: LoopbackRequest) -> LoopbackResponse {
        answer {
            let form = try Form(request)
            let client = try clients.authenticate(request, form)
            tokens.revoke(try form.required("token"), clientID: client.id)
            // Whoever revokes a token that is not known has reached what they wanted (RFC 7009 §2.2).
            return .status(200)
        }
    }

    private func keyThumbprint(of request: LoopbackRequest) async throws(TokenEndpointError) -> String? {
        switch dpop {
        case .none: return nil
        case .optional where request.headers["DPoP"] == nil: return nil
        case .optional, .required: break
        }
        do { return try await proofs.check(request, urls: [url], place: "token", accessToken: nil) } catch {
            switch error {
            case .nonceNeeded(let nonce):
                var failure = TokenEndpointError(code: "use_dpop_nonce", description: "the proof needs a nonce")
                failure.headers = ["DPoP-Nonce": nonce]
                throw failure
            case .rejected(let reason):
                throw TokenEndpointError(code: "invalid_dpop_proof", description: reason)
            }
        }
    }

    private func exchangeResponse(
        _ form: Form,
        thumbprint: String?
    ) throws(TokenEndpointError) -> LoopbackResponse {
        guard try form.required("subject_token_type") == Self.accessTokenType,
            let subject = tokens.authorization(for: try form.required("subject_token"))
        else {
            throw TokenEndpointError(code: "invalid_request", description: "the subject token is not active here")
        }
        let authorization = Authorization(
            clientID: subject.clientID,
            subject: subject.subject,
            scope: form["scope"] ?? subject.scope
        )
        return tokenResponse(
            to: authorization,
            thumbprint: thumbprint,
            refreshToken: nil,
            extra: ["issued_token_type": .string(Self.accessTokenType)]
        )
    }

    private func tokenResponse(
        to authorization: Authorization,
        thumbprint: String?,
        refreshToken: String?,
        extra: JSONObject = [:]
    ) -> LoopbackResponse {
        var authorization = authorization
        authorization.keyThumbprint = thumbprint
        guard let (accessToken, lifetime) = tokens.issueAccessToken(authorization) else {
            return TokenEndpointError(code: "server_error", description: "no token could be signed", status: 500)
                .response
        }
        var body = extra
        body["access_token"] = .string(accessToken)
        body["token_type"] = thumbprint == nil ? "Bearer" : "DPoP"
        body["expires_in"] = .number(JSONNumber(lifetime.components.seconds))
        if !authorization.scope.isEmpty { body["scope"] = .string(authorization.scope) }
        body["refresh_token"] = refreshToken.map(JSONValue.string)
        var headers: HTTPHeaders = ["Cache-Control": "no-store"]
        if thumbprint != nil { headers["DPoP-Nonce"] = proofs.nonce(of: "token") }
        return .json(body.serialized(), headers: headers)
    }

    func answer(_ body: () throws -> LoopbackResponse) -> LoopbackResponse {
        do {
            return try body()
        } catch let error as TokenEndpointError {
            return error.response
        } catch {
            return TokenEndpointError(code: "server_error", description: "\(error)", status: 500).response
        }
    }
}

/// The parameters of a request, none of them repeated
/// ([RFC 6749 §3.2](https://www.rfc-editor.org/rfc/rfc6749#section-3.2)).
struct Form {
    private let fields: [String: String]

    /// What is asked for, without what only says who asks.
    var parameters: [String: String] {
        fields.filter { !["client_secret", "client_assertion", "client_assertion_type"].contains($0.key) }
    }

    init(_ request: LoopbackRequest) throws(TokenEndpointError) {
        let type = request.headers["Content-Type"]?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
        guard type?.lowercased() == "application/x-www-form-urlencoded" else {
            throw TokenEndpointError(code: "invalid_request", description: "the request is not a form")
        }
        var fields: [String: String] = [:]
        for item in request.formItems {
            guard fields.updateValue(item.value ?? "", forKey: item.name) == nil else {
                throw TokenEndpointError(code: "invalid_request", description: "a parameter is there twice")
            }
        }
        self.fields = fields
    }

    /// A parameter; one without a value counts as missing.
    subscript(name: String) -> String? {
        fields[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    func required(_ name: String) throws(TokenEndpointError) -> String {
        guard let value = self[name] else {
            throw TokenEndpointError(code: "invalid_request", description: "the parameter \(name) is missing")
        }
        return value
    }
}
