import Foundation
import Networking
import TokenGeneration

/// The responses of a dialect's token endpoint.
extension MockAuthorizationServer.Dialect {
    /// Changes the body of a response with tokens.
    func adapt(tokens body: inout JSONObject) {
        switch self {
        case .standard, .govUKOneLogin, .auth0, .okta, .google: break
        case .keycloak:
            body["not-before-policy"] = 0
            if body["refresh_token"] != nil { body["refresh_expires_in"] = 1_800 }
        case .entra: body["ext_expires_in"] = body["expires_in"]
        case .cognito: body["scope"] = nil
        case .gitHub:
            body["token_type"] = "bearer"
            body["scope"] = .string((body["scope"]?.string ?? "").replacing(" ", with: ","))
            if body["refresh_token"] != nil { body["refresh_token_expires_in"] = 15_897_600 }
        }
    }

    /// Returns the error of a request with a grant as the dialect has it.
    func adapted(_ error: TokenEndpointError, of grant: GrantType?) -> TokenEndpointError {
        var error = error
        switch (self, error.code) {
        case (.auth0, "invalid_grant"): error.status = 403
        case (.auth0, "invalid_client"):
            error = TokenEndpointError(code: "access_denied", description: "Unauthorized", status: 401)
        case (.cognito, "invalid_client"): error.status = 400
        case (.entra, _):
            let number =
                switch error.code {
                case "invalid_client": 7_000_215
                case "invalid_grant": 70_000
                default: 900_144
                }
            error.members = [
                "error_codes": [.number(JSONNumber(number))], "trace_id": .string(UUID().uuidString),
                "correlation_id": .string(UUID().uuidString),
            ]
        case (.gitHub, let code):
            let code =
                switch code {
                case "invalid_grant": grant == .refreshToken ? "bad_refresh_token" : "bad_verification_code"
                case "invalid_client": "incorrect_client_credentials"
                default: code
                }
            error = TokenEndpointError(code: code, description: error.description, status: 200)
        default: break
        }
        return error
    }

    /// Returns a response in the format that the request accepts.
    func formatted(_ response: LoopbackResponse, for request: LoopbackRequest) -> LoopbackResponse {
        guard self == .gitHub, request.headers["Accept"]?.contains("application/json") != true,
            case .data(let body) = response.content, let object = try? JSONObject(parsing: body)
        else { return response }
        let pairs = object.map { ($0.name, $0.value.string ?? $0.value.number?.literal ?? "") }
        var headers = response.headers
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        return LoopbackResponse(
            status: response.status,
            headers: headers,
            body: Data(FormURLEncoded.encode(pairs).utf8)
        )
    }
}
