import Foundation
import FoundationNetworking
import Networking
import TokenGeneration

/// Asks a token endpoint for tokens.
struct TokenEndpoint: Sendable {
    let server: AuthorizationServer
    let clientAuthentication: any ClientAuthentication
    let client: NetworkClient
    let timeSource: TimeSource

    /// Sends one request and reads the answer.
    ///
    /// - Parameter form: What the grant asks for.
    /// - Returns: The tokens.
    /// - Throws: ``OAuth2Error``.
    func requestToken(form: [(name: String, value: String)]) async throws(OAuth2Error) -> TokenResponse {
        try server.tokenEndpoint.requireConfidentiality("the client's credential")
        var request = TokenRequest(server: server, form: form)
        do {
            try await clientAuthentication.authenticate(&request, at: timeSource.date())
        } catch let error as OAuth2Error {
            throw error
        } catch {
            throw OAuth2Error(.assertionFailed, "the client could not make the proof of who it is", cause: error)
        }
        let requested = timeSource.now()
        do {
            // A redirect would carry credentials, which are in the body, to wherever it points.
            let body = try await client.makeRequest(request.urlRequest, options: RequestOptions(redirects: .never))
            return try TokenResponse(parsing: body, requested: requested, hiding: request.secrets)
        } catch let error as OAuth2Error {
            throw error
        } catch let error as ServerError {
            throw Self.error(from: error, hiding: request.secrets)
        } catch {
            throw OAuth2Error(.serverUnreachable, "the token endpoint could not be asked", cause: error)
        }
    }

    private static func error(from error: ServerError, hiding secrets: [String]) -> OAuth2Error {
        // A server's answer may have in it what was sent; the cause goes without.
        let cause = ServerError(endpoint: error.endpoint, errorCode: error.errorCode)
        let body = error.response.flatMap { try? JSONObject(parsing: $0) }
        if let serverCode = body?["error"]?.string, !serverCode.isEmpty {
            return OAuth2Error(
                serverCode: serverCode,
                description: body?["error_description"],
                status: error.errorCode,
                hiding: secrets,
                cause: cause
            )
        }
        if OAuth2Error.isTransient(error.errorCode) {
            return OAuth2Error(
                .serverTransient,
                "the token endpoint has failed for the moment",
                status: error.errorCode,
                cause: cause
            )
        }
        return OAuth2Error(
            .protocolViolation,
            "the token endpoint answered \(error.errorCode) without an OAuth 2 error; check the endpoint's URL",
            status: error.errorCode,
            cause: cause
        )
    }
}

extension URL {
    /// Checks that what is sent here is encrypted, or never leaves the machine.
    ///
    /// - Parameter what: What is about to be sent, for the error's text.
    /// - Throws: ``OAuth2Error`` with the code `insecureTransport`.
    func requireConfidentiality(_ what: String) throws(OAuth2Error) {
        if let origin = HTTPOrigin(self), origin.scheme == "https" || origin.isLoopback { return }
        throw OAuth2Error(.insecureTransport, "\(what) is sent only over https; \(host ?? "the URL") is not")
    }
}
